"""The stages of "Transactionalizing Legacy Code" (Ruan, Vyas, Liu & Spear, ASPLOS 2014, sections
3.1-3.5): how far a rewritten program goes. Each contains the ones before it.

relaxed   every section is a relaxed transaction; nothing is declared. Where the locks that are
          wanted as words are words, the paper calls it IP (privatized items); where those of them
          that can be are sections of their own, IT (transactional items).
callable  what transactions call is declared transaction_callable
max       volatile variables and atomic increments become transactions; what is safe is declared
          so; transactions are atomic where nothing in them is unsafe
lib       the C library's functions are safe (wrap_libc.h), variadic functions, too
oncommit  output and wake-ups are put off until the commit (wrap_output.h), and functions that the
          user vouches for are pure
"""

from dataclasses import dataclass

LEVELS = ("relaxed", "callable", "max", "lib", "oncommit")
BRANCHES = ("ip", "it")


@dataclass(frozen=True)
class Stage:
    """How far to go, and whether locks that are wanted as words become sections where they can."""

    level: int
    branch: str = "ip"

    @property
    def name(self) -> str:
        return self.branch if not self.level else f"{self.branch}-{LEVELS[self.level]}"

    @property
    def declares(self) -> bool:
        return self.level >= 1

    @property
    def is_maximal(self) -> bool:
        """Whether variables are rewritten, and transactions may be atomic."""
        return self.level >= 2

    @property
    def wraps_library(self) -> bool:
        return self.level >= 3

    @property
    def puts_off(self) -> bool:
        """Whether output waits for the commit."""
        return self.level >= 4


LIBRARY = Stage(LEVELS.index("lib"))  # what is done where no stage is asked for


def names() -> list[str]:
    """What the user may ask for."""
    return [*BRANCHES, *LEVELS[1:], *(f"{b}-{level}" for b in BRANCHES for level in LEVELS[1:])]


def parse(name: str) -> Stage:
    """Requires: one of names(). A level alone is that of the branch ip."""
    branch, _, level = name.rpartition("-")
    if name in BRANCHES:
        return Stage(0, name)
    return Stage(LEVELS.index(level), branch or "ip")
