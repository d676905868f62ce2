"""syncopate/base/compactjson.py: one line for each point, and nothing lost."""

import json

import pytest

from syncopate.base import compactjson


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        7,
        {"runs": []},
        {"by threads": {1: [1], 2: []}, 8: {True: [None]}, None: 0.5},
        {"date": "2026", "runs": [{"x": 1, "deep": {"a": [1, [2]]}}, {"x": 2.5, "none": None}]},
        {"of": {"a": {"b": 1}, "c": [1]}, 'quoted " key': "line\nbreak", "flat": {"a": 1}},
        [{"a": 1}, {"b": [{"c": 2}]}],
    ],
)
def test_nothing_is_lost(document):
    assert json.loads(compactjson.lines(document)) == json.loads(json.dumps(document))


def test_one_line_for_each_point():
    text = compactjson.lines(
        {"date": "today", "runs": [{"x": n, "y": {"z": [n]}} for n in range(9)]}
    )
    assert text.endswith("}\n")
    assert len(text.splitlines()) == 2 + 2 + 9 + 1
