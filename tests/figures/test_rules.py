"""The rules by which statements of the papers are judged: planted values, both sides of each
border."""

import math

import pytest
import rules
from rules import KINDS, Interval, Verdict, gained
from rules import Verdict as V

# A rule, values that are just reproduced, values that are just not, and what these are instead.
BORDERS = [
    # 41 % more, a quarter each way: 30.75 to 51.25 %.
    (rules.number(1.41), [1.308, 1.512], [(1.307, V.DIRECTION), (1.513, V.DIRECTION)]),
    (rules.number(1.41), [1.41], [(1.0, V.NOT), (0.99, V.NOT)]),
    (rules.number(1.17), [1.13, 1.21], [(0.95, V.NOT), (2.30, V.DIRECTION)]),
    (rules.number(0.5), [0.376, 0.624], [(0.374, V.DIRECTION), (0.626, V.DIRECTION), (1.1, V.NOT)]),
    (rules.number(23), [17.5, 28.5], [(17.4, V.DIRECTION), (28.6, V.DIRECTION), (0.9, V.NOT)]),
    (rules.number(15, neutral=0), [11.25, 18.75], [(11.2, V.DIRECTION), (-1, V.NOT)]),
    (rules.number(5000, neutral=None), [3750, 6250], [(3749, V.NOT), (6251, V.NOT)]),
    (rules.number(0, neutral=None, printed=1), [0, 0.5], [(0.51, V.NOT)]),
    (rules.number(1, neutral=None, printed=1), [0.5, 1.5], [(0.49, V.NOT), (1.51, V.NOT)]),
    (rules.number(88, neutral=None, printed=1), [66, 110], [(65.9, V.NOT), (110.1, V.NOT)]),
    (rules.inside(3, 4), [3, 4], [(2, V.NOT), (5, V.NOT)]),
    (rules.more(), [1.001], [(1.0, V.NOT), (0.999, V.NOT)]),
    (rules.less(), [0.999], [(1.0, V.NOT), (1.001, V.NOT)]),
    (rules.more(clearly=True), [1.101], [(1.099, V.DIRECTION), (1.0, V.NOT)]),
    (rules.less(clearly=True), [0.899], [(0.901, V.DIRECTION), (1.0, V.NOT)]),
    (rules.more(neutral=0), [0.01], [(-0.01, V.NOT)]),
    (rules.no_gain(), [1.1, 0.2], [(1.101, V.NOT)]),
    (rules.no_loss(), [0.9, 3], [(0.899, V.NOT)]),
    (rules.equal(), [0.9, 1.1], [(0.899, V.NOT), (1.101, V.NOT), (1.4, V.NOT)]),
    (rules.best(), [1.0, 2], [(0.999, V.NOT)]),
    (rules.best(near=True), [0.9], [(0.899, V.NOT)]),
]


@pytest.mark.parametrize(
    ("rule", "good", "bad"), BORDERS, ids=lambda each: getattr(each, "text", "")
)
def test_both_sides_of_the_border(rule, good, bad):
    for value in good:
        assert rule.verdict({"program": value}) is Verdict.REPRODUCED, value
    for value, verdict in bad:
        assert rule.verdict({"program": value}) is verdict, value


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((15, 20, 27), V.REPRODUCED),
        ((11.25, 33.75), V.REPRODUCED),
        ((49, 108), V.DIRECTION),  # beyond the upper end is no agreement
        ((15, 16), V.DIRECTION),  # the upper end is not reached
        ((11.2, 27), V.DIRECTION),
        ((15, 33.8), V.DIRECTION),
        ((-1, 27), V.NOT),
    ],
)
def test_a_range_has_both_ends(values, verdict):
    named = {f"case {i}": value for i, value in enumerate(values)}
    assert rules.spans(15, 27, neutral=0).verdict(named) is verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [((3, 2, 1), V.REPRODUCED), ((3, 2, 2), V.NOT), ((1, 2, 3), V.NOT)],
)
def test_an_order(values, verdict):
    named = {f"case {i}": value for i, value in enumerate(values)}
    assert rules.order().verdict(named) is verdict


TCP = {"netferret": 4.54, "netdedup": 0.999, "netstreamcluster": 0.787}


def test_all_means_each_of_them():
    assert rules.more().verdict(TCP) is Verdict.NOT, "their mean is 1.53"
    assert rules.more().failing(TCP) == ["netdedup", "netstreamcluster"]
    assert rules.more().verdict(TCP | {"netdedup": 1.1, "netstreamcluster": 1.2}) is V.REPRODUCED
    assert rules.number({"a": 2, "b": 5}).verdict({"a": 2, "b": 5}) is Verdict.REPRODUCED
    assert rules.number({"a": 2, "b": 5}).verdict({"a": 5, "b": 5}) is Verdict.DIRECTION


def test_most_is_more_than_half_and_almost_all_nine_of_ten():
    def of(good: int, bad: int) -> dict:
        return {f"good {i}": 2 for i in range(good)} | {f"bad {i}": 0.5 for i in range(bad)}

    most, almost_all = rules.most(rules.more()), rules.almost_all(rules.more())
    assert most.verdict(of(3, 2)) is Verdict.REPRODUCED
    assert most.verdict(of(2, 2)) is Verdict.NOT
    assert almost_all.verdict(of(9, 1)) is Verdict.REPRODUCED
    assert almost_all.verdict(of(8, 2)) is Verdict.NOT


def test_of_most_cases_as_many_are_on_the_stated_side():
    rule = rules.most(rules.more(clearly=True))
    cases = {"a": 1.05, "b": 1.05, "c": 1.05, "d": 0.5, "e": 0.5}
    assert rule.verdict(cases) is Verdict.DIRECTION
    assert rule.verdict(cases | {"c": 0.5}) is Verdict.NOT
    assert rules.more(clearly=True).verdict(cases) is Verdict.NOT  # of every case


def test_intervals():
    around = Interval(0.95, 1.2, 1.3)
    assert rules.more().verdict({"a": around}) is Verdict.NOT, "not on one side"
    assert rules.more().verdict({"a": Interval(1.01, 1.2, 1.3)}) is Verdict.REPRODUCED
    assert rules.less().verdict({"a": Interval(0.8, 0.9, 1.01)}) is Verdict.NOT
    assert rules.best().verdict({"a": Interval(0.8, 0.9, 1.01)}) is Verdict.REPRODUCED
    assert rules.best().verdict({"a": Interval(0.8, 0.9, 0.99)}) is Verdict.NOT
    assert rules.number(1.2).verdict({"a": around}) is Verdict.REPRODUCED, "by its middle"
    assert rules.number(3).verdict({"a": around}) is Verdict.NOT
    assert rules.no_gain().verdict({"a": Interval(1, 1.05, 1.11)}) is Verdict.NOT
    assert rules.no_loss().verdict({"a": Interval(0.89, 0.95, 1)}) is Verdict.NOT
    assert rules.equal().verdict({"a": Interval(0.8, 1, 1.2)}) is Verdict.REPRODUCED
    assert gained(Interval(1.1, 1.2, 1.3)) == pytest.approx((10, 20, 30))


EVERY = [rule for rule, *_ in BORDERS] + [rules.spans(1, 2), rules.order()]


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.text)
def test_no_result_is_no_agreement(rule):
    assert rule.verdict({}) is Verdict.NOT
    assert rule.verdict({"a": math.nan}) is Verdict.NOT
    assert rule.verdict({"a": 1, "b": math.nan}) is Verdict.NOT


def test_every_kind_has_a_reason_and_is_tested():
    assert {rule.kind for rule in EVERY} | {"all"} == set(KINDS)
    for kind in KINDS:
        assert rules.RULES[kind]
