"""npm packages: one with a launcher and a client, and one for each platform, which npm chooses by `os` and `cpu`."""

import json

import files
from release import Wrong

SCOPE = "@acp-registry"
# The client of `acp-registry rpc`.
CLIENT = "acp-registry"
SYSTEMS = {"darwin": "darwin", "linux": "linux", "windows": "win32"}
MACHINES = {"aarch64": "arm64", "x86_64": "x64"}


def build(release, out):
    folder = files.ROOT / ".github/packages"
    about = (folder / "about.md").read_bytes()
    packages = {}
    for archive in release.archives:
        system, machine = archive.platform.split("-", 1)
        system, machine = SYSTEMS[system], MACHINES[machine]
        name = f"{SCOPE}/{system}-{machine}"
        # `preferUnplugged`: Yarn would leave the program in a zip file, which cannot be executed.
        manifest = described(release, name, f"for {system} {machine}") | {
            "os": [system], "cpu": [machine], "preferUnplugged": True,
        }
        packages[name] = archive
        write(out, manifest, {archive.program: archive.files[archive.program], "LICENSE": archive.files["LICENSE"]})
    main = described(release, "acp-registry") | {
        "bin": {"acp-registry": "launcher.js"},
        "exports": {".": {"types": f"./{CLIENT}.d.mts", "default": "./index.mjs"}, "./package.json": "./package.json"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {name: release.version for name in sorted(packages)},
    }
    content = {path.name: path.read_bytes() for path in (folder / "npm").iterdir()}
    client = files.ROOT / "crates/client/bindings/typescript"
    content |= {name: (client / name).read_bytes() for name in (f"{CLIENT}.mjs", f"{CLIENT}.d.mts")}
    write(out, main, content | {"README.md": about, "LICENSE": release.archives[0].files["LICENSE"]})


def described(release, name, suffix=""):
    """The members that all manifests have."""
    project = release.project
    known = {"repository": {"type": "git", "url": f"git+{project.repository}.git"}} if project.repository else {}
    description = f"{project.description} ({suffix})" if suffix else project.description
    return {
        "name": name, "version": release.version, "description": description, "license": project.license,
    } | known


def write(out, manifest, content):
    """Writes a package as `npm pack` names it."""
    if "+" in manifest["version"]:
        raise Wrong("npm ignores what is behind the + of a version")
    name = manifest["name"].removeprefix("@").replace("/", "-")
    text = json.dumps(manifest, indent=2) + "\n"
    files.tar_gz(out / f"{name}-{manifest['version']}.tgz", content | {"package.json": text.encode()}, "package/")
