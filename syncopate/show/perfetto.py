"""A trace in Chrome's JSON format, which ui.perfetto.dev opens.

Waits are slices of their thread. Slices of one track must nest, and holds need not (two locks may
be released in the order they were taken), so holds lie in tracks of their own, as many as needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from syncopate.base.since import zip_equal
from syncopate.records import timeline
from syncopate.records.analysis import Analysis
from syncopate.records.selection import matcher
from syncopate.records.timeline import Span

HOLD_TRACK = 1 << 24  # above any kernel thread id, below what a double keeps exactly
LANES = 64


def pieces(analyses: list[Analysis], pattern: str | None) -> Iterator[str]:
    """The text of the trace, in parts; `pattern` keeps only locks whose names match."""
    wanted = matcher(pattern)
    yield '{"displayTimeUnit":"ns","traceEvents":[\n'
    separator = ""
    for analysis, offset in zip_equal(analyses, timeline.offsets(analyses)):
        for event in _events(analysis, offset, wanted):
            yield separator + json.dumps(event, separators=(",", ":"))
            separator = ",\n"
    yield "\n]}\n"


def _events(analysis: Analysis, offset: int, wanted) -> Iterator[dict]:
    header = analysis.record.header
    process = header.process_id
    yield _name(process, 0, "process_name", " ".join(header.command)[:200])
    for thread, thread_id in analysis.thread_ids.items():
        yield _name(process, thread_id, "thread_name", analysis.label(thread))
    for span in timeline.waits(analysis):
        if wanted(span.lock):
            track = analysis.thread_ids.get(span.thread, span.thread)
            yield _slice(analysis, span, track, offset)
    named: set[int] = set()
    busy: dict[int, list[int]] = {}  # thread to the end of the last hold in each of its lanes
    for span in sorted(timeline.holds(analysis), key=lambda span: span.start_ns):
        if not wanted(span.lock):
            continue
        thread_id = analysis.thread_ids.get(span.thread, span.thread)
        lane = _lane(busy.setdefault(span.thread, []), span)
        track = HOLD_TRACK + thread_id * LANES + lane
        if track not in named:
            named.add(track)
            yield _name(process, track, "thread_name", f"{analysis.label(span.thread)} holds")
        yield _slice(analysis, span, track, offset)


def _lane(ends: list[int], span: Span) -> int:
    """The first lane that is free when `span` begins; the last one when all are taken."""
    end = span.start_ns + span.length_ns
    for lane, free_at in enumerate(ends):
        if free_at <= span.start_ns or lane == LANES - 1:
            ends[lane] = end
            return lane
    ends.append(end)
    return len(ends) - 1


def _name(process: int, thread: int, what: str, name: str) -> dict:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": {"name": name}}


def _slice(analysis: Analysis, span: Span, track: int, offset: int) -> dict:
    stack = [frame.function for frame in analysis.frames_of(span.stack)]
    verb = "hold" if span.kind == "hold" else "wait"
    return {
        "ph": "X",
        "pid": analysis.record.header.process_id,
        "tid": track,
        "ts": (span.start_ns + offset) / 1000,
        "dur": span.length_ns / 1000,
        "cat": span.kind,
        "name": f"{verb} {span.lock}",
        "args": {"lock": span.lock, "kind": span.kind, "stack": stack},
    }
