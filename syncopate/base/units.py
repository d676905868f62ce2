"""Numbers as people read them."""

from __future__ import annotations


def duration(ns: float | None) -> str:
    """Nanoseconds with three significant digits and a unit; "-" for None."""
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size * 0.9995:
            value = ns / size
            digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{digits}f} {unit}"
    return f"{ns:.0f} ns"


def percent(share: float) -> str:
    """A share as a percentage that shows a small one as small, never as nothing, and one that is
    not the whole never as the whole."""
    value = share * 100
    if value and value < 0.1:
        return "<0.1 %"
    if 99.95 <= value < 100:
        return ">99.9 %"
    return f"{value:.1f} %"


def about(share: float) -> str:
    """The same of an estimate, within a sentence."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    return "more than 99.9 %" if 0.9995 <= share < 1 else f"about {percent(share)}"


def count(number: int) -> str:
    return f"{number:,}"


def several(number: int, what: str) -> str:
    """A number of things, which are called so, with an s unless it is one."""
    return f"{count(number)} {what}{'s' * (number != 1)}"
