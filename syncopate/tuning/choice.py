"""What can be chosen for a program, and what is worth trying. Nothing here runs anything."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from syncopate.base import locktable, optiontable
from syncopate.launch.openmp import OWN_LOCK, RUNTIME, barriers, barriers_that_wait, runs_ahead

Settings = tuple[tuple[str, str], ...]  # sorted (key, value), as in a policy file

# In the order in which they are tried where time is short: one of each sort first.
FIRST = ("auto", "tatas", "mcs", "ticket", "tatas:park", "mcs:park", "tatas:adaptive", "futex")
# Where threads outnumber processors, queues that spin before they sleep mostly lose
# (bench/tune_goals.py), and giving the processor to the holder is often best.
FIRST_IF_OVERSUBSCRIBED = (
    *("auto", "tatas:yield", "futex", "tatas", "mcs", "tatas:adaptive", "tatas:park", "mcs:park"),
    *("ticket:park", "clh:park"),
)


@dataclass(frozen=True)
class Choice:
    """One way to run the program.

    `default` holds for all locks, `single` for hot locks, by their number; `as_is`: the program
    runs without Syncopate.
    """

    default: Settings = ()
    single: tuple[tuple[int, Settings], ...] = ()
    as_is: bool = False

    def with_default(self, key: str, value: str) -> "Choice":
        return replace(self, default=_set(self.default, key, value), as_is=False)

    def with_single(self, lock: int, key: str, value: str) -> "Choice":
        single = dict(self.single)
        single[lock] = _set(single.get(lock, ()), key, value)
        return replace(self, single=tuple(sorted(single.items())), as_is=False)

    def text(self, names: dict[int, str]) -> str:
        """What a person reads: "mcs, cache_lock: ticket"."""
        if self.as_is:
            return "as it is"
        parts = [_settings_text(self.default)] if self.default else []
        for lock, settings in self.single:
            parts.append(f"{names.get(lock, f'lock {lock}')}: {_settings_text(settings)}")
        return ", ".join(parts) or "auto"


AS_IS = Choice(as_is=True)


def _set(settings: Settings, key: str, value: str) -> Settings:
    return tuple(sorted({**dict(settings), key: value}.items()))


def _settings_text(settings: Settings) -> str:
    return " ".join(value if key == "lock" else f"{key}={value}" for key, value in settings)


def specifications(table: Iterable[dict], oversubscribed: bool) -> list[str]:
    """Locks worth trying, NAME or NAME:WAIT, the likely ones first.

    Where threads outnumber processors, those left out are known to collapse then.
    """
    found = []
    for lock in table:
        # What runs ahead is the user's to ask for (include/syncopate/wait/speculate.h).
        if not lock["preload"] or lock["name"] == "glibc" or lock.get("transacts"):
            continue
        collapses = lock["collapses_when_oversubscribed"] if oversubscribed else []
        waits = lock.get("preload_waits", lock["waits"])
        if not waits or lock["default_wait"] not in collapses:
            found.append(lock["name"])
        found += [
            f"{lock['name']}:{wait}"
            for wait in waits
            if wait not in (lock["default_wait"], locktable.SPECULATE) and wait not in collapses
        ]
    order = FIRST_IF_OVERSUBSCRIBED if oversubscribed else FIRST
    rank = {name: number for number, name in enumerate(order)}
    return sorted(found, key=lambda name: rank.get(name, len(rank)))


def of_all_locks(base: Choice, names: Iterable[str]) -> list[Choice]:
    return [base.with_default("lock", name) for name in names]


def of_one_lock(base: Choice, lock: int, names: Iterable[str]) -> list[Choice]:
    now = dict(dict(base.single).get(lock, base.default)).get("lock")
    return [base.with_single(lock, "lock", name) for name in names if name != now]


def of_preference(base: Choice, lock: int) -> list[Choice]:
    """Of a reader-writer lock: whom it prefers."""
    return [base.with_single(lock, "prefer", side) for side in optiontable.names("prefer")]


def of_elision(base: Choice, locks: Iterable[int]) -> list[Choice]:
    """Elision as it is by default is `auto`: what remains is to force it, or to leave it out."""
    tried = [base.with_default("elide", "off")]
    for lock in locks:
        tried += [base.with_single(lock, "elide", mode) for mode in ("always", "off")]
    return tried


def of_pthread_barrier(base: Choice, barrier: int, oversubscribed: bool) -> list[Choice]:
    """How threads wait at a barrier; where they outnumber processors, spinning only holds up those
    that are waited for."""
    known = optiontable.names("barrier")
    waits = [wait for wait in known if not (oversubscribed and wait == "spin")]
    return [base.with_single(barrier, "barrier", wait) for wait in waits]


def of_openmp_barriers(base: Choice, oversubscribed: bool) -> list[Choice]:
    """Barriers, each with its usual waiting, and those that can sleep at once doing so; not the one
    at which the program's code runs ahead: its user has to ask for that."""
    names = [*barriers(), *(f"{name}:park" for name in barriers_that_wait())]
    if not oversubscribed:
        names += [f"{name}:spin" for name in barriers_that_wait()]
    return [base.with_default("omp_barrier", name) for name in names if not runs_ahead(name)]


def of_openmp_locks(base: Choice) -> list[Choice]:
    """Behind OpenMP's locks and critical sections."""
    now = dict(base.default).get("omp_lock", OWN_LOCK)
    names = (RUNTIME, OWN_LOCK, "tatas", "mcs", "ticket")
    return [base.with_default("omp_lock", name) for name in names if name != now]


def of_openmp_regions(base: Choice) -> list[Choice]:
    """Teams of libgomp that stay from one parallel region to the next."""
    return [base.with_default("omp_regions", "kept")]
