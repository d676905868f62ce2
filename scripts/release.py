#!/usr/bin/env python3
"""Makes a release: every package, the sources, its version, its notes and checksums in one folder.

Usage: release.py OUTPUT_FOLDER [FILE ...]

The folder is OUTPUT_FOLDER/VERSION. FILEs are its packages; without any, all are made here, which
takes a while and needs what `make deb`, `make wheel` and `make native-deb` need. The version is the
one that pyproject.toml, CMakeLists.txt, syncopate/__init__.py and the first section of CHANGELOG.md
name; notes are that section. Refused: versions that differ, a section without text, a tree with
changes that are not committed, a tag of that version on another commit, a package of another one.
"""

import hashlib
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = r"\d+\.\d+\.\d+"
PLACES = {
    "pyproject.toml": rf'^version = "({VERSION})"$',
    "CMakeLists.txt": rf"^  VERSION ({VERSION})$",
    "syncopate/__init__.py": rf'^__version__ = "({VERSION})"$',
    "CHANGELOG.md": rf"^## ({VERSION})$",
}
ARCHITECTURES = ("x86_64", "aarch64")  # of portable packages


class ReleaseError(Exception):
    """One line for the user."""


def version_of(root: Path) -> str:
    found = {}
    for name, pattern in PLACES.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.M)
        if match is None:
            raise ReleaseError(f"{name} names no version")
        found[name] = match[1]
    if len(set(found.values())) > 1:
        raise ReleaseError(", ".join(f"{name} says {each}" for name, each in found.items()))
    return found["pyproject.toml"]


def notes_of(root: Path, version: str) -> str:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {version}\n")[2].partition("\n## ")[0].strip()
    if not section:
        raise ReleaseError(f"CHANGELOG.md says nothing of {version}")
    return f"# Syncopate {version}\n\n{section}\n"


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def check_tree(root: Path, version: str) -> None:
    changed = git(root, "status", "--porcelain")
    if changed:
        raise ReleaseError(f"not committed: {', '.join(changed.split()[1::2])}")
    tag = f"v{version}"
    if git(root, "tag", "--list", tag) and (
        git(root, "rev-parse", f"{tag}^{{commit}}") != git(root, "rev-parse", "HEAD")
    ):
        raise ReleaseError(f"{tag} is another commit; a release needs a version of its own")


def made(root: Path, *command: str) -> Path:
    """The file that a packaging script has made: its last line."""
    print(f"release: {' '.join(command)}", flush=True)
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True)
    if done.returncode or not done.stdout.strip():
        raise ReleaseError(f"{command[0]} failed")
    return root / done.stdout.split("\n")[-2]


def make_packages(root: Path) -> list[Path]:
    packages = [made(root, "scripts/package/deb.sh", "build/release", "build")]
    for architecture in sorted(ARCHITECTURES, key=lambda each: each != platform.machine()):
        wheel = made(root, "scripts/package/wheel.sh", "build/dist", architecture)
        packages += [wheel, made(root, "scripts/package/portable_deb.sh", str(wheel), "build")]
    return packages


def release(root: Path, output: Path, packages: list[Path]) -> Path:
    version = version_of(root)
    notes = notes_of(root, version)
    check_tree(root, version)
    for package in packages:
        if not re.match(rf"syncopate(-native)?[-_]{re.escape(version)}[-_]", package.name):
            raise ReleaseError(f"{package.name} is no package of {version}")
    packages = packages or make_packages(root)
    folder = output / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for package in packages:
        shutil.copy(package, folder)
    name = f"syncopate-{version}"
    git(root, "archive", f"--prefix={name}/", "-o", str(folder / f"{name}.tar.gz"), "HEAD")
    (folder / "VERSION").write_text(f"{version}\n{git(root, 'rev-parse', 'HEAD')}\n")
    (folder / "NOTES.md").write_text(notes, encoding="utf-8")
    sums = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
    )
    (folder / "SHA256SUMS").write_text(sums)
    return folder


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    output, *packages = (Path(word).absolute() for word in sys.argv[1:])
    try:
        print(release(Path(__file__).resolve().parent.parent, output, packages))
    except (ReleaseError, OSError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
