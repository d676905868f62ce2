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
SECONDS, MEMORY = 10, 2 << 30


def hint(modules: Sequence[str]) -> str:
    """What to do for names in these files, which are there and have none."""
    named = [shown(os.path.basename(path)) for path in modules[:MOST_NAMED]]
    more = f" and {len(modules) - MOST_NAMED} more" if len(modules) > MOST_NAMED else ""
    packages = packages_of(modules[:MOST_NAMED])
    debug = [f"{package}-dbgsym" for package in packages]
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


def _server() -> str:
    try:
        with open("/etc/os-release", encoding="utf-8", errors="replace") as file:
            lines = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    except OSError:
        return ANY_SERVER
    return SERVERS.get(lines.get("ID", "").strip('"'), ANY_SERVER)
