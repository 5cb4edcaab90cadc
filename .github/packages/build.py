#!/usr/bin/env python3
"""Builds the packages of a release from its archives, and the archives from programs. Python 3.9 or later.

    build.py pack PROGRAM OUT         write the archive of this machine's platform, or of another one
    build.py packages ARCHIVES OUT    write the packages for the platforms of these archives
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import debian
import npm
import pack
import recipes
import wheel
from release import Missing, Project, Release, Wrong

KINDS = {
    "npm": npm.build,
    "wheel": wheel.build,
    "installers": recipes.installers,
    "debian": debian.build,
    "homebrew": recipes.homebrew,
    "mise": recipes.mise,
    "aqua": recipes.aqua,
    "container": recipes.container,
}


def parse():
    parser = argparse.ArgumentParser(description="Builds archives and packages of acp-registry.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("pack", help="write the archive of a platform")
    one.add_argument("program", type=Path)
    one.add_argument("out", type=Path)
    one.add_argument("--platform", default=pack.here(), help="the platform of PROGRAM, by default that of this machine")
    one.add_argument("--printer", type=Path, help="a program that runs here, if PROGRAM does not: prints manual pages")
    many = commands.add_parser("packages", help="write the packages for the platforms of these archives")
    many.add_argument("archives", type=Path)
    many.add_argument("out", type=Path)
    many.add_argument("--kind", action="append", choices=KINDS, help="build these only")
    many.add_argument("--all", action="store_true", help="fail if what a kind needs is missing")
    many.add_argument("--repository", help="the public address, in place of `repository` in Cargo.toml")
    return parser.parse_args()


def main():
    arguments, project = parse(), Project.read()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.command == "pack":
        # Without a directory, its name would be looked for in PATH.
        printer = (arguments.printer or arguments.program).absolute()
        print(pack.pack(arguments.program, arguments.platform, arguments.out, project.version, printer))
        return
    if arguments.repository is not None:
        project.repository = arguments.repository.rstrip("/")
    release = Release.read(arguments.archives, project)
    with tempfile.TemporaryDirectory(dir=arguments.out) as folder:
        for kind in arguments.kind or KINDS:
            try:
                KINDS[kind](release, Path(folder))
            except Missing as missing:
                if arguments.kind or arguments.all:
                    raise
                print(f"not built: {kind}: {missing}", file=sys.stderr)
        for path in sorted(Path(folder).iterdir()):
            print(path.replace(arguments.out / path.name))


if __name__ == "__main__":
    try:
        main()
    except (Wrong, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
