"""What the papers are known for: how far ours are, and that each has a figure and a result."""

import json
import math
import tomllib

import pytest
from all import figures
from common import PLACES, results_of
from conftest import ROOT
from headlines import HEADLINES, factor


@pytest.mark.parametrize(
    ("stated", "ours", "apart"),
    [
        ((2.5, 2.5), (1.25, 1.25), 2),
        ((2.5, 2.5), (5, 5), 2),
        ((3, 4), (3, 3), 1),
        ((3, 4), (8, 8), 2),
        ((2, 4), (2, 2.5), 1.6),  # two numbers: end by end
        ((2, 4), (1, 4), 2),
        ((0, 0), (0, 0), 1),
        ((0, 0), (7, 7), math.inf),
        ((15, 15), (-1, -1), math.inf),
        ((3, 3), (math.nan, math.nan), math.inf),
    ],
)
def test_factor(stated, ours, apart):
    assert factor(stated, ours) == pytest.approx(apart)


def test_every_paper_has_a_headline():
    papers = tomllib.loads((ROOT / "docs" / "papers.toml").read_text())["paper"]
    assert {each.paper for each in HEADLINES} == {paper["name"] for paper in papers}


@pytest.mark.parametrize("headline", HEADLINES, ids=lambda each: each.states)
def test_every_headline_has_a_result_and_a_reason_where_it_differs(headline):
    figure = next(each for each in figures() if each.name == headline.figure)
    data = PLACES / figure.kind / f"{figure.name}.json"
    low, high = headline.ours(results_of(figure, json.loads(data.read_text())))
    assert low <= high
    assert factor(headline.stated, (low, high)) == 1 or headline.why
