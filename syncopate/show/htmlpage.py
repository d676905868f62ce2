"""Reports and comparisons as self-contained pages: a template of page/ with the data put in."""

import json
import os
import re
from collections.abc import Iterator

from syncopate.base.units import percent
from syncopate.records import account, timeline, waiting
from syncopate.records.analysis import Analysis
from syncopate.records.comparison import Comparison
from syncopate.records.lockfigures import named_processors
from syncopate.show import lockcolumns, openwaittext, runtext, textreport

FOLDER = os.path.join(os.path.dirname(__file__), "page")
MARK = "@SYNCOPATE_DATA@"
_INCLUDE = re.compile(r"^@INCLUDE (\S+)@$", re.MULTILINE)
SHOWN = ("waits", "hold", "waiters")  # of a lock, in a comparison
MOST_SPANS = 20_000  # waits in one record's timeline; a page with more gets slow


def pieces(analyses: list[Analysis], document: dict, extras: dict) -> Iterator[str]:
    """The text of the report's page, in parts. `document` is what --json prints, `extras` what
    reportextras.py adds to it."""
    data = {
        **document,
        **extras,
        "columns": lockcolumns.on_page(),
        "timelines": [_timeline(analysis) for analysis in analyses],
        "costs": [
            [*_perhaps(results), *account.lines(results), *waiting.sentences(results)]
            for results in document["records"]
        ],
        "ran_with": [textreport.ran_with(results) for results in document["records"]],
        "processors": [named_processors(results) for results in document["records"]],
        "open": [openwaittext.sentences(results) for results in document["records"]],
    }
    return filled(os.path.join(FOLDER, "report.html"), data)


def _perhaps(results: dict) -> Iterator[str]:
    """Where there may be more that is lost to locks than is counted."""
    if perhaps := account.perhaps_other(results):
        yield f"Lost to locks: {percent(results['lost_share'])}{perhaps}"


def comparison(of: Comparison) -> Iterator[str]:
    """The text of a comparison's page, in parts."""
    compared = of.as_data()
    pairs = [[lock and {key: lock[key] for key in SHOWN} for lock in pair] for pair in of.pairs]
    ran_with = {side: runtext.ran_with(compared[side]) for side in ("before", "after")}
    data = {**compared, "rows": compared["locks"], "locks": pairs, "ran_with": ran_with}
    return filled(os.path.join(FOLDER, "diff.html"), data)


def filled(template: str, data: dict) -> Iterator[str]:
    """The text of a page whose template, a file, has MARK where its data go, and may have lines
    that name files of FOLDER to put in their place."""
    before, after = _text(template).split(MARK)
    yield before
    # A name may contain "</script>": inside a string, \u003c is the same character to JSON.
    yield json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    yield after


def _text(template: str) -> str:
    with open(template, encoding="utf-8") as file:
        text = file.read()
    return _INCLUDE.sub(lambda found: _text(os.path.join(FOLDER, found[1])).rstrip("\n"), text)


def _timeline(analysis: Analysis) -> dict:
    """The longest waits as rows of [thread index, start us, length us, name index, kind]."""
    total = sum(len(events) for events in analysis.waits.values())
    names: dict[str, int] = {}
    rows = []
    for span in timeline.longest(timeline.waits(analysis), MOST_SPANS):
        name = names.setdefault(span.lock, len(names))
        rows.append([span.thread, span.start_ns / 1000, span.length_ns / 1000, name, span.kind])
    return {"names": list(names), "rows": rows, "total": total}
