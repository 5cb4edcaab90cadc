"""Archives that depend on nothing but their content: sorted names, one date, no owner."""

import gzip
import io
import os
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The year 1980, before which zip files have no dates.
EARLIEST = 315532800


def date():
    """The time of every file, in seconds: SOURCE_DATE_EPOCH, else that of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if not given:
        command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        given = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return max(int(given.strip() or 0), EARLIEST)


def is_program(name):
    """Whether a file in an archive is one to execute."""
    return Path(name).name in ("acp-registry", "acp-registry.exe", "launcher.js")


def tar_gz(path, files, prefix=""):
    """Writes a tar file with these contents, a dictionary of bytes by name."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(prefix + name)
            entry.size, entry.mtime = len(content), date()
            entry.mode = 0o755 if is_program(name) else 0o644
            tar.addfile(entry, io.BytesIO(content))
    # Without the name of the file, which the header would repeat.
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, date()) as packed:
        packed.write(plain.getvalue())


def zip_file(path, files):
    """Writes a zip file with these contents, in their order."""
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(date())[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            # The system decides how the mode is read: Unix, also when this runs on Windows.
            entry.create_system = 3
            entry.external_attr = (0o100755 if is_program(name) else 0o100644) << 16
            packed.writestr(entry, content)


def read_archive(path):
    """The files of a release archive, by name."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            return {name: packed.read(name) for name in packed.namelist() if not name.endswith("/")}
    with tarfile.open(path) as tar:
        entries = [entry for entry in tar if entry.isfile()]
        return {entry.name.removeprefix("./"): tar.extractfile(entry).read() for entry in entries}
