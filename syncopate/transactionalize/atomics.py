"""Which atomic additions become transactions, with all that touches what they change."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from syncopate.transactionalize import words
from syncopate.transactionalize.words import Place


@dataclass(frozen=True)
class Judges:
    in_transactions: Callable[[Place], bool]
    in_section: Callable[[Place], bool]
    handlers: Container[str]  # functions that a signal's handler reaches
    broken: Container[str]  # files that cannot be judged
    other_atomics: str  # that the program has operations that stay atomic; or ""


@dataclass
class Chosen:
    names: set[str] = field(default_factory=set)  # of what only transactions touch from now on
    operations: list[Place] = field(default_factory=list)
    uses: list[Place] = field(default_factory=list)  # outside of sections
    refused: list[tuple[Place, str]] = field(default_factory=list)


def choose(found: list[Place], judges: Judges) -> Chosen:
    """What is changed through a pointer may be anything that is changed so anywhere: all of that
    becomes transactions, or nothing that no name tells."""
    pointed = [p for p in found if p.operation and words.is_through_a_pointer(p)]
    named = [p for p in found if p not in pointed]
    touched = {p.name for p in named if judges.in_transactions(p)}
    inside = [p for p in pointed if judges.in_transactions(p)]
    if not inside:
        return _of_names(named, touched, judges)
    changed = {p.name for p in named if p.operation}
    every = _of_names(named, touched | changed, judges)
    stay = sorted(changed - every.names)
    if not stay and not judges.other_atomics:
        every.operations += pointed
        return every
    why = f"it is changed through a pointer, and {judges.other_atomics or f'{stay[0]} stays'}"
    chosen = _of_names(named, touched, judges)
    known = {id(place) for place, _ in chosen.refused}
    chosen.refused += [(p, w) for p, w in every.refused if stay and id(p) not in known]
    chosen.refused += [(place, why) for place in inside]
    return chosen


def _of_names(found: list[Place], touched: set[str], judges: Judges) -> Chosen:
    operations = [p for p in found if p.operation and p.name in touched]
    within = [(p.text, p.at, p.text.call_end(p.at)) for p in found if p.operation]
    uses = [
        p
        for p in found
        if not p.operation
        and p.name in touched
        and not any(p.text is text and a <= p.at < b for text, a, b in within)
    ]
    reasons = [(place, _refusal(place, judges)) for place in [*uses, *operations]]
    made = Chosen(refused=[(place, why) for place, why in reasons if why])
    made.names = touched - {place.name for place, _ in made.refused}
    made.operations = [p for p in operations if p.name in made.names]
    made.uses = [p for p in uses if p.name in made.names and not judges.in_section(p)]
    return made


def _refusal(place: Place, judges: Judges) -> str | None:
    if place.text.path in judges.broken:
        return "it is used in a file that cannot be judged"
    if place.function in judges.handlers:
        return "a signal's handler uses it, which may interrupt a transaction"
    if place.operation or judges.in_section(place):
        return None
    return words.refusal(place)
