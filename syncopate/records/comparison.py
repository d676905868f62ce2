"""Two reports compared, lock by lock: what changed, and which changes chance explains.

A record is one run. What can be told from it is how far its own waits scatter: the sum of n
independent waits is off by the root of the sum of their squares. But all threads may wait for one
holder that was interrupted; if waits come by as many as that, it is off by the root of that number
more, at most. A change within twice this is called noise, unless holds became longer or shorter as
well, which is why threads wait; and one of few samples "few". Threads
that wait for several locks queue at this one or at that: which, is one chance for all of a run. So
where the time lost to all has not changed, a lock's is called "moved", unless it was held for
longer or shorter, or taken at another rate, while another's changed the other way. How much one run
differs from the next for other reasons - another load, other neighbors - is not in two records;
recording again tells.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from syncopate.base.since import zip_equal
from syncopate.records.lockfigures import others_had_processors
from syncopate.records.matching import Pair, pairs
from syncopate.records.recordformat import LOST_KINDS

SCHEMA, VERSION = "syncopate-diff", 1
MORE, LESS, SAME, NOISE, FEW, MOVED = "more", "less", "same", "noise", "few", "moved"
SIGMAS = 2
ALIKE = 1.1  # runs whose lengths differ by more than this factor are hard to compare by sums
FEW_WAITS = 10  # a sum of fewer waits is their chance lengths
FEW_HOLDS = 30
FEW_FOR_P99 = 200  # two waits above it
MOSTLY = 0.5  # of a change: what is not chance, where so much of it has a reason
LOCKS = {"mutex", "rwlock", "spinlock"}
OF_LIBRARY = "preload"  # of the recorders
SEEN_BY = {
    OF_LIBRARY: "recorded by the library",
    "kernel": "seen from the kernel",
    "jvm": "told by a Java VM",
}
Bucket = list[int]  # [from ns, to ns, count]


class Side(NamedTuple):
    """What one record says of one lock; zeros where it does not have it."""

    waited: float
    variance: float  # of `waited`, at most, ns^2
    waits: int
    acquisitions: float | None  # None: not counted
    contended: float
    buckets: list[Bucket]
    hold: dict | None


def _is_counted(lock: dict) -> bool:
    """Whether it is known how often it was taken. (Older JSON does not say.)"""
    return lock.get("counted", True) and not lock.get("counted_in_part", False)


def side_of(lock: dict | None) -> Side:
    if lock is None:
        return Side(0, 0, 0, 0, 0, [], None)
    kinds = lock["waits"].values()
    return Side(
        lock["waited_ns"],
        sum(_squares(kind) for kind in kinds) * max(1, lock["threads_waited"] - 1),
        sum(kind["count"] for kind in kinds),
        lock["acquisitions"] if _is_counted(lock) else None,
        lock["contended"] - lock.get("in_vain", 0) - lock.get("open", 0),  # not in older JSON
        sorted(bucket for kind in kinds for bucket in kind.get("histogram", ())),
        lock["hold"],
    )


def _squares(kind: dict) -> float:
    """The sum of the squares of a kind's waits: from its histogram, else as if all were its max."""
    buckets = kind.get("histogram") or [[kind["max_ns"], kind["max_ns"], kind["count"]]]
    return sum(count * ((low + high) / 2) ** 2 for low, high, count in buckets)


def change(before: float | None, after: float | None, noise: float | None) -> dict:
    """One number in both records. `noise`: how far chance may take it; None: too few samples."""
    verdict = SAME
    if before is not None and after is not None and before != after:
        verdict = MORE if after > before else LESS
        if noise is None:
            verdict = FEW
        elif abs(after - before) <= noise:
            verdict = NOISE
    return {"before": before, "after": after, "noise": noise, "verdict": verdict}


def _waited(sides: tuple[Side, Side], scales: tuple[float, float]) -> dict:
    before, after = (side.waited * scale for side, scale in zip_equal(sides, scales))
    noise = None
    if max(side.waits for side in sides) >= FEW_WAITS:
        variances = (s.variance * scale**2 for s, scale in zip_equal(sides, scales))
        noise = SIGMAS * math.sqrt(sum(variances))
    return change(before, after, noise)


def _contended(sides: tuple[Side, Side]) -> dict:
    shares = [min(1.0, s.contended / s.acquisitions) if s.acquisitions else None for s in sides]
    if None in shares:
        return change(*shares, None)
    spread = sum(p * (1 - p) / s.acquisitions for p, s in zip_equal(shares, sides))
    enough = max(side.contended for side in sides) >= FEW_WAITS
    return change(*shares, SIGMAS * math.sqrt(spread) if enough else None)


def _hold(sides: tuple[Side, Side]) -> dict:
    """The mean hold, and the standard error of the two means' difference."""
    holds = [side.hold or {"samples": 0, "mean_ns": None} for side in sides]
    means = [hold["mean_ns"] for hold in holds]
    if min(hold["samples"] for hold in holds) < FEW_HOLDS:
        return change(*means, None)
    variance = 0.0
    for hold in holds:
        buckets = hold.get("histogram")
        if buckets is None:
            return change(*means, None)
        # The buckets count acquisitions that the samples stand for.
        seen = sum(((low + high) / 2 - hold["mean_ns"]) ** 2 * n for low, high, n in buckets)
        variance += seen / sum(n for _, _, n in buckets) / hold["samples"]
    return change(*means, SIGMAS * math.sqrt(variance))


def quantile(buckets: list[Bucket], share: float) -> float:
    """The value below which `share` of the values lie. Requires: sorted buckets, some value."""
    rank = share * sum(count for _, _, count in buckets)
    for low, high, count in buckets:
        if rank <= count:
            return low + (high - low) * rank / count
        rank -= count
    return buckets[-1][1]


def _p99(sides: tuple[Side, Side]) -> dict:
    """p99 and the noise of its rank: the quantiles that two binomial sigmas lie apart."""
    values = [quantile(side.buckets, 0.99) if side.buckets else None for side in sides]
    noise = None
    if min(side.waits for side in sides) >= FEW_FOR_P99 and all(side.buckets for side in sides):
        noise = 0.0
        for side in sides:
            reach = SIGMAS * math.sqrt(0.99 * 0.01 / side.waits)
            low = quantile(side.buckets, 0.99 - reach)
            noise += (quantile(side.buckets, min(1.0, 0.99 + reach)) - low) / 2
    return change(*values, noise)


def _row(pair: Pair, scales: tuple[float, float]) -> dict:
    before, after = pair
    known = after or before
    sides = side_of(before), side_of(after)
    taken = [
        None if side.acquisitions is None else side.acquisitions * scale
        for side, scale in zip_equal(sides, scales)
    ]
    waited, hold = _waited(sides, scales), _hold(sides)
    if _goes_along(waited, hold):
        waited["verdict"] = hold["verdict"]
    return {
        "name": known["name"],
        "name_before": before["name"] if before else None,
        "object": known["object"],
        "place": known["place"],
        "members": known["members"],
        "in": "both" if before and after else "before" if before else "after",
        "lost": known["object"] in LOCKS or bool(known["waits"].keys() & LOST_KINDS),
        "waited": waited,
        "acquisitions": change(*taken, 0.0),
        "contended_share": _contended(sides),
        "p99_ns": _p99(sides),
        "hold_ns": hold,
    }


def _goes_along(waited: dict, hold: dict) -> bool:
    """Whether waits changed as holds did, so that this is no chance of the waits: by no more than
    twice the part, and in the same direction."""
    if waited["verdict"] != NOISE or hold["verdict"] not in (MORE, LESS):
        return False
    parts = [each["after"] / each["before"] - 1 for each in (waited, hold) if each["before"]]
    return len(parts) == 2 and parts[0] * parts[1] > 0 and parts[1] / parts[0] >= MOSTLY


def _is_told_by_holds(waited: dict) -> bool:
    """Whether it is a change though the waits by themselves do not tell."""
    within = waited["noise"] is not None and waited["noise"] >= abs(
        waited["after"] - waited["before"]
    )
    return within and waited["verdict"] in (MORE, LESS)


def _recorder(results: dict) -> str:
    return results["process"].get("recorder", OF_LIBRARY)  # not in older JSON


def _about(results: dict) -> dict:
    process = results["process"]
    return {
        "file": results["file"],
        **{key: process[key] for key in ("command", "lock", "wait", "started", "duration_ns")},
        "recorder": _recorder(results),
        "cut_short": process.get("cut_short", False),  # not in older JSON
        "threads": len(results["threads"]),
        "more_threads": process.get("more_threads", False),  # not in older JSON
        **{key: results[key] for key in ("thread_time_ns", "lost_ns", "lost_share", "notes")},
    }


class Comparison:
    """Two records' results, compared. `rows` and `pairs` go together, most changed first."""

    def __init__(self, before: dict, after: dict, by_second: bool):
        self.sides = before, after
        self.by_second = by_second
        seconds = [max(1, results["process"]["duration_ns"]) / 1e9 for results in self.sides]
        self.scales = tuple(1 / each for each in seconds) if by_second else (1.0, 1.0)
        both = [(_row(pair, self.scales), pair) for pair in pairs(before["locks"], after["locks"])]
        both.sort(key=lambda each: _rank(each[0]))
        self.rows = [row for row, _ in both]
        if self.total()["verdict"] in (NOISE, FEW):
            _tell_what_moved([row for row in self.rows if row["lost"]])
        self.pairs = [pair for _, pair in both]

    def total(self) -> dict:
        """Time lost to locks, all of them. Of locks with few waits any change may be chance, and
        all of these in one direction."""
        lost = [row["waited"] for row in self.rows if row["lost"]]
        known = math.sqrt(sum((each["noise"] or 0.0) ** 2 for each in lost))
        few = sum(abs(w["after"] - w["before"]) for w in lost if w["noise"] is None)
        values = [s["lost_ns"] * scale for s, scale in zip_equal(self.sides, self.scales)]
        total = change(*values, known + few)
        if total["verdict"] == NOISE and abs(values[1] - values[0]) > known:
            return change(*values, None)
        up = values[1] - values[0]
        along = sum(w["after"] - w["before"] for w in lost if _is_told_by_holds(w))
        if total["verdict"] == NOISE and along / up >= MOSTLY:
            total["verdict"] = MORE if up > 0 else LESS
        return total

    def remarks(self) -> list[str]:
        """What to know before trusting the numbers, beside what each record notes."""
        lengths = sorted(max(1, results["process"]["duration_ns"]) for results in self.sides)
        times = lengths[1] / lengths[0]
        found = []
        if not self.by_second and times > ALIKE:
            found.append(
                f"one run lasted {times:.1f}x as long as the other; if they did not do the same"
                " work, use --per second"
            )
        kinds = {_recorder(of) for of in self.sides}
        if len(kinds) > 1:
            found.append(
                f"before is {SEEN_BY[_recorder(self.sides[0])]}, after"
                f" {SEEN_BY[_recorder(self.sides[1])]}: these count other waits, and what changed"
                " may be that alone; record both in one way"
            )
        names = ("before", "after")
        busy = [n for n, of in zip_equal(names, self.sides) if others_had_processors(of)]
        if busy:
            found.append(
                f"{' and '.join(busy)}: other programs, or a limit, kept its threads from the"
                " processors for some of the time, and changes may come from that; record on a"
                " machine that has nothing else to do"
            )
        if any(map(_may_be_held_otherwise, self.rows)):
            found.append(
                "of what moved it is not seen whether it was held for as long as before: it may be"
                " chance, or longer and shorter sections; `syncopate record` without --kernel tells"
            )
        return found

    def as_data(self) -> dict:
        """The comparison as docs/reference/json.md describes it."""
        before, after = map(_about, self.sides)
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "per": "second" if self.by_second else "run",
            "before": before,
            "after": after,
            "lost": self.total(),
            "remarks": self.remarks(),
            "locks": self.rows,
        }


def _tell_what_moved(rows: list[dict]) -> None:
    changes = [row["waited"]["after"] - row["waited"]["before"] for row in rows]
    for row, up in zip_equal(rows, changes):
        against = any(other * up < 0 for other in changes)
        if against and row["waited"]["verdict"] in (MORE, LESS) and not _is_used_otherwise(row):
            row["waited"]["verdict"] = MOVED


def _is_used_otherwise(row: dict) -> bool:
    """Whether what it is held for, or how often, has changed, too."""
    taken = row["acquisitions"]["before"], row["acquisitions"]["after"]
    is_taken_otherwise = None not in taken and max(taken) > ALIKE * min(taken)
    return row["hold_ns"]["verdict"] in (MORE, LESS) or is_taken_otherwise


def _may_be_held_otherwise(row: dict) -> bool:
    """Whether it is called moved, but nobody saw its holds, as from the kernel."""
    unseen = None in (row["hold_ns"]["before"], row["hold_ns"]["after"])
    return row["waited"]["verdict"] == MOVED and unseen


def _rank(row: dict) -> tuple:
    waited = row["waited"]
    size = abs(waited["after"] - waited["before"])
    return not row["lost"], -size, row["name"]
