"""What a record says of transactions, by places that begin them: docs/reference/report-schema.md.

Sites that read alike (a transaction that was inlined in several places) are one entry.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from syncopate.base.since import zip_equal
from syncopate.records.analysis import Analysis
from syncopate.records.naming import telling, wrapper_frames
from syncopate.records.recordformat import (
    ABORT_CAUSES,
    ALONE_REASONS,
    TRANSACTIONS,
    SiteRow,
    UnsafeCall,
)
from syncopate.symbols.nextcall import next_call
from syncopate.symbols.symbols import Frame

CONFLICTS_KEPT = 20  # of one site; the most frequent
BEYOND = "(sites beyond the table)"


class Sites:
    """The transactions of one record."""

    def __init__(self, analysis: Analysis):
        self.of = analysis
        self.sites = analysis.record.sites()
        self.frames = {site: self._frames(*entry) for site, entry in self.sites.items() if site}
        self.names = {site: self._name(frames) for site, frames in self.frames.items()}

    def as_data(self) -> dict | None:
        """None for a record that is not of transactions."""
        header = self.of.record.header
        if header.wait != TRANSACTIONS:
            return None
        rows: dict[str, list[SiteRow]] = defaultdict(list)
        ids: dict[str, int] = {}
        for row in self.of.record.site_rows():
            rows[self.name(row.site)].append(row)
            ids.setdefault(self.name(row.site), row.site)
        conflicts, unsafe = self._conflicts(), self._unsafe_calls()
        sites = [
            self._site(name, ids[name], rows[name])
            | {"conflicts": conflicts.get(name, [])[:CONFLICTS_KEPT]}
            | {"unsafe_calls": unsafe.get(name, [])}
            for name in rows
        ]
        sites.sort(key=lambda site: (-site["wasted_ns"] - site["alone_ns"], -site["started"]))
        return {"algorithm": header.lock, "sites": sites}

    def name(self, site: int) -> str:
        return self.names.get(site, BEYOND)

    def _frames(self, address: int, stack: int) -> list[Frame]:
        """The site's frames, innermost first: those of its stack, or of its address alone."""
        return self.of.frames_of(stack) or self.of.symbolizer.frames(address)

    @staticmethod
    def _name(frames: list[Frame]) -> str:
        frame = telling(frames)
        if frame is None:
            return BEYOND
        return f"{frame.function} at {frame.place()}" if frame.file else frame.function

    def _site(self, name: str, site: int, rows: list[SiteRow]) -> dict:
        def total(field: str) -> int:
            return sum(getattr(row, field) for row in rows)

        frame = telling(self.frames.get(site, []))
        aborts = _by_name(ABORT_CAUSES, (row.aborts for row in rows))
        measured = total("measured")
        return {
            "name": name,
            "function": frame.function if frame else "",
            "file": frame.file if frame else "",
            "line": frame.line if frame else 0,
            "threads": len({row.thread for row in rows}),
            "started": total("started"),
            "committed": total("committed"),
            "canceled": total("canceled"),
            "hardware": total("hardware"),
            "retries": sum(aborts.values()),
            "most_retries": max(row.most_retries for row in rows),
            "aborts": aborts,
            "alone": _by_name(ALONE_REASONS, (row.alone for row in rows)),
            "read_set": _size(measured, total("reads"), max(row.most_reads for row in rows)),
            "write_set": _size(measured, total("writes"), max(row.most_writes for row in rows)),
            "waited_ns": self.of.ns(total("waited")),
            "run_ns": self.of.ns(total("run")),
            "wasted_ns": self.of.ns(total("wasted")),
            "alone_ns": self.of.ns(total("run_alone")),
        }

    def _conflicts(self) -> dict[str, list[dict]]:
        """By the name of the site that lost; most frequent first."""
        times: Counter[tuple[str, str, str | None, str]] = Counter()
        stacks: dict[tuple, int] = {}
        for conflict in self.of.record.conflicts():
            winner = self.name(conflict.winner) if conflict.winner else None
            where = self._variable(conflict.address)
            key = (self.name(conflict.site), where, winner, ABORT_CAUSES[conflict.cause])
            times[key] += conflict.times
            stacks[key] = stacks.get(key) or conflict.stack
        found: dict[str, list[dict]] = defaultdict(list)
        for key, count in times.most_common():
            loser, where, winner, cause = key
            entry = {"address": where, "winner": winner, "cause": cause, "times": count}
            found[loser].append(entry | {"stack": self._stack(stacks[key])})
        return found

    def _variable(self, address: int) -> str:
        """The variable at an address and the offset in it, else the address; "" when unknown."""
        if address == 0:
            return ""
        variable = self.of.symbolizer.variable(address)
        if variable is None:
            return f"{address:#x}"
        name, offset, _ = variable
        return name + (f"+{offset:#x}" if offset else "")

    def _unsafe_calls(self) -> dict[str, list[dict]]:
        """By the name of the site; most frequent first."""
        found: dict[str, list[dict]] = defaultdict(list)
        calls = sorted(self.of.record.unsafe_calls(), key=lambda call: -call.times)
        for call in calls:
            entry = {
                "asked_by": "program" if call.caller else "algorithm",
                "function": self._function(call),
                "times": call.times,
                "switches": call.switches,
                "stack": self._stack(call.stack) or self._plain(call.caller),
            }
            found[self.name(call.site)].append(entry)
        return {name: _add_alike(entries) for name, entries in found.items()}

    def _function(self, call: UnsafeCall) -> str | None:
        """What is called: through a pointer, or next behind the request to be irrevocable."""
        if call.called:
            return self.of.symbolizer.frames(call.called + 1)[0].function.removesuffix("+0x0")
        code = self.of.symbolizer.code(call.caller) if call.caller else None
        return next_call(*code) if code else None

    def _stack(self, stack: int) -> list[dict]:
        frames = self.of.frames_of(stack)
        return [frame.as_data() for frame in frames[wrapper_frames(frames) :]]

    def _plain(self, caller: int) -> list[dict]:
        return [frame.as_data() for frame in self.of.symbolizer.frames(caller)] if caller else []


def _by_name(names: tuple[str, ...], rows: Iterable[tuple[int, ...]]) -> dict[str, int]:
    sums = [sum(column) for column in zip_equal(*rows)]
    return dict(zip_equal(names, sums))


def _size(measured: int, entries: int, most: int) -> dict | None:
    """Sizes of logs at commits; None where no commit had any."""
    return {"mean": entries / measured, "max": most} if measured else None


def _add_alike(entries: list[dict]) -> list[dict]:
    """Threads have a row each: adds up those of one function and one stack."""
    alike: dict[tuple, dict] = {}
    for entry in entries:
        key = (
            entry["asked_by"],
            entry["function"],
            tuple(tuple(frame.values()) for frame in entry["stack"]),
        )
        known = alike.setdefault(key, entry | {"times": 0, "switches": 0})
        known["times"] += entry["times"]
        known["switches"] += entry["switches"]
    return sorted(alike.values(), key=lambda entry: -entry["times"])
