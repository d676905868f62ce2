"""The table of locks (locks.json, generated from the library itself) and choices made from it."""

from syncopate.base import paths
from syncopate.base.errors import BAD_USE, FAILED, Failure, near

SPECULATE = "speculate"  # the waiting strategy by which a lock that does not transact runs ahead
GLIBC = {
    "name": "glibc",
    "header": "",
    "summary": "the C library's own lock, untouched",
    "source": "glibc nptl",
    "fair": "none",
    "size": 40,
    "waits": [],
    "default_wait": "",
    "timed": "native",
    "preload": True,
    "preload_waits": [],
    "openmp": False,
    "openmp_waits": [],
    "collapses_when_oversubscribed": [],
    "transacts": False,
    "excludes": True,
}


def transacts(choice: str) -> bool:
    """Whether sections under a lock, or its waiters, are to run as hardware transactions."""
    name, _, wait = choice.partition(":")
    found = [lock for lock in load() if lock["name"] == name]
    return wait == SPECULATE or any(lock.get("transacts") for lock in found)


def load() -> list[dict]:
    """Every lock the library has, as locks.json describes it; `glibc` is added as pass-through."""
    import json  # not for --help and --version

    path = paths.require(paths.LOCKS)
    try:
        with open(path, "rb") as file:
            locks = json.load(file)
        names = [lock["name"] for lock in locks]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise Failure(f"cannot read {path}: {error}; build it again with `make`", FAILED) from None
    return locks if "glibc" in names else [*locks, GLIBC]


_BEHIND = {"preload": "a program's mutexes", "openmp": "OpenMP's locks"}


def check_choice(choice: str, more: tuple[str, ...] = (), library: str = "preload") -> str:
    """Checks NAME or NAME:WAIT against the table and returns it; a Failure names what would do,
    and the names that the caller knows besides. `library`: whose locks, "preload" or "openmp"."""
    name, colon, wait = choice.partition(":")
    locks = load()
    usable = {lock["name"]: lock for lock in locks if lock.get(library, lock["preload"])}
    lock = usable.get(name)
    if lock is None and colon and name in more:
        raise Failure(f"lock {name} brings its own waiting; leave out ':{wait}'", BAD_USE)
    if lock is None:
        wrong = f"no lock is named '{name}'{near(name, [*more, *usable])}"
        if any(other["name"] == name for other in locks):
            wrong = f"lock {name} cannot stand behind {_BEHIND[library]}"
        raise Failure(
            f"{wrong}; there are {', '.join([*more, *usable])} (see `syncopate list`)",
            BAD_USE,
        )
    known = lock.get(f"{library}_waits", lock["waits"])
    if colon and wait not in known:
        waits = ", ".join(known) or "none of its own"
        raise Failure(
            f"lock {name} does not wait by '{wait}'{near(wait, known)}; it has: {waits}",
            BAD_USE,
        )
    return choice
