"""A profile in the Firefox Profiler's processed format, which profiler.firefox.com opens.

Each thread has its sampled waits twice: as samples, so that call tree and flame graph show who
waited, weighted by time, with the lock as the innermost frame; and as markers with their beginning
and end, as has each sampled hold. The format, of which this is version 61, is described in the
profiler's own pages for developers; the profiler reads every older version.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator

from syncopate.base.since import zip_equal
from syncopate.records import timeline
from syncopate.records.analysis import Analysis
from syncopate.records.recordformat import LOST_KINDS
from syncopate.records.selection import matcher
from syncopate.records.timeline import Span

VERSION = 61
GECKO_VERSION = 27  # of a browser's own profiles; told, and used for nothing here
INTERVAL = 1  # a marker's phase: has a beginning and an end
OTHER, LOST, IDLE, HELD = range(4)  # CATEGORIES
CATEGORIES = [
    {"name": "Other", "color": "grey", "subcategories": ["Other"]},
    {"name": "Waits for locks", "color": "red", "subcategories": ["Other"]},
    {"name": "Other waits", "color": "blue", "subcategories": ["Other"]},
    {"name": "Holds", "color": "green", "subcategories": ["Other"]},
]
NATIVE = 1  # a resource that is a library
SHOWN_IN = ["marker-chart", "marker-table", "timeline-overview"]


def _schema(name: str, label: str, fields: list[tuple[str, str]], stacked: bool) -> dict:
    return {
        "name": name,
        "tooltipLabel": label,
        "tableLabel": label,
        "chartLabel": "{marker.data.lock}",
        "display": SHOWN_IN,
        "fields": [
            {"key": key, "label": title, "format": "unique-string"} for key, title in fields
        ],
        "isStackBased": stacked,
    }


SCHEMAS = [
    _schema("Wait", "wait for {marker.data.lock}",
            [("lock", "Lock"), ("kind", "Kind"), ("holder", "Held by")], True),
    _schema("Hold", "hold of {marker.data.lock}", [("lock", "Lock")], False),
]  # fmt: skip


def pieces(analyses: list[Analysis], pattern: str | None) -> Iterator[str]:
    """The text of the profile, in parts; `pattern` keeps only locks whose names match."""
    wanted = matcher(pattern)
    tables = _Tables()
    offsets = timeline.offsets(analyses)
    yield f'{{"meta":{_packed(_meta(analyses))},"libs":[],"threads":['
    separator = ""
    for analysis, offset in zip_equal(analyses, offsets):
        for thread in _threads(analysis, offset, wanted, tables):
            yield separator + _packed(thread)
            separator = ",\n"
    yield f'],"shared":{_packed(tables.as_data())}}}\n'


def _packed(data) -> str:
    return json.dumps(data, separators=(",", ":"))


def _meta(analyses: list[Analysis]) -> dict:
    header = min((each.record.header for each in analyses), key=lambda of: of.start_realtime_ns)
    return {
        "interval": 1,
        "startTime": header.start_realtime_ns / 1e6,
        "product": os.path.basename(header.command[0]) if header.command else "program",
        "arguments": " ".join(header.command[1:])[:2000],
        "importedFrom": "Syncopate",
        "oscpu": "Linux",
        "platform": "Linux",
        "logicalCPUs": header.processors,
        "stackwalk": 1,
        "debug": False,
        "processType": 0,
        "version": GECKO_VERSION,
        "preprocessedProfileVersion": VERSION,
        "symbolicated": True,
        "symbolicationNotSupported": True,
        "usesOnlyOneStackType": True,
        "sourceCodeIsNotOnSearchfox": True,
        "categories": CATEGORIES,
        "markerSchema": SCHEMAS,
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
    }


class _Tables:
    """What all threads share: strings, functions, frames and stacks, each once."""

    def __init__(self):
        self.strings: dict[str, int] = {}
        self.sources: dict[str, int] = {}
        self.resources: dict[str, int] = {}
        self.functions: dict[tuple, int] = {}  # (name, module, file, category)
        self.frames: dict[tuple, int] = {}  # (function, line, category)
        self.stacks: dict[tuple[int, int | None], int] = {}  # (frame, prefix)

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def stack(self, frames: list, lock: str, category: int) -> int:
        """The index of a stack, whose frames are given innermost first, with a lock within them."""
        prefix = None
        for frame in reversed(frames):
            prefix = self._push(prefix, frame.function, frame.module, frame.file, frame.line, OTHER)
        return self._push(prefix, f"[{lock}]", "", "", 0, category)

    def _push(self, prefix, name: str, module: str, file: str, line: int, category: int) -> int:
        function = self.functions.setdefault((name, module, file), len(self.functions))
        for table, key in ((self.resources, module), (self.sources, file)):
            if key:
                table.setdefault(key, len(table))
        frame = self.frames.setdefault((function, line, category), len(self.frames))
        return self.stacks.setdefault((frame, prefix), len(self.stacks))

    def as_data(self) -> dict:
        functions = [
            (self.string(name), self.resources.get(module, -1), self.sources.get(file))
            for name, module, file in self.functions
        ]
        resources = [self.string(os.path.basename(module)) for module in self.resources]
        files = [self.string(file) for file in self.sources]
        frames = list(self.frames)
        some, none = len(functions), [None]
        return {
            "stackTable": {
                "frame": [frame for frame, _ in self.stacks],
                "prefix": [prefix for _, prefix in self.stacks],
                "length": len(self.stacks),
            },
            "frameTable": {
                "address": [-1] * len(frames),
                "inlineDepth": [0] * len(frames),
                "category": [category for _, _, category in frames],
                "subcategory": [0] * len(frames),
                "func": [function for function, _, _ in frames],
                "nativeSymbol": none * len(frames),
                "innerWindowID": none * len(frames),
                "line": [line or None for _, line, _ in frames],
                "column": none * len(frames),
                "length": len(frames),
            },
            "funcTable": {
                "name": [name for name, _, _ in functions],
                "isJS": [False] * some,
                "relevantForJS": [False] * some,
                "resource": [resource for _, resource, _ in functions],
                "source": [source for _, _, source in functions],
                "lineNumber": none * some,
                "columnNumber": none * some,
                "length": some,
            },
            "resourceTable": {
                "lib": none * len(resources),
                "name": resources,
                "host": none * len(resources),
                "type": [NATIVE] * len(resources),
                "length": len(resources),
            },
            "nativeSymbols": {
                "libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0,
            },
            "sources": {
                "id": none * len(files),
                "filename": files,
                "startLine": [1] * len(files),
                "startColumn": [1] * len(files),
                "sourceMapURL": none * len(files),
                "length": len(files),
            },
            "stringArray": list(self.strings),
        }  # fmt: skip


def _threads(
    analysis: Analysis, offset: int, wanted: Callable[[str], bool], tables: _Tables
) -> Iterator[dict]:
    header = analysis.record.header
    waits: dict[int, list[Span]] = {thread: [] for thread in analysis.threads}
    for span in timeline.waits(analysis):
        if wanted(span.lock):
            waits.setdefault(span.thread, []).append(span)
    holds: dict[int, list[Span]] = {}
    for span in timeline.holds(analysis):
        if wanted(span.lock):
            holds.setdefault(span.thread, []).append(span)
    process = {
        "processType": "default",
        "processName": os.path.basename(header.command[0]) if header.command else "program",
        "pid": str(header.process_id),
        "processStartupTime": offset / 1e6,
        "processShutdownTime": None,
        "registerTime": offset / 1e6,
        "unregisterTime": None,
        "pausedRanges": [],
        "showMarkersInTimeline": True,
    }
    for thread, of_thread in waits.items():
        of_thread.sort(key=lambda span: span.start_ns)
        known = analysis.thread_ids.get(thread, thread)
        yield {
            **process,
            "name": analysis.label(thread),
            "isMainThread": known == header.process_id,
            "tid": known,
            "samples": _samples(analysis, of_thread, offset, tables),
            "markers": _markers(analysis, of_thread, holds.get(thread, ()), offset, tables),
        }


def _stack_of(analysis: Analysis, span: Span, tables: _Tables) -> int:
    category = LOST if span.kind in LOST_KINDS else HELD if span.kind == "hold" else IDLE
    return tables.stack(analysis.frames_of(span.stack), span.lock, category)


def _samples(analysis: Analysis, waits: list[Span], offset: int, tables: _Tables) -> dict:
    """Waits, weighted by how long they and those that they stand for took."""
    return {
        "stack": [_stack_of(analysis, span, tables) for span in waits],
        "time": [(span.start_ns + offset) / 1e6 for span in waits],
        "weight": [span.length_ns * span.weight / 1e6 for span in waits],
        "weightType": "tracing-ms",
        "length": len(waits),
    }


def _markers(analysis: Analysis, waits, holds, offset: int, tables: _Tables) -> dict:
    spans = sorted([*waits, *holds], key=lambda span: span.start_ns)
    return {
        "name": [tables.string(_verb(span).lower()) for span in spans],
        "startTime": [(span.start_ns + offset) / 1e6 for span in spans],
        "endTime": [(span.start_ns + span.length_ns + offset) / 1e6 for span in spans],
        "phase": [INTERVAL] * len(spans),
        "category": [
            HELD if span.kind == "hold" else LOST if span.kind in LOST_KINDS else IDLE
            for span in spans
        ],
        "data": [_payload(analysis, span, offset, tables) for span in spans],
        "length": len(spans),
    }


def _verb(span: Span) -> str:
    return "Hold" if span.kind == "hold" else "Wait"


def _payload(analysis: Analysis, span: Span, offset: int, tables: _Tables) -> dict:
    """A marker's data: what its schema names, and where it began."""
    data = {
        "type": _verb(span),
        "lock": tables.string(span.lock),
        "cause": {
            "time": (span.start_ns + offset) / 1e6,
            "stack": _stack_of(analysis, span, tables),
        },
    }
    if span.kind != "hold":
        data["kind"] = tables.string(span.kind.replace("_", " "))
        if span.holder:
            data["holder"] = tables.string(analysis.holder_label(span.holder))
    return data
