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
        write(out, name, values | {"digests": digests})


def write(out, name, values):
    (out / name).write_text(fill(name, values), encoding="utf-8", newline="\n")


def homebrew(release, out):
    values = common(release)
    blocks = []
    for system, word in [("darwin", "macos"), ("linux", "linux")]:
        archives = release.of(system)
        inner = [
            f"    on_{'arm' if archive.platform.endswith('aarch64') else 'intel'} do\n"
            f'      url "{release.address}/{archive.path.name}"\n      sha256 "{archive.sha256}"\n    end\n'
            for archive in archives
        ]
        if archives:
            blocks.append(f"  on_{word} do\n" + "\n".join(inner) + "  end\n")
    write(out, "acp-registry.rb", values | {"targets": "\n".join(blocks)})


def mise(release, out):
    values = common(release)
    words = {"darwin": "macos", "aarch64": "arm64", "x86_64": "x64"}
    lines = []
    for archive in release.archives:
        target = "-".join(words.get(part, part) for part in archive.platform.split("-", 1))
        url = f"{release.address}/{archive.path.name}"
        lines.append(f'{target} = {{ url = "{url}", checksum = "sha256:{archive.sha256}" }}')
    write(out, "mise.toml", values | {"targets": "\n".join(lines)})


def aqua(release, out):
    write(out, "aqua-registry.yaml", common(release))


def container(release, out):
    write(out, "Containerfile", {"version": release.version})
