"""Where the symbols of a stripped program are to be had: one line for the reader of a report."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from syncopate.base import boundedtool
from syncopate.base.shown import shown

SERVERS = {
    "debian": "https://debuginfod.debian.net",
    "ubuntu": "https://debuginfod.ubuntu.com",
    "fedora": "https://debuginfod.fedoraproject.org",
    "arch": "https://debuginfod.archlinux.org",
}
# Where packages -dbgsym are, which no system lists as it is installed.
ARCHIVES = {
    "debian": "deb http://deb.debian.org/debian-debug {}-debug main",
    "ubuntu": "deb http://ddebs.ubuntu.com {} main restricted universe multiverse",
}
# Until the next point release Debian has the symbols of its updates, also of security's, here.
OF_UPDATES = {"debian": "; of updates that are new: {}-proposed-updates-debug"}
UPDATE = re.compile(r"[+~]deb\d+u\d+")  # in the version of a package
ANY_SERVER = "https://debuginfod.elfutils.org"
RELEASE = "/etc/os-release"
MOST_NAMED = 3  # modules in one line
SECONDS, MEMORY = 60, 2 << 30


def hint(modules: Sequence[str], linked: Mapping[str, str] | None = None) -> str:
    """What to do for names in these files, which are there and have none. `linked`: what some of
    them say that the file is called that has their debug information."""
    named = [shown(os.path.basename(path)) for path in modules[:MOST_NAMED]]
    more = f" and {len(modules) - MOST_NAMED} more" if len(modules) > MOST_NAMED else ""
    packages = packages_of(modules[:MOST_NAMED])
    listed, others = debug_packages(packages)
    names = " ".join([*listed, *others])
    if others and (archive := _archive(any(map(UPDATE.search, _versions(packages))))):
        names += f" (from: {archive})"
    links = [name for path in modules[:MOST_NAMED] if (name := (linked or {}).get(path))]
    if not names and links:
        then = f"put {', '.join(links)} beside that, or build with -g and do not strip"
    elif not names:
        then = "build with -g and do not strip"
    elif os.environ.get("DEBUGINFOD_URLS"):
        then = f"install {names}: DEBUGINFOD_URLS brought none"
    else:
        then = f"install {names}, or set DEBUGINFOD_URLS={_server()}"
    return f"no symbols of {', '.join(named)}{more}: {then}"


def packages_of(paths: Sequence[str]) -> list[str]:
    """The Debian packages that these files are from, without doubles."""
    tool = shutil.which("dpkg-query")
    if tool is None:
        return []
    # A file of /bin may be known as one of /usr/bin, and the other way round.
    asked = [*paths, *(path.removeprefix("/usr") for path in paths if path.startswith("/usr/"))]
    try:
        told = boundedtool.output([tool, "-S", "--", *asked], SECONDS, MEMORY)
    except subprocess.TimeoutExpired:
        told = None
    found = [line.partition(": ")[0] for line in (told or "").splitlines() if ": /" in line]
    return list(dict.fromkeys(shown(name.partition(":")[0]) for name in found))


def debug_packages(packages: Sequence[str]) -> tuple[list[str], list[str]]:
    """The packages with the symbols of these: those that this system's lists have, of each package
    a -dbg one of its own or of its source, as of libc6, Python and the JDK, else a -dbgsym one; and
    the -dbgsym ones that it does not list, whose archive has to be added first."""
    sources = _sources(packages)
    asked = {package: [f"{package}-dbgsym"] for package in packages}
    for package in asked.keys() & sources:
        asked[package][:0] = [f"{package}-dbg", f"{sources[package]}-dbg"]
    known = _known(list(dict.fromkeys(name for names in asked.values() for name in names)))
    found = [next((name for name in names if name in known), names[-1]) for names in asked.values()]
    listed = [name for name in dict.fromkeys(found) if name in known]
    return listed, [name for name in dict.fromkeys(found) if name not in known]


def _sources(packages: Sequence[str]) -> dict[str, str]:
    """Packages that are installed, and the source package of each."""
    tool = shutil.which("dpkg-query")
    if tool is None or not packages:
        return {}
    told = _output([tool, "-W", "-f", "${Package} ${source:Package}\n", "--", *packages])
    return dict(line.split(" ", 1) for line in told.splitlines() if line.count(" ") == 1)


def _versions(packages: Sequence[str]) -> list[str]:
    """Those of the packages that are installed."""
    tool = shutil.which("dpkg-query")
    if tool is None or not packages:
        return []
    return _output([tool, "-W", "-f", "${Version}\n", "--", *packages]).splitlines()


def _known(packages: Sequence[str]) -> set[str]:
    """Which of them the system's package lists have."""
    tool = shutil.which("apt-cache")
    if tool is None or not packages:
        return set()
    told = _output([tool, "policy", *packages], LC_ALL="C")
    heads = [line[:-1] for line in told.splitlines() if line[:1] not in ("", " ")]
    candidates = [line.split(": ")[1] for line in told.splitlines() if "Candidate: " in line]
    return {name for name, has in zip(heads, candidates) if has != "(none)"}


def _output(command: Sequence[str], **environment: str) -> str:
    try:
        return boundedtool.output(command, SECONDS, MEMORY, **environment) or ""
    except subprocess.TimeoutExpired:
        return ""


def _server() -> str:
    return SERVERS.get(_system().get("ID", ""), ANY_SERVER)


def _archive(has_updates: bool) -> str | None:
    """The line of apt's sources that brings packages -dbgsym; None where none is known."""
    system = _system()
    name, release = system.get("ID", ""), system.get("VERSION_CODENAME")
    if name not in ARCHIVES or not release:
        return None
    return (ARCHIVES[name] + OF_UPDATES.get(name, "") * has_updates).format(*[shown(release)] * 2)


def _system() -> dict[str, str]:
    """What its release file says of it."""
    try:
        with open(RELEASE, encoding="utf-8", errors="replace") as file:
            lines = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    except OSError:
        return {}
    return {name: value.strip('"') for name, value in lines.items()}
