"""Installers, and definitions for other package managers: templates that are filled with addresses and digests."""

import re

import files
from release import Missing

FOLDER = files.ROOT / ".github/packages"


def fill(name, values):
    """A template with its words in braces replaced. Words that have no value stay as they are: they are code."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda match: str(values.get(match[1], match[0])), text)


def common(release):
    if not re.fullmatch(r"https?://[A-Za-z0-9.:/_-]+", release.project.repository):
        raise Missing("the public address is not known: set `repository` in Cargo.toml, or give --repository")
    project = release.project
    return {
        "version": release.version, "address": release.address, "repository": project.repository,
        "description": project.description, "license": project.license,
    }


def installers(release, out):
    values = common(release)
    windows = release.of("windows")
    others = [archive for archive in release.archives if archive not in windows]
    for name, archives, sign in [("install.sh", others, " "), ("install.ps1", windows, "=")]:
        digests = "\n".join(f"{archive.platform}{sign}{archive.sha256}" for archive in archives)
        (out / name).write_text(fill(name, values | {"digests": digests}), encoding="utf-8", newline="\n")
