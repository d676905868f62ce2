"""Which lock of one record is which of another: by name, never by address.

Addresses move with every run, lines and offsets with every build, and a module may be called
otherwise. So a lock's name is compared as it is first, and what is left over without what moves;
only where that is unambiguous are two locks called the same.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import Optional

from syncopate.base.since import zip_equal

Pair = tuple[Optional[dict], Optional[dict]]

_CLONE = re.compile(r"\.(?:constprop|isra|part|cold|lto_priv)(?:\.\d+)*| \[clone [^\]]*\]")
# A name may tell several places, one behind the other (naming.py).
_LINE = re.compile(r":(\d+)(?= |$)")
_OFFSET = re.compile(r"\+0x([0-9a-f]+)(?= |$)")
UNNAMED = ("address", "overflow")  # of named_by


def _settled(name: str) -> str:
    """A name without its lines, its offsets and what compilers append."""
    return _CLONE.sub("", _OFFSET.sub("", _LINE.sub("", name)))


def _position(lock: dict) -> tuple[list[int], list[int], str]:
    """Where a lock stands among those whose names differ in lines or offsets only."""
    lines = [int(line) for line in _LINE.findall(lock["name"])]
    offsets = [int(offset, 16) for offset in _OFFSET.findall(lock["name"])]
    return lines, offsets, lock["place"]


def _by_name(lock: dict) -> Hashable:
    return lock["object"], lock["name"]


def _by_settled_name(lock: dict) -> Hashable:
    named = lock["named_by"] not in UNNAMED
    return lock["object"], named, _settled(lock["name"]) if named else lock["name"]


KEYS: tuple[Callable[[dict], Hashable], ...] = (
    lambda lock: (*_by_name(lock), lock["place"]),
    _by_name,
    _by_settled_name,
)


def pairs(before: list[dict], after: list[dict]) -> Iterator[Pair]:
    """Pairs up the locks of two reports; None stands where only one of them has the lock."""
    for key in KEYS:
        matched = list(_matched(before, after, key))
        yield from matched
        before = _without(before, [old for old, _ in matched])
        after = _without(after, [new for _, new in matched])
    yield from ((lock, None) for lock in before)
    yield from ((None, lock) for lock in after)


def _matched(before: list[dict], after: list[dict], key) -> Iterator[tuple[dict, dict]]:
    """Pairs of equal keys; of as many on both sides, in order of their lines or offsets."""
    alike: dict[Hashable, tuple[list, list]] = defaultdict(lambda: ([], []))
    for side, locks in enumerate((before, after)):
        for lock in locks:
            alike[key(lock)][side].append(lock)
    for olds, news in alike.values():
        if len(olds) == len(news):
            yield from zip_equal(sorted(olds, key=_position), sorted(news, key=_position))


def _without(locks: list[dict], gone: list[dict]) -> list[dict]:
    ids = {id(lock) for lock in gone}
    return [lock for lock in locks if id(lock) not in ids]
