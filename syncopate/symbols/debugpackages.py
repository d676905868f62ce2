"""Where the symbols of a stripped program are to be had: one line for the reader of a report."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from syncopate.base import boundedtool
from syncopate.base.shown import shown

SERVERS = {
    "debian": "https://debuginfod.debian.net",
    "ubuntu": "https://debuginfod.ubuntu.com",
    "fedora": "https://debuginfod.fedoraproject.org",
    "arch": "https://debuginfod.archlinux.org",
}
ANY_SERVER = "https://debuginfod.elfutils.org"
MOST_NAMED = 3  # modules in one line
SECONDS, MEMORY = 60, 2 << 30


def hint(modules: Sequence[str]) -> str:
    """What to do for names in these files, which are there and have none."""
    named = [shown(os.path.basename(path)) for path in modules[:MOST_NAMED]]
    more = f" and {len(modules) - MOST_NAMED} more" if len(modules) > MOST_NAMED else ""
    debug = debug_packages(packages_of(modules[:MOST_NAMED]))
    if not debug:
        then = "build with -g and do not strip"
    elif os.environ.get("DEBUGINFOD_URLS"):
        then = f"install {' '.join(debug)}: DEBUGINFOD_URLS brought none"
    else:
        then = f"install {' '.join(debug)}, or set DEBUGINFOD_URLS={_server()}"
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


def debug_packages(packages: Sequence[str]) -> list[str]:
    """The packages with the symbols of these: a -dbg package of theirs or of their source, where
    this system's lists have one, as of libc6, Python and the JDK; else one of the debug archive."""
    listed: dict[str, list[str]] = {}
    for package, source in _sources(packages).items():
        listed[package] = list(dict.fromkeys([f"{package}-dbg", f"{source}-dbg"]))
    known = _known([name for names in listed.values() for name in names])
    found = [
        next((name for name in listed.get(package, ()) if name in known), f"{package}-dbgsym")
        for package in packages
    ]
    return list(dict.fromkeys(found))


def _sources(packages: Sequence[str]) -> dict[str, str]:
    """Packages that are installed, and the source package of each."""
    tool = shutil.which("dpkg-query")
    if tool is None or not packages:
        return {}
    told = _output([tool, "-W", "-f", "${Package} ${source:Package}\n", "--", *packages])
    return dict(line.split(" ", 1) for line in told.splitlines() if line.count(" ") == 1)


def _known(packages: Sequence[str]) -> set[str]:
    """Which of them the system's package lists have."""
    tool = shutil.which("apt-cache")
    if tool is None or not packages:
        return set()
    told = _output([tool, "policy", *packages], LC_ALL="C")
    heads = [line[:-1] for line in told.splitlines() if line[:1] not in ("", " ")]
    candidates = [line.split(": ")[1] for line in told.splitlines() if "Candidate: " in line]
    return {name for name, has in zip(heads, candidates, strict=False) if has != "(none)"}


def _output(command: Sequence[str], **environment: str) -> str:
    try:
        return boundedtool.output(command, SECONDS, MEMORY, **environment) or ""
    except subprocess.TimeoutExpired:
        return ""


def _server() -> str:
    try:
        with open("/etc/os-release", encoding="utf-8", errors="replace") as file:
            lines = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    except OSError:
        return ANY_SERVER
    return SERVERS.get(lines.get("ID", "").strip('"'), ANY_SERVER)
