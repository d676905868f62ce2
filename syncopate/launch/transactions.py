"""The environment in which a program that was compiled with -fgnu-tm finds our libitm.so.1."""

import os

from syncopate.base import optiontable, paths
from syncopate.base.errors import BAD_USE, Failure, near

LIBRARY = "lib/tm/libitm.so.1"
RECORDING_LIBRARY = "lib/tm/record/libitm.so.1"  # the same, and records


def algorithms() -> tuple[str, ...]:
    return optiontable.choices("SYNCOPATE_TM")


def managers() -> tuple[str, ...]:
    """What follows a transaction that failed."""
    return optiontable.names("manager")


def check_choice(choice: str) -> str:
    """Checks ALGORITHM[:MANAGER], also htm+ALGORITHM; a Failure names what would do."""
    algorithm, colon, manager = choice.partition(":")
    name = algorithm.removeprefix("htm+")
    if name != algorithm and name in ("auto", "htm"):
        raise Failure(
            f"'{algorithm}': behind htm+ stands what runs in software, as in htm+norec", BAD_USE
        )
    if name not in algorithms():
        raise Failure(
            f"no algorithm for transactions is named '{name}'{near(name, list(algorithms()))};"
            f" there are {', '.join(algorithms())}",
            BAD_USE,
        )
    if colon and manager not in managers():
        raise Failure(
            f"no contention manager is named '{manager}'{near(manager, list(managers()))};"
            f" there are {', '.join(managers())}",
            BAD_USE,
        )
    return choice


def environment(environ: dict[str, str], choice: str, library: str = LIBRARY) -> dict[str, str]:
    """`environ` with our libitm.so.1 first in LD_LIBRARY_PATH and the algorithm chosen."""
    folder = os.path.dirname(paths.require(library))
    others = [entry for entry in environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    return {
        **environ,
        "LD_LIBRARY_PATH": ":".join([folder, *(entry for entry in others if entry != folder)]),
        "SYNCOPATE_TM": check_choice(choice),
    }
