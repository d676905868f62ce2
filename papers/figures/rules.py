"""When our numbers count as what a paper states: one rule for each kind of statement, with its
reason. docs/papers.md shows RULES; nothing else decides a verdict.

A statement is held against a value for each case that it names: a program, or a program and where
it ran ("genome: 8 threads"). Every case counts, unless the statement itself says "most" or "almost
all"; there is no mean that a case could hide behind, unless the paper states a mean, and then its
parts are a part of the row.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

NUMBER_WITHIN = 0.25
EQUAL_WITHIN = 0.10
MOST, ALMOST_ALL = 0.5, 0.9


class Verdict(Enum):
    REPRODUCED = "reproduced"
    DIRECTION = "direction only"
    NOT = "not reproduced"


class Interval(NamedTuple):
    """A value over several seeds."""

    low: float
    middle: float
    high: float


Value = float | Interval
Values = Mapping[str, Value]
RULES = {
    "number": "within 25 %, both sides. A factor is judged by what it gains: 1.41x means 41 % more,"
    " and is met by 31 to 51 %. What is"
    " printed with few digits is met by what rounds to it: a table's 0 is anything up to 0.5.",
    "range": "the smallest of several cases and the largest are the paper's, each as a number. One"
    ' that only bounds ("by four threads", "below 2 %") has every case inside.',
    "order": "each value is above the next.",
    "sign": 'on the stated side of "no difference"; with a word such as "significantly", "a lot",'
    ' "much" or "drastically" by more than 10 %, where "about equal" ends. "No gain" and "no loss"'
    " are the same from the other side, with the same 10 %.",
    "equal": 'within 10 %, both sides: "comparable", "very similar", "on a par", "unaffected".',
    "best": 'no other one is ahead; "or close to it": by no more than 10 %. A value with an'
    " interval is behind only where its whole interval is.",
    "all": 'every case that the statement names, each by itself; "most", "many", "several" and "in'
    ' general" are more than half of them, "almost always" nine of ten.',
}
KINDS = tuple(RULES)
WHY_BOUNDS = (
    "10 % and 25 % are ours: the papers give no intervals. Of 1,500 simulated points that were"
    " run again by a later state of the code, half moved by less than 0.2 %, nine of ten by less"
    " than 4 %, one of a hundred by more than 15 %, and one by 110 %; so less than 10 % tells"
    " nothing, and 25 % is what a model and other inputs may add. Where a point was simulated with"
    " several seeds, numbers, ranges and equality are judged by the middle one, signs and orders"
    " by all."
)
VERDICTS = (
    "`reproduced`; `direction only`, where a number or a strong word is missed, but as many cases"
    " as needed are on the stated side; `not reproduced`. Equality, order, best and bounds have no"
    " direction of their own. A missing value never agrees."
)


def middle(value: Value) -> float:
    return value.middle if isinstance(value, Interval) else value


def low(value: Value) -> float:
    return value.low if isinstance(value, Interval) else value


def high(value: Value) -> float:
    return value.high if isinstance(value, Interval) else value


def gained(ratio: Value) -> Value:
    """What a factor gains, in percent."""
    if isinstance(ratio, Interval):
        return Interval(*(100 * (each - 1) for each in ratio))
    return 100 * (ratio - 1)


@dataclass(frozen=True)
class Rule:
    """kind: of RULES; `all` goes with each. case: whether one case agrees, by its name and value;
    side: whether it is at least on the stated side. share: of the cases that have to agree.
    together: of a rule for all cases at once, in place of `case`. stated: the paper's number of a
    case, as (least, most)."""

    kind: str
    text: str
    case: Callable[[str, Value], bool]
    side: Callable[[str, Value], bool] = lambda name, value: False
    share: float = 1.0
    together: Callable[[list[Value]], bool] | None = None
    stated: Callable[[str], tuple[float, float]] | None = None

    def failing(self, values: Values) -> list[str]:
        """The cases that do not agree, each by itself."""
        return [name for name, value in values.items() if not self.case(name, value)]

    def verdict(self, values: Values) -> Verdict:
        if not values or any(middle(value) != middle(value) for value in values.values()):
            return Verdict.NOT
        if self.together is not None:
            holds = self.together(list(values.values()))
        else:
            holds = self._enough(self.case, values)
        if holds:
            return Verdict.REPRODUCED
        return Verdict.DIRECTION if self._enough(self.side, values) else Verdict.NOT

    def _enough(self, agrees: Callable[[str, Value], bool], values: Values) -> bool:
        many = sum(agrees(name, value) for name, value in values.items())
        share = many / len(values)
        return share > self.share if self.share == MOST else share >= self.share


def worst(verdicts: list[Verdict]) -> Verdict:
    order = list(Verdict)
    return max(verdicts, key=order.index, default=Verdict.NOT)


def _near(stated: float, found: float, neutral: float, printed: float) -> bool:
    apart = abs(found - stated)
    return apart <= NUMBER_WITHIN * abs(stated - neutral) + 1e-12 or apart <= printed / 2


def _shown(stated: float | Mapping[str, float]) -> str:
    if isinstance(stated, Mapping):
        return ", ".join(f"{name} {value:g}" for name, value in stated.items())
    return f"{stated:g}"


def number(
    stated: float | Mapping[str, float], neutral: float | None = 1.0, printed: float = 0.0
) -> Rule:
    """stated: of every case, or by case. neutral: what would be no difference: 1 of a factor, 0 of
    a gain; None where there is none, as of a count. printed: the last digit's weight."""
    zero = neutral or 0.0

    def of(name: str) -> float:
        return stated[name] if isinstance(stated, Mapping) else stated

    def side(name: str, value: Value) -> bool:
        if neutral is None:
            return False
        if of(name) == neutral:
            return _near(neutral, middle(value), neutral, printed)
        return low(value) > neutral if of(name) > neutral else high(value) < neutral

    return Rule(
        "number",
        f"number: {_shown(stated)}",
        lambda name, value: _near(of(name), middle(value), zero, printed),
        side,
        stated=lambda name: (of(name), of(name)),
    )


def spans(least: float, most: float, neutral: float = 1.0) -> Rule:
    """The cases go from `least` to `most`."""

    def near(stated: float, found: Value) -> bool:
        return _near(stated, middle(found), neutral, 0)

    def both(values: list[Value]) -> bool:
        ordered = sorted(values, key=middle)
        return near(least, ordered[0]) and near(most, ordered[-1])

    margin_low = least - NUMBER_WITHIN * abs(least - neutral)
    margin_high = most + NUMBER_WITHIN * abs(most - neutral)
    return Rule(
        "range",
        f"range: from {least:g} to {most:g}",
        lambda name, value: margin_low <= middle(value) <= margin_high,
        lambda name, value: low(value) > neutral if least >= neutral else high(value) < neutral,
        together=both,
        stated=lambda name: (least, most),
    )


def inside(least: float, most: float) -> Rule:
    """Bounds: every case is inside."""
    return Rule(
        "range",
        f"range: inside {least:g} to {most:g}",
        lambda name, value: least <= middle(value) <= most,
        stated=lambda name: (least, most),
    )


def order() -> Rule:
    """Each case is above the next one."""

    def falls(values: list[Value]) -> bool:
        return all(low(a) > high(b) for a, b in itertools.pairwise(values))

    return Rule("order", "order: each above the next", lambda name, value: True, together=falls)


def more(neutral: float = 1.0, clearly: bool = False) -> Rule:
    """clearly: for a strong word."""
    bound = neutral + EQUAL_WITHIN * clearly
    return Rule(
        "sign",
        f"sign: above {bound:g}",
        lambda name, value: low(value) > bound,
        lambda name, value: low(value) > neutral,
    )


def less(neutral: float = 1.0, clearly: bool = False) -> Rule:
    bound = neutral - EQUAL_WITHIN * clearly
    return Rule(
        "sign",
        f"sign: below {bound:g}",
        lambda name, value: high(value) < bound,
        lambda name, value: high(value) < neutral,
    )


def no_gain() -> Rule:
    """Not ahead by more than what counts as equal: "does not scale", "fails to speed up"."""
    return Rule(
        "sign",
        f"sign: no gain, at most {1 + EQUAL_WITHIN:g}",
        lambda name, value: high(value) <= 1 + EQUAL_WITHIN,
    )


def no_loss() -> Rule:
    return Rule(
        "sign",
        f"sign: no loss, at least {1 - EQUAL_WITHIN:g}",
        lambda name, value: low(value) >= 1 - EQUAL_WITHIN,
    )


def equal() -> Rule:
    return Rule(
        "equal",
        f"equal: {1 - EQUAL_WITHIN:g} to {1 + EQUAL_WITHIN:g}",
        lambda name, value: abs(middle(value) - 1) <= EQUAL_WITHIN + 1e-12,
    )


def best(near: bool = False) -> Rule:
    """Of values that are ratios to the best other one. near: or close to the best."""
    bound = 1 - EQUAL_WITHIN * near
    return Rule(
        "best",
        f"best: {bound:g} of the best other or more",
        lambda name, value: high(value) >= bound,
    )


def most(rule: Rule) -> Rule:
    """For "many", "mostly", "several", "in general": more than half of the cases."""
    return replace(rule, text=f"{rule.text}, in most", share=MOST)


def almost_all(rule: Rule) -> Rule:
    """For "almost always": nine of ten."""
    return replace(rule, text=f"{rule.text}, in nine of ten", share=ALMOST_ALL)
