"""Python wheels: the program as a script, and the client of `acp-registry rpc` as a module."""

import base64
import hashlib
import re

import files
from release import Wrong

# The oldest systems that the program runs on. On Linux it is linked statically, with musl.
TAGS = {
    "darwin-aarch64": "py3-none-macosx_11_0_arm64",
    "darwin-x86_64": "py3-none-macosx_11_0_x86_64",
    "linux-aarch64": "py3-none-manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "linux-x86_64": "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "windows-aarch64": "py3-none-win_arm64",
    "windows-x86_64": "py3-none-win_amd64",
}


def build(release, out):
    version = python_version(release.version)
    about = (files.ROOT / ".github/packages/about.md").read_text(encoding="utf-8")
    client = files.ROOT / "crates/client/bindings/python"
    for archive in release.archives:
        tag = TAGS[archive.platform]
        name = f"acp_registry-{version}"
        info = f"{name}.dist-info"
        content = {
            # A package, since checkers read the types of no module by itself.
            "acp_registry/__init__.py": (client / "acp_registry.py").read_bytes(),
            "acp_registry/__init__.pyi": (client / "acp_registry.pyi").read_bytes(),
            "acp_registry/py.typed": b"",
            f"{name}.data/scripts/{archive.program}": archive.files[archive.program],
            f"{info}/METADATA": metadata(release.project, version, about).encode(),
            f"{info}/WHEEL": wheel(tag).encode(),
            f"{info}/licenses/LICENSE": archive.files["LICENSE"],
        }
        record = [f"{name},sha256={digest(data)},{len(data)}\n" for name, data in content.items()]
        content[f"{info}/RECORD"] = ("".join(record) + f"{info}/RECORD,,\n").encode()
        files.zip_file(out / f"{name}-{tag}.whl", content)


def python_version(version):
    """A version in the form of Python: 1.0.0-rc.1 is 1.0.0rc1 there."""
    match = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?", version)
    if not match:
        raise Wrong(f"Python has no form for the version {version}; -alpha.N, -beta.N and -rc.N have one")
    number, word, count = match.groups()
    return number + ({"alpha": "a", "beta": "b", "rc": "rc"}[word] + count if word else "")


def metadata(project, version, about):
    lines = [
        "Metadata-Version: 2.4",
        "Name: acp-registry",
        f"Version: {version}",
        f"Summary: {project.description}",
        f"License-Expression: {project.license}",
        "License-File: LICENSE",
        "Description-Content-Type: text/markdown",
    ]
    if project.repository:
        lines.append(f"Project-URL: Repository, {project.repository}")
    return "\n".join(lines) + f"\n\n{about}"


def wheel(tag):
    """The file WHEEL, which has a line for each tag that the name of the wheel compresses."""
    python, abi, platforms = tag.split("-")
    tags = [f"Tag: {python}-{abi}-{platform}" for platform in platforms.split(".")]
    return "\n".join(["Wheel-Version: 1.0", "Generator: acp-registry", "Root-Is-Purelib: false", *tags]) + "\n"


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
