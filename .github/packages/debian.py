"""Debian packages, for Linux. They need `dpkg-deb`."""

import gzip
import os
import shutil
import subprocess
import tempfile
from email.utils import formatdate
from pathlib import Path

import files
from release import Missing

MACHINES = {"aarch64": "arm64", "x86_64": "amd64"}

# There is no address of a person here.
MAINTAINER = "The acp-registry contributors <contributors@acp-registry.invalid>"


def build(release, out):
    archives = release.of("linux")
    if archives and not shutil.which("dpkg-deb"):
        raise Missing("dpkg-deb is not installed")
    for archive in archives:
        machine = MACHINES[archive.platform.removeprefix("linux-")]
        # What comes behind a tilde sorts before nothing, as releases before 1.0.0 do.
        version = release.version.replace("-", "~") + "-1"
        content = tree(release, archive, version)
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, data in content.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                path.chmod(0o755 if name == "usr/bin/acp-registry" else 0o644)
            size = sum(-(-len(data) // 1024) for data in content.values())
            (root / "DEBIAN").mkdir()
            (root / "DEBIAN/control").write_text(control(release.project, version, machine, size), encoding="utf-8")
            for path in [root, *root.rglob("*")]:
                if path.is_dir():
                    path.chmod(0o755)
            path = out / f"acp-registry_{version}_{machine}.deb"
            command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", str(root), str(path)]
            environment = {**os.environ, "SOURCE_DATE_EPOCH": str(files.date())}
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


def tree(release, archive, version):
    """The files of a package, by their path."""
    packed = archive.files
    about = "usr/share/doc/acp-registry"
    changes = (
        f"acp-registry ({version}) unstable; urgency=medium\n\n  * Version {release.version}: see changelog.gz.\n\n"
        f" -- {MAINTAINER}  {formatdate(files.date())}\n"
    )
    copyright = (
        f"acp-registry is under the licence {release.project.license}.\n\n"
        "Copyright 2026 the acp-registry contributors\n\n"
        "On Debian systems, the text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.\n\n"
        "The outlines of the font Inter, from which pictures are drawn, are under the SIL Open Font License 1.1.\n"
    )
    overrides = (
        "# It runs on every release of the system.\n"
        "acp-registry: statically-linked-binary [usr/bin/acp-registry]\n"
        "# It is not in the system's own archive.\n"
        "acp-registry: initial-upload-closes-no-bugs\n"
    )
    content = {
        "usr/bin/acp-registry": packed["acp-registry"],
        "usr/share/bash-completion/completions/acp-registry": packed["completions/acp-registry.bash"],
        "usr/share/fish/vendor_completions.d/acp-registry.fish": packed["completions/acp-registry.fish"],
        "usr/share/zsh/vendor-completions/_acp-registry": packed["completions/_acp-registry"],
        f"{about}/copyright": copyright.encode(),
        f"{about}/changelog.gz": gz(packed["CHANGELOG.md"]),
        f"{about}/changelog.Debian.gz": gz(changes.encode()),
        "usr/share/lintian/overrides/acp-registry": overrides.encode(),
    }
    pages = {name: data for name, data in packed.items() if name.startswith("man/")}
    return content | {f"usr/share/{name}.gz": gz(data) for name, data in pages.items()}


def control(project, version, machine, size):
    lines = [
        "Package: acp-registry",
        f"Version: {version}",
        f"Architecture: {machine}",
        f"Maintainer: {MAINTAINER}",
        f"Installed-Size: {size}",
        "Suggests: bubblewrap, git, npm",
        "Section: devel",
        "Priority: optional",
        *([f"Homepage: {project.repository}"] if project.repository else []),
        "Description: find, install and start coding agents",
        " acp-registry finds, installs and starts coding agents that speak the Agent",
        " Client Protocol, and keeps them up to date. It also validates, builds and",
        " publishes registries of such agents.",
    ]
    return "\n".join(lines) + "\n"


def gz(content):
    return gzip.compress(content, 9, mtime=0)
