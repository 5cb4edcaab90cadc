"""The release archive of a platform: the program, its manual pages and its completions."""

import platform as machine
import subprocess
import tempfile
from pathlib import Path

import files
from release import PLATFORMS, Wrong

COMPLETIONS = {
    "bash": "acp-registry.bash", "fish": "acp-registry.fish", "powershell": "_acp-registry.ps1", "zsh": "_acp-registry",
}


def here():
    """The platform of this machine."""
    name = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine.machine().lower(), machine.machine().lower())
    return f"{machine.system().lower()}-{name}"


def pack(program, platform, out, version, printer):
    """Packs a program. `printer` is one that can run here, and prints the manual pages and completions."""
    if platform not in PLATFORMS:
        raise Wrong(f"`{platform}` is not a platform; there are {', '.join(PLATFORMS)}")

    def printed(*arguments):
        return subprocess.run([str(printer), *arguments], check=True, stdout=subprocess.PIPE).stdout

    told = printed("--version").decode().strip()
    if told != f"acp-registry {version}":
        raise Wrong(f"{printer} is {told}, and Cargo.toml has version {version}")
    is_windows = platform.startswith("windows-")
    packed = {"acp-registry.exe" if is_windows else "acp-registry": program.read_bytes()}
    for name in ("CHANGELOG.md", "LICENSE", "README.md"):
        packed[name] = (files.ROOT / name).read_bytes()
    for shell, name in COMPLETIONS.items():
        packed[f"completions/{name}"] = printed("completions", shell)
    with tempfile.TemporaryDirectory() as folder:
        printed("man", "--out", folder)
        for page in Path(folder).iterdir():
            packed[f"man/man1/{page.name}"] = page.read_bytes()
    path = out / f"acp-registry-{version}-{platform}{'.zip' if is_windows else '.tar.gz'}"
    if is_windows:
        files.zip_file(path, dict(sorted(packed.items())))
    else:
        files.tar_gz(path, packed, prefix="./")
    return path
