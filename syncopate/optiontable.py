"""The table of environment variables and of the names that they take (src/base/options.def)."""

from functools import cache

from syncopate import paths
from syncopate.errors import FAILED, Failure


@cache
def table() -> dict:
    """options.json: "options", a row for each variable in the table's order, and "names"."""
    import json  # not for --help and --version

    path = paths.require(paths.OPTIONS)
    try:
        with open(path, "rb") as file:
            found = json.load(file)
        return {"options": {row["variable"]: row for row in found["options"]}, **found["names"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise Failure(f"cannot read {path}: {error}; build it again with `make`", FAILED) from None


def rows() -> dict[str, dict]:
    """The variables' rows, by name."""
    return table()["options"]


def choices(variable: str) -> tuple[str, ...]:
    """The names that a variable takes; none where anything goes, or `syncopate list` has them."""
    return tuple(rows()[variable]["choices"])


def choices_that_wait(variable: str) -> tuple[str, ...]:
    """Those of its names behind which ':' may say how they wait."""
    return tuple(rows()[variable]["choices_that_wait"])


def names(kind: str) -> tuple[str, ...]:
    """The table's names of another kind: "barrier", "prefer" (of policies), "manager"."""
    return tuple(table()[kind])
