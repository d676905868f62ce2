"""What the papers are known for: judged by all of its rows, each paper has some, each a reason."""

import tomllib

import pytest
from all import figures
from claims import claim
from common import PLACES, claims_of
from conftest import ROOT
from headlines import headlines
from rules import Verdict, less, more, number

from syncopate.base import compactjson

PAPERS = tomllib.loads((ROOT / "docs" / "papers.toml").read_text())["paper"]
ALL = figures()  # of all papers, imported once


def row(rule, value, **more_fields):
    return claim("said", rule, {"program": value}, "a reason", headline="known for", **more_fields)


@pytest.mark.parametrize(
    ("rows", "verdict", "why"),
    [
        ([row(more(), 2)], Verdict.REPRODUCED, ""),
        ([row(more(), 2), row(less(), 2)], Verdict.NOT, "a reason"),
        ([row(more(), 2), row(number(3), 2)], Verdict.DIRECTION, "a reason"),
        ([row(more(), 2, beyond="on a laptop")], Verdict.NOT, "not tested: on a laptop"),
    ],
)
def test_a_headline_is_as_good_as_its_worst_row(figure, rows, verdict, why):
    (found,) = headlines([(figure, rows[:1]), (figure, rows[1:])])
    assert found.verdict is verdict
    assert found.why == why
    assert found.figures == [figure]


def test_what_is_tested_is_shown_without_what_is_not(figure):
    rows = [row(more(), 2), row(more(), 3, beyond="on a laptop")]
    (found,) = headlines([(figure, rows)])
    assert found.verdict is Verdict.NOT
    assert found.ours == "program 2x; the rest not tested"
    (alone,) = headlines([(figure, rows[1:])])
    assert alone.ours == "not tested, but on a laptop: program 3x"


def of_paper(name: str):
    paper = next(each for each in PAPERS if each["name"] == name)
    documents = {
        each.name: compactjson.read((PLACES / each.kind / f"{each.name}.json").read_text())
        for each in ALL
        if each.name.startswith(paper["scripts"] + "_")
    }
    mine = [each for each in ALL if each.name in documents]
    return headlines([(each, claims_of(each, documents[each.name])) for each in mine])


@pytest.mark.parametrize("name", [paper["name"] for paper in PAPERS])
def test_every_headline_has_a_reason_where_it_is_not_reproduced(name):
    found = of_paper(name)
    assert found, "each paper is known for something"
    for each in found:
        assert each.ours and "no result" not in each.ours, each.states
        assert (each.verdict is Verdict.REPRODUCED) == (each.why == ""), each.states


WANTED = {
    "tsx-hpc": ["1.41x", "1.31x", "STAMP", "table 1"],
    "always-abort": ["ArrayBench", "2.5 times", "Kyoto Cabinet", "15 %"],
    "ruby-gil": ["1.9 to 4.4 times"],
    "mwait": ["23 times", "6 times"],
    "gcc-tm": ["within 30 %", "table 1", "table 2", "table 3", "table 4"],
}


@pytest.mark.parametrize("name", WANTED)
def test_what_each_paper_is_known_for_has_a_row(name):
    states = [each.states for each in of_paper(name)]
    for words in WANTED[name]:
        assert any(words in said for said in states), words
