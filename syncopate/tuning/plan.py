"""The order of the search: all locks, each hot lock, reader-writer locks, barriers, elision,
OpenMP; then the verdict."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from syncopate.tuning import choice as candidates
from syncopate.tuning.choice import AS_IS, Choice
from syncopate.tuning.search import CONFIRMING, MOST_AT_LAST, Search, Verdict

AT_LEAST = 40  # runs: a few candidates, and two confirmations


@dataclass
class Ground:
    """What is known of the program before anything is tried."""

    names: list[str]  # locks worth trying, likely ones first (choice.specifications)
    hot: dict[int, str]  # hot mutexes worth a choice of their own: number and name
    elides: bool = False  # transactions commit here
    openmp: bool = False
    oversubscribed: bool = False  # more threads than processors
    rwlocks: dict[int, str] = field(default_factory=dict)  # hot reader-writer locks
    barriers: dict[int, str] = field(default_factory=dict)  # of pthread, that much is waited at

    def has_something_to_try(self) -> bool:
        return bool(self.names or self.barriers or self.openmp)


@dataclass
class Outcome:
    """What was found; complete at any moment, so that an interrupted search has a result."""

    best: Choice = AS_IS  # so far; what is proved is verdict.choice
    steps: list[Verdict] = field(default_factory=list)  # adopted, in order
    rejected: list[Verdict] = field(default_factory=list)
    verdict: Verdict | None = None  # against the program as it is

    def forget(self, failed: Collection[Choice]) -> None:
        """Goes back behind choices under which the program failed after they were adopted."""
        while self.steps and self.steps[-1].choice in failed:
            self.steps.pop()
        if self.best in failed:
            self.best = self.steps[-1].choice if self.steps else AS_IS
        if self.verdict is not None and self.verdict.choice in failed:
            self.verdict = None
        self.rejected = [each for each in self.rejected if each.choice not in failed]


def explore(search: Search, ground: Ground, outcome: Outcome, say) -> None:
    """Fills `outcome`. Raises search.Dropped when the program fails by itself."""
    if ground.names:
        say("one lock for all")
        everything = candidates.of_all_locks(Choice(), ground.names)
        _stage(search, outcome, everything, 0.45, may_tie=len(ground.hot) > 1)
    for number, name in ground.hot.items():
        if len(ground.hot) < 2:
            break  # the only one that matters had its choice
        say(f"a lock of its own for {name}")
        tried = candidates.of_one_lock(_base(outcome), number, ground.names)
        _stage(search, outcome, tried, 0.6 / len(ground.hot))
    for number, name in ground.rwlocks.items():
        say(f"who goes first at {name}")
        tried = candidates.of_preference(_base(outcome), number)
        _stage(search, outcome, tried, 0.3 / len(ground.rwlocks))
    for number, name in ground.barriers.items():
        say(f"how threads wait at {name}")
        tried = candidates.of_pthread_barrier(_base(outcome), number, ground.oversubscribed)
        _stage(search, outcome, tried, 0.4 / len(ground.barriers))
    if ground.elides:
        say("elision")
        _stage(search, outcome, candidates.of_elision(_base(outcome), ground.hot), 0.4)
    if ground.openmp:
        _explore_openmp(search, ground, outcome, say)
    promising = min(outcome.rejected, key=lambda each: each.ratio.value, default=None)
    if outcome.best == AS_IS and promising is not None and promising.ratio.value < 1:
        outcome.best = promising.choice  # what it lacks may be rounds
    while outcome.best != AS_IS:
        say("the verdict")
        last = search.confirm(AS_IS, outcome.best, search.left(), MOST_AT_LAST)
        if outcome.best in search.dropped:
            outcome.forget(search.dropped)
            continue
        if last is not None and last.rounds >= CONFIRMING:
            outcome.verdict = last
            if not outcome.steps:
                outcome.steps.append(last)
        return


def _explore_openmp(search: Search, ground: Ground, outcome: Outcome, say) -> None:
    say("barriers of OpenMP")
    barriers = candidates.of_openmp_barriers(_base(outcome), ground.oversubscribed)
    _stage(search, outcome, barriers, 0.5)
    say("locks of OpenMP")
    _stage(search, outcome, candidates.of_openmp_locks(_base(outcome)), 0.3)
    say("starts and ends of parallel regions")
    _stage(search, outcome, candidates.of_openmp_regions(_base(outcome)), 0.3)


def _base(outcome: Outcome) -> Choice:
    """What single locks are changed in: a program that stays as it is has no place for a choice."""
    return Choice() if outcome.best == AS_IS else outcome.best


def _stage(
    search: Search, outcome: Outcome, tried: list[Choice], share: float, may_tie: bool = False
) -> None:
    """Adopts the best of `tried` when fresh runs confirm it. `may_tie`: also when it is no worse
    as far as one can see, since single locks can then be chosen on top of it."""
    base = outcome.best
    winner = search.halve(base, tried, share)
    verdict = winner and search.confirm(base, winner, share / 2 * search.spare())
    outcome.forget(search.dropped)
    if winner is None or verdict is None:
        return
    if not (verdict.is_better or (may_tie and not verdict.is_worse)):
        outcome.rejected.append(verdict)
        return
    outcome.best = winner
    outcome.steps.append(verdict)
    if base == AS_IS:
        outcome.verdict = verdict
