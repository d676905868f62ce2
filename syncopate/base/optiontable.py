"""The table of environment variables and of the names that they take (src/base/options.def)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache

from syncopate.base import paths
from syncopate.base.errors import FAILED, Failure, near

PREFIX = "SYNCOPATE"
# Readers that are there only where they are loaded: a part of the library's name, and what it is.
LOADED = {
    "preload": ("libsyncopate-pthread", "the preload library"),
    "openmp": ("libsyncopate-openmp", "the OpenMP library, which --omp loads,"),
}

MODELED = ("simulated", "emulated", "explored")  # machines; their libraries are in the programs


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


def unknown(environ: Iterable[str]) -> list[str]:
    """A line for each variable that is set as if it were ours, and that nothing reads."""
    ours = sorted(name for name in environ if name == PREFIX or name.startswith(f"{PREFIX}_"))
    known = rows() if ours else {}  # only then: starting must be quick
    return [
        f"{name} is set, and nothing reads it{near(name, list(known))}"
        for name in ours
        if name not in known
    ]


def idle(environ: Mapping[str, str], preloaded: str, machine: str | None = None) -> list[str]:
    """A line for each variable that only libraries read that are not among what is preloaded.
    `machine`: the modeled one that the program is for, which reads some itself."""
    ours = sorted(name for name in environ if name.startswith(f"{PREFIX}_"))
    known = rows() if ours else {}
    lines = []
    for name in filter(known.__contains__, ours):
        others = {"command", *MODELED} - {machine}
        readers = [each for each in known[name]["readers"] if each not in others]
        if not environ[name] or not readers or not LOADED.keys() >= set(readers):
            continue
        if not any(LOADED[each][0] in preloaded for each in readers):
            what = " or ".join(LOADED[each][1] for each in readers)
            lines.append(f"{name} is set, and nothing reads it: {what} is not loaded")
    return lines


def is_verbose(environ: Mapping[str, str]) -> bool:
    """Whether our libraries say what they do in a program with this environment."""
    return environ.get("SYNCOPATE_VERBOSE", "0") != "0"


def complain(environ: Mapping[str, str], machine: str | None = None) -> None:
    """Says on standard error which of our variables are set for nothing. Without the table:
    nothing. `environ`: what the program gets, which has what is preloaded; `machine`: the modeled
    one that it is for, None: it is a native one."""
    if paths.find(paths.OPTIONS) is None:
        return
    preloaded = environ.get("LD_PRELOAD", "")
    for line in [*unknown(os.environ), *idle(os.environ, preloaded, machine)]:
        from syncopate.base.shown import shown  # here, since there is mostly none

        print(f"syncopate: {shown(line)}", file=sys.stderr)
