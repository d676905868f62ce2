"""What calls come to: operations on a mutex, or on a condition variable; and what is known of other
locks, whose sections are sections like those of a mutex."""

from __future__ import annotations

import re
from dataclasses import dataclass

from syncopate.transactionalize.ctext import CText

LOCK, UNLOCK = "pthread_mutex_lock", "pthread_mutex_unlock"
TRYLOCK = "pthread_mutex_trylock"
BUSY = r"(?:(?:!=\s*0|==\s*EBUSY)\s*)?"  # behind a trylock: it failed
TIMED = ("pthread_mutex_timedlock", "pthread_mutex_clocklock")
# A cast to a pointer; a type's declarations, with all that they declare.
CAST = re.compile(r"\(\s*(?:const\s+)?(?:struct\s+)?\w+\s*\*+\s*\)\s*")
_DECLARES = r"\b(?:%s)\b([^;{}()]*(?:\{[^{}]*\}[^;{}()]*)*);"
TYPES = ("pthread_mutex_t", "pthread_rwlock_t", "pthread_spinlock_t", "pthread_cond_t")
LOCK_TYPES = TYPES[:3]
# Brackets around a name or a path; not those of a call, nor of a cast, which something follows.
_NEEDLESS = re.compile(
    r"(?<![\w\])])\s*\(\s*([A-Za-z_]\w*(?:(?:->|\.)\w+|\[\w+\])*)\s*\)(?=\s*(?:->|[.\[),]|$))"
)


def declarations_of(*types: str) -> re.Pattern:
    """Matches what declares something of these types; its group is all that it declares."""
    return re.compile(_DECLARES % "|".join(types))


def bare(argument: str) -> str:
    """Without brackets around all of it: lock and unlock are to be of the same expression."""
    while argument.startswith("(") and CText("", argument).closing(0) == len(argument) - 1:
        argument = argument[1:-1].strip()
    return argument


def plain(mutex: str) -> str:
    """Without brackets that change nothing, as macros have them: `&((a)->m)` is `&a->m`. Lock and
    unlock are to be of the same expression."""
    before = None
    while mutex != before:
        before, mutex = mutex, _NEEDLESS.sub(r"\1", bare(mutex))
        if mutex.startswith("&"):
            mutex = "&" + bare(mutex[1:].strip())
    return mutex


@dataclass(frozen=True)
class Template:
    """What a call with `parameters` comes to: `function`(`mutex`)."""

    function: str
    parameters: tuple[str, ...]
    mutex: str
    negated: bool = False  # whether it is true where the function gives 0

    def over(self, given: list[str]) -> str:
        """The mutex, for these arguments."""
        by = dict(zip(self.parameters, given))

        def one(match: re.Match) -> str:
            argument = by.get(match.group(1), match.group(1))
            plain = not match.group(2) or re.fullmatch(r"[\w.\[\]]+(?:->[\w.\[\]]+)*", argument)
            return (argument if plain else f"({argument})") + match.group(2)

        return plain(re.sub(r"(?<!->)(?<!\.)\b([A-Za-z_]\w*)((?:->|\.)?)", one, self.mutex))


PTHREAD = {name: Template(name, ("mutex",), "mutex") for name in (LOCK, UNLOCK, TRYLOCK)}
# A transaction does not exclude readers where it need not, and it does not spin: sections of these
# locks are sections like those of a mutex.
_OTHER_LOCKS = {
    "pthread_spin_lock": LOCK,
    "pthread_spin_trylock": TRYLOCK,
    "pthread_spin_unlock": UNLOCK,
    "pthread_rwlock_rdlock": LOCK,
    "pthread_rwlock_wrlock": LOCK,
    "pthread_rwlock_tryrdlock": TRYLOCK,
    "pthread_rwlock_trywrlock": TRYLOCK,
    "pthread_rwlock_unlock": UNLOCK,
}
LIKE_MUTEX = {name: Template(does, ("lock",), "lock") for name, does in _OTHER_LOCKS.items()}
LIKE_MUTEX |= {
    f"pthread_rwlock_{by}{how}": Template(f"pthread_mutex_{by}lock", (*given,), ", ".join(given))
    for by, given in {"timed": ("lock", "time"), "clock": ("lock", "clock", "time")}.items()
    for how in ("rdlock", "wrlock")
}
# Only macros are seen through here; their `mutex` is all of the arguments.
CONDITIONS = {
    f"pthread_cond_{name}": Template(
        f"pthread_cond_{name}", tuple(arguments.split(", ")), arguments
    )
    for name, arguments in {
        "wait": "condition, mutex",
        "timedwait": "condition, mutex, time",
        "clockwait": "condition, mutex, clock, time",
        "signal": "condition",
        "broadcast": "condition",
        "init": "condition, attributes",
        "destroy": "condition",
    }.items()
}


class Names:
    """What names mean; a static function's in its own file only."""

    def __init__(self):
        known = {**PTHREAD, **LIKE_MUTEX, **CONDITIONS}
        self._all: dict[tuple[str, str], Template] = {("", n): t for n, t in known.items()}

    def get(self, file: str, name: str) -> Template | None:
        return self._all.get((file, name)) or self._all.get(("", name))

    def operation(self, file: str, name: str) -> Template | None:
        """The same, if it is one on a mutex."""
        found = self.get(file, name)
        return found if found and found.function in PTHREAD else None

    def add(self, file: str, name: str, template: Template) -> bool:
        new = self._all.get((file, name)) != template
        self._all[file, name] = template
        return new

    def of_file(self, file: str) -> dict[str, Template]:
        own = {*PTHREAD, *CONDITIONS}
        found = {
            n: t for (f, n), t in self._all.items() if f == "" and n not in own and n != t.function
        }
        return found | {n: t for (f, n), t in self._all.items() if f == file}
