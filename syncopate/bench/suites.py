"""What a suite is: a table of programs, sizes and variants, and how a run's figures are read.

Words and variables may hold {threads}, {rest} (what follows a family's prefix: mcs in lock:mcs),
{products} (where the native parts are) and {source} (the source tree).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from syncopate.base.errors import BAD_USE, Failure, near

NATIVE = "native"


@dataclass(frozen=True)
class Metric:
    """One figure of a run: a field of what the program printed, over another one where `per`."""

    name: str
    unit: str
    higher_is_better: bool
    field: str
    per: str | None = None
    scale: float = 1.0

    def of(self, fields: dict) -> float | None:
        """Returns the figure; None where this program does not print it."""
        value = fields.get(self.field)
        below = 1.0 if self.per is None else fields.get(self.per)
        if not isinstance(value, (int, float)) or not below:
            return None
        return value / below * self.scale


@dataclass(frozen=True)
class Variant:
    """One way to run a program of a suite."""

    words: tuple[str, ...] = ()
    variables: dict = field(default_factory=dict, hash=False)
    program: str = "{program}"  # which build of the program
    threads: int | None = None  # it always has that many
    simulated: bool = True  # it runs on modeled machines too
    modeled: str | None = None  # which build runs there, where that is another one

    def filled(self, rest: str) -> Variant:
        """Returns a family's variant with {rest} replaced."""
        words = tuple(word.replace("{rest}", rest) for word in self.words)
        variables = {key: text.replace("{rest}", rest) for key, text in self.variables.items()}
        return replace(self, words=words, variables=variables)


@dataclass(frozen=True)
class Program:
    """A program with the options that make it this one. path: below the build folder.

    without: variants of its suite that it does not have.
    """

    path: str
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    summary: str
    programs: dict[str, Program]
    variants: dict[str, Variant]
    metrics: tuple[Metric, ...]
    families: dict[str, Variant] = field(default_factory=dict)  # "lock:" -> any lock by its name
    sizes: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"small": ()})
    size: str = "small"  # natively, when none is asked for
    simulated_size: str | None = None  # on modeled machines; None: the suite is native only
    words: tuple[str, ...] = ()
    variables: dict = field(default_factory=dict)
    threaded: bool = True
    seeded: bool = False  # the programs have --seed
    reader: str = "last_line"  # in measure.py
    folder: str | None = None  # below the source tree: where the programs are started
    papers: tuple[str, ...] = ()

    def machines(self) -> str:
        return NATIVE if self.simulated_size is None else f"{NATIVE}, simulated"


def find_suite(text: str, known: dict[str, Suite]) -> tuple[str, Suite, list[str]]:
    """Takes SUITE[/PROGRAM] apart. Returns: the suite's name, it, and its programs asked for."""
    name, _, program = text.partition("/")
    if name not in known:
        raise Failure(
            f"bench: no suite is called '{name}'{near(name, list(known))};"
            f" there are {', '.join(known)}",
            BAD_USE,
        )
    suite = known[name]
    if not program:
        return name, suite, list(suite.programs)
    if program not in suite.programs:
        raise Failure(
            f"bench: suite {name} has no program '{program}'"
            f"{near(program, list(suite.programs))}; it has {', '.join(suite.programs)}",
            BAD_USE,
        )
    return name, suite, [program]


def find_variant(name: str, suite: Suite, text: str) -> Variant:
    """Returns the variant that `text` means in the suite called `name`."""
    if text in suite.variants:
        return suite.variants[text]
    for prefix in sorted(suite.families, key=len, reverse=True):
        if text.startswith(prefix) and len(text) > len(prefix):
            rest = text[len(prefix) :]
            if prefix in CHECKS:
                CHECKS[prefix](rest)
            return suite.families[prefix].filled(rest)
    families = [f"{prefix}NAME" for prefix in suite.families]
    there = ", ".join([*suite.variants, *families])
    raise Failure(
        f"bench: suite {name} has no variant '{text}'{near(text, list(suite.variants))};"
        f" it has {there}",
        BAD_USE,
    )


def check_lock(text: str) -> None:
    """Refuses a lock that `syncopate list` does not have: preloaded programs only warn."""
    from syncopate.base import locktable

    names = [lock["name"] for lock in locktable.load()]
    name = text.partition(":")[0]
    if name not in [*names, "pthread"]:
        raise Failure(
            f"bench: no lock is called '{name}'{near(name, names)}; `syncopate list` shows them",
            BAD_USE,
        )


def check_transactions(text: str) -> None:
    """Refuses what SYNCOPATE_TM does not know: the library only warns, and takes another."""
    from syncopate.launch import transactions

    transactions.check_choice(text)


def check_stock(text: str) -> None:
    """The same for GCC's library."""
    if text not in STOCK_METHODS:
        raise Failure(
            f"bench: GCC's libitm has no method '{text}'{near(text, list(STOCK_METHODS))};"
            f" it has {', '.join(STOCK_METHODS)}",
            BAD_USE,
        )


def check_length(text: str) -> None:
    if not (text.isdecimal() and 0 < int(text) < 2**31):
        raise Failure(
            f"bench: htm: needs a number of yield points from 1 on, not '{text}'", BAD_USE
        )


STOCK_METHODS = ("gl_wt", "htm", "ml_wt", "serial", "serialirr", "serialirr_onwrite")
CHECKS = {  # what a family's variant refuses, before anything runs
    "lock:": check_lock,
    "tm:": check_transactions,
    "tm:stock:": check_stock,
    "htm:": check_length,
}


def find_size(name: str, suite: Suite, text: str | None, simulated: bool) -> str:
    if text is None:
        return suite.simulated_size if simulated and suite.simulated_size else suite.size
    if text not in suite.sizes:
        raise Failure(
            f"bench: suite {name} has no size '{text}'; it has {', '.join(suite.sizes)}", BAD_USE
        )
    return text


def slug(text: str) -> str:
    """A name that can stand after SUITE/ without quotes."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")
