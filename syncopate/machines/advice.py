"""What to do about a lock, from what its critical sections read, wrote and called."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, field

from syncopate.base.units import percent, several

# A section whose transaction aborts runs again: at this share, four times for three sections.
COMMITS_OFTEN = 0.7
# Pairs of sections; rarer ones are seldom worth a change of the program.
WORTH_A_CHANGE = 0.1
# Of the pairs that conflict: one field that alone explains them is worth naming.
MOSTLY = 0.5
# Sections that only read: then six of ten pairs can run together under a reader-writer lock.
READ_MOSTLY = 0.8

_INDEX = re.compile(r"\[\d+\]")
WOULD_ELIDE, SHARD, FALSE_SHARING = "would elide", "shard on this field", "false sharing"
READERS_WRITER, LEAVE_IT = "read mostly: a reader-writer lock", "leave it"


@dataclass
class Verdict:
    """One line of advice: what to do, why, and the source lines it is about."""

    verdict: str
    text: str
    fields: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)


@dataclass
class Lock:
    """A lock of a sections report (docs/advise.md), with shares instead of counts."""

    counts: dict

    def __post_init__(self):
        counts = self.counts
        self.name, self.sections, self.pairs = counts["name"], counts["sections"], counts["pairs"]
        self.conflicting = _share(counts["conflicting"], self.pairs)
        self.sharing = _share(counts["sharing_lines"], self.pairs)
        self.friendly = _share(counts["friendly"], self.sections)

    def commits(self, without: float = 0.0) -> float:
        """The share of sections that commit beside one other; `without` these shares of pairs."""
        met = max(0.0, self.conflicting + self.sharing - without)
        return self.friendly * (1 - met)

    def share(self, count: str) -> float:
        """`count` of the sections."""
        return _share(self.counts[count], self.sections)


def verdicts(lock: Lock) -> list[Verdict]:
    """What can be done, what needs the least work first; never empty."""
    if lock.counts["threads"] < 2:
        return [Verdict(LEAVE_IT, "only one thread takes it")]
    if lock.counts["shared"] == lock.sections:
        return [Verdict(LEAVE_IT, "its sections take it shared, and already run together")]
    if lock.pairs == 0:
        return [Verdict(LEAVE_IT, _why_no_pair(lock))]
    if lock.share("calling") >= 1 - COMMITS_OFTEN:
        return [_move_calls(lock)]
    found = [rule(lock) for rule in (_elide, _false_sharing, _shard, _readers_writer)]
    return [each for each in found if each] or [_leave(lock)]


def as_data(counts: dict) -> dict:
    """The lock with its shares and verdicts, for JSON."""
    lock = Lock(counts)
    shares = {
        "conflicting_share": lock.conflicting,
        "sharing_share": lock.sharing,
        "would_commit_share": lock.commits(),
    }
    return {**counts, **shares, "advice": [asdict(each) for each in verdicts(lock)]}


def _elide(lock: Lock) -> Verdict | None:
    if lock.commits() < COMMITS_OFTEN:
        return None
    text = f"{percent(lock.commits())} of its sections would commit"
    return Verdict(WOULD_ELIDE, text, places=taken_at(lock))


def _false_sharing(lock: Lock) -> Verdict | None:
    if lock.sharing < WORTH_A_CHANGE or not lock.counts["shared_lines"]:
        return None
    elements: dict[frozenset[str], list[dict]] = {}  # of arrays: all that share lines are one case
    for each in lock.counts["shared_lines"]:
        names = frozenset(_INDEX.sub("[]", each[side]) for side in ("first", "second"))
        elements.setdefault(names, []).append(each)
    most = max(elements.values(), key=lambda those: sum(each["pairs"] for each in those))
    alone = _share(sum(each["alone"] for each in most), lock.pairs)
    pairs = min(lock.sharing, _share(sum(each["pairs"] for each in most), lock.pairs))
    names = [_INDEX.sub("[]", most[0][side]) for side in ("first", "second")]
    if len(most) == 1:
        names = [most[0]["first"], most[0]["second"]]
    which = f"between {names[0]} and {names[1]}" if names[0] != names[1] else f"among {names[0]}"
    text = (
        f"{which}, in {percent(pairs)} of pairs; on lines of their own,"
        f" {percent(lock.commits(alone))} would commit"
    )
    return Verdict(FALSE_SHARING, text, _distinct(names), met_at(most[0]))


def _shard(lock: Lock) -> Verdict | None:
    if lock.conflicting < WORTH_A_CHANGE or _readers_writer(lock):
        return None
    most = max(lock.counts["conflicts"], key=lambda each: each["alone"], default=None)
    if most is None or _share(most["alone"], lock.counts["conflicting"]) < MOSTLY:
        return None
    alone = _share(most["alone"], lock.pairs)
    text = (
        f"{most['field']}; {percent(alone)} of pairs conflict there alone;"
        f" without it, {percent(lock.commits(alone))} would commit"
    )
    return Verdict(SHARD, text, [most["field"]], met_at(most))


def _readers_writer(lock: Lock) -> Verdict | None:
    only_reads = lock.share("read_only")
    if only_reads < READ_MOSTLY or lock.counts["shared"] > 0:
        return None
    writes = lock.counts["conflicts"][:1]
    return Verdict(
        READERS_WRITER,
        f"{percent(only_reads)} of its sections write nothing shared",
        [each["field"] for each in writes],
        _places_of(writes) or taken_at(lock),
    )


def _move_calls(lock: Lock) -> Verdict:
    calls = lock.counts["calls"]
    text = (
        f"{percent(lock.share('calling'))} of its sections call {_called(lock)},"
        " which no transaction survives; move that out of the section first"
    )
    return Verdict(LEAVE_IT, text, places=_distinct(each["place"] for each in calls))


def _called(lock: Lock) -> str:
    return ", ".join(_distinct(each["function"] for each in lock.counts["calls"]))


def _leave(lock: Lock) -> Verdict:
    """Says what is in the way."""
    if lock.share("too_large") >= 1 - COMMITS_OFTEN:
        lines = lock.counts["written_lines"]
        text = (
            f"{percent(lock.share('too_large'))} of its sections exceed what a transaction holds"
            f" ({lines['median']} lines written in the median, {lines['p99']} in one of a hundred)"
        )
        if lock.conflicting < WORTH_A_CHANGE:
            text += (
                f"; {percent(lock.conflicting)} of pairs conflict: a lock for each part would do"
            )
        return Verdict(LEAVE_IT, text, places=taken_at(lock))
    conflicts = lock.counts["conflicts"][:3]
    fields = [each["field"] for each in conflicts]
    where = f", on {', '.join(fields)}" if fields else ""
    text = f"{percent(lock.conflicting)} of pairs conflict{where}"
    if lock.conflicting < WORTH_A_CHANGE:
        text = _all_in_the_way(lock, text)
    elif left_out := lock.counts["meetings_left_out"]:
        text += f"; the fields of {several(left_out, 'meeting')} are not known"
    else:
        text += ": no single field explains them"
    return Verdict(LEAVE_IT, text, fields, _distinct(_places_of(conflicts)))


def _all_in_the_way(lock: Lock, conflicts: str) -> str:
    """Where nothing alone is worth a change: what keeps sections from committing, all of it."""
    calling, too_large = lock.share("calling"), lock.share("too_large")
    ways = {
        f"{percent(calling)} of its sections call {_called(lock)}": calling,
        f"{percent(too_large)} of its sections exceed what a transaction holds": too_large,
        conflicts: lock.conflicting,
        f"{percent(lock.sharing)} of pairs only share lines": lock.sharing,
    }
    found = "; ".join(text for text, share in ways.items() if share)
    return f"{percent(lock.commits())} of its sections would commit: {found}"


def _why_no_pair(lock: Lock) -> str:
    """Sections of several threads, none of which was compared with another's."""
    if lock.counts["locks"] > 1:
        return "no section of two threads was compared: each of its locks may be one thread's"
    return "no section of two threads was compared: too much lay between them"


def _places_of(conflicts: list[dict]) -> list[str]:
    return [place for each in conflicts for place in met_at(each)]


def taken_at(lock: Lock) -> list[str]:
    """Where the lock is taken, most often first."""
    return _distinct(each["place"] for each in lock.counts["taken_at"])


def met_at(meetings: dict) -> list[str]:
    """The accesses that met, most often first."""
    count = Counter()
    for each in meetings["met_at"]:
        for place in {each["first"], each["second"]}:
            count[place] += each["count"]
    return [place for place, _ in count.most_common()]


def _distinct(names) -> list[str]:
    return list(dict.fromkeys(names))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
