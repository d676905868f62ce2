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


POINTS = [
    {
        "x": n,
        "lock": "mcs",
        "times": {"low": n / 3, "none": {}},
        "rounds": [{"a": i, "b": 1} for i in range(5)],
    }
    for n in range(5)
]


def test_tables_give_the_points_again():
    odd = [{"a": 1}, {"a": 1.0, "b": None}, {"b": {"c": {}}}, {"b": {"c": {"d": True}}}, {"a": 1}]
    empty = [{"a": "", "b": n, "c": "long"} for n in (1, 1, 2, 2)]
    alike = [
        {"a": "as above", "b": n, "c": c} for n, c in ((1.5, 1), (1.5, 1.0), (1, True), (1, 1))
    ]
    ways = (POINTS, odd, empty, alike, [{"dots.in": 1}] * 4, [{"a": compactjson.ABSENT}] * 4)
    for points in (*ways, POINTS[:3]):
        document = {"date": "today", "runs": points, "deep": {"more": [points]}}
        again = compactjson.read(compactjson.tables(document))
        assert json.dumps(again) == json.dumps(compactjson.rounded(document))


def test_what_is_as_in_the_line_above_is_said_once():
    points = [{"panel": "of a long name" if n < 4 else "another", "x": n} for n in range(6)]
    text = compactjson.tables({"runs": points})
    assert text.count("of a long name") == text.count("another") == 1 and '["",3]' in text
    assert compactjson.read(text)["runs"] == points
    points[5]["panel"] = ""
    text = compactjson.tables({"runs": points})
    assert text.count("of a long name") == 4 and compactjson.read(text)["runs"] == points


def test_a_table_says_once_what_all_points_share():
    text = compactjson.tables({"runs": POINTS})
    assert text.count('"lock"') == 2 and text.count("mcs") == 1
    assert len(text.splitlines()) == 2 + 2 + 2 + len(POINTS) + 2
    assert "0.333333" in text and "0.3333333" not in text
