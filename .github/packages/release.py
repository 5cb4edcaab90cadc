"""What packages are made of: the facts in Cargo.toml, and the archives of a release."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import files

PLATFORMS = [
    "darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64", "windows-aarch64", "windows-x86_64",
]

NAME = re.compile(rf"acp-registry-(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+?)?)-({'|'.join(PLATFORMS)})\.(?:tar\.gz|zip)")


class Wrong(Exception):
    """A mistake in what this program is given."""


class Missing(Wrong):
    """What some packages need is not there: the public address, or a tool."""


@dataclass
class Project:
    """What Cargo.toml says. `repository` is the public address, without a slash at its end; empty until it is known."""

    version: str
    license: str
    description: str
    repository: str

    @staticmethod
    def read():
        text = (files.ROOT / "Cargo.toml").read_text(encoding="utf-8")

        def value(table, key):
            # Python has a parser for TOML since 3.11 only.
            _, _, rest = text.partition(f"\n[{table}]\n")
            return re.search(f'^{key} = "(.*)"$', rest.split("\n[")[0], re.MULTILINE)[1]

        version, license, repository = (value("workspace.package", key) for key in ("version", "license", "repository"))
        return Project(version, license, value("package", "description"), repository.rstrip("/"))


@dataclass
class Archive:
    """The archive of a platform."""

    path: Path
    platform: str
    files: dict[str, bytes]
    sha256: str

    @property
    def program(self):
        """The name of the program."""
        return "acp-registry.exe" if self.platform.startswith("windows-") else "acp-registry"


@dataclass
class Release:
    """A version of the program, with the archives of some platforms or of all."""

    project: Project
    version: str
    archives: list[Archive]

    @staticmethod
    def read(folder, project):
        """Reads the archives in a folder; other files in it are ignored."""
        found = [(path, NAME.fullmatch(path.name)) for path in sorted(Path(folder).iterdir())]
        found = [(path, match.group(1), match.group(2)) for path, match in found if match]
        versions = {version for _, version, _ in found}
        if len(versions) != 1:
            known = ", ".join(sorted(versions)) or "none"
            raise Wrong(f"{folder} must hold archives of one version, acp-registry-VERSION-PLATFORM; it holds: {known}")
        archives = []
        for path, _, platform in found:
            archive = Archive(path, platform, files.read_archive(path), hashlib.sha256(path.read_bytes()).hexdigest())
            if archive.program not in archive.files:
                raise Wrong(f"{path} holds no {archive.program}")
            archives.append(archive)
        return Release(project, versions.pop(), archives)

    def of(self, system):
        """The archives for a system."""
        return [archive for archive in self.archives if archive.platform.startswith(f"{system}-")]

    @property
    def address(self):
        """Where the files of this release are downloaded."""
        return f"{self.project.repository}/releases/download/v{self.version}"
