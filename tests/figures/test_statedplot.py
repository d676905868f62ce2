"""statedplot.py: the numbers that a paper states beside ours."""

import math

import common
import rules
import statedplot
from claims import Claim, Part, claim
from rules import Interval

ROWS = [
    claim("up to 23 times", rules.number(23), {"tasks": Interval(4.4, 4.6, 4.7)}),
    claim("4 to 25 %", rules.spans(4, 25, neutral=0), {"small": 10.0}, unit=" %"),
    claim("slower", rules.less(), {"a": 0.5}),
    claim("on another machine", rules.number(23), {"tasks": 4.6}, beyond="another machine"),
    claim("none aborts", rules.number(0, neutral=None), {"a": 1.0}),
    claim("missing", rules.number(2), {"a": math.nan}),
]


def test_a_line_for_each_number_that_is_the_papers():
    number, span = statedplot.lines_of(ROWS)
    assert number.label == "up to 23 times: tasks 4.6x (4.4 to 4.7) (paper: 23x)"
    assert number.paper == (1, 1) and number.ours == (4.4 / 23, 4.6 / 23, 4.7 / 23)
    assert span.label == "4 to 25 %: small 10 % (paper: 4 to 25 %)"
    assert span.paper == (4 / 25, 1) and span.ours[1] == 10 / 25


def test_each_case_has_the_number_that_is_stated_for_it():
    part = Part(rules.number({"a": 2.0, "b": -4.0}, neutral=0), {"a": 1.0, "b": -5.0})
    first, second = statedplot.lines_of([Claim("two", [part])])
    assert (first.ours[1], second.ours[1]) == (0.5, 1.25)


def test_the_picture_is_written_and_goes_with_its_rows(tmp_path):
    path = tmp_path / "made_up.stated.svg"
    assert statedplot.draw("made_up", ROWS, path, common.need_matplotlib())
    picture = path.read_text()
    assert "<svg" in picture and "up to 23 times" in picture and "another" not in picture
    assert not statedplot.draw("made_up", ROWS[2:3], path, common.need_matplotlib())
    assert not path.exists()
    assert not statedplot.draw("made_up", ROWS[2:3], path, common.need_matplotlib())


def test_a_page_says_when_and_of_which_source(figure):
    results = common.Results(figure, [{"panel": "", "series": "fast", "x": 1, "operations": 3}])
    document = {"kind": "simulated", "date": "2026-01-02"}
    page = common.markdown(figure, results, "make", common.made(document | {"commit": "abc"}))
    assert "by `make` on 2026-01-02 (commit abc)." in page
    assert "its commit was not noted" in common.made(document)
    assert common.made(document | {"kind": "measured"}) == " on 2026-01-02"
