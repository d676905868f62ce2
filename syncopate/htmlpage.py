"""The report as one self-contained page: report_page.html with the data put in."""

import json
import os
from collections.abc import Iterator

from syncopate import timeline, waiting
from syncopate.analysis import Analysis

TEMPLATE = "report_page.html"
MARK = "@SYNCOPATE_DATA@"
MOST_SPANS = 20_000  # waits in one record's timeline; a page with more gets slow


def pieces(analyses: list[Analysis], document: dict) -> Iterator[str]:
    """The text of the page, in parts. `document` is what --json prints."""
    data = {
        **document,
        "timelines": [_timeline(analysis) for analysis in analyses],
        "costs": [waiting.sentences(results) for results in document["records"]],
    }
    return filled(os.path.join(os.path.dirname(__file__), TEMPLATE), data)


def filled(template: str, data: dict) -> Iterator[str]:
    """The text of a page whose template, a file, has MARK where its data go."""
    with open(template, encoding="utf-8") as file:
        before, after = file.read().split(MARK)
    yield before
    # A name may contain "</script>": inside a string, \u003c is the same character to JSON.
    yield json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    yield after


def _timeline(analysis: Analysis) -> dict:
    """The longest waits as rows of [thread index, start us, length us, name index, kind]."""
    total = sum(len(events) for events in analysis.waits.values())
    names: dict[str, int] = {}
    rows = []
    for span in timeline.longest(timeline.waits(analysis), MOST_SPANS):
        name = names.setdefault(span.lock, len(names))
        rows.append([span.thread, span.start_ns / 1000, span.length_ns / 1000, name, span.kind])
    return {"names": list(names), "rows": rows, "total": total}
