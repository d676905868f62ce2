"""A picture of the numbers that a paper's text states beside ours: NAME.stated.svg.

Each case has a line of its own, on which the paper's number is 1, and a range ends at 1; so numbers
of all units share one axis. The label has both as they are.
"""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import smallsvg
from claims import Claim, Part, plain
from rules import Value, high, low, middle

from syncopate.base import wholefile

MOST = 70  # lines; beyond it nobody reads them
LINE = 0.24  # inches


@dataclass(frozen=True)
class Line:
    label: str
    paper: tuple[float, float]
    ours: tuple[float, float, float]


def lines_of(claims: list[Claim]) -> list[Line]:
    """Of the statements that are numbers or ranges, and that are the paper's."""
    found = [
        Line(f"{short(claim.paper)}: {label}", paper, (low(value), middle(value), high(value)))
        for claim in claims
        if not claim.beyond
        for part in claim.parts
        for label, paper, value in cases(part)
    ]
    return found[:MOST]


def cases(part: Part) -> Iterator[tuple[str, tuple[float, float], Value]]:
    """Those with a number that is not nothing, and with a value of ours."""
    for name, value in part.values.items():
        if part.rule.stated is None or middle(value) != middle(value):
            continue
        least, most = part.rule.stated(name)
        if most and math.isfinite(most):
            said = plain(most) if least == most else f"{plain(least)} to {plain(most)}"
            label = f"{part.one(name)} (paper: {said}{part.unit})"
            yield label, (least / most, 1.0), scaled(value, most)


def scaled(value: Value, by: float) -> Value:
    if isinstance(value, tuple):
        return type(value)(*sorted(each / by for each in value))
    return value / by


def short(text: str, most: int = 48) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def draw(name: str, claims: list[Claim], path: Path, matplotlib) -> bool:
    """Writes the picture. Returns whether there was anything to show."""
    lines = lines_of(claims)
    if not lines:
        path.unlink(missing_ok=True)
        return False
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = name
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    page, axis = pyplot.subplots(figsize=(11, 1.3 + LINE * len(lines)))
    for place, line in enumerate(lines):
        axis.plot(line.paper, [place, place], color="C3", linewidth=5, alpha=0.4)
        axis.plot([line.ours[0], line.ours[2]], [place, place], color="C0", linewidth=1.5)
    places = range(len(lines))
    axis.plot([1.0] * len(lines), places, "D", color="C3", markersize=6, label="the paper")
    axis.plot([line.ours[1] for line in lines], places, "o", color="C0", markersize=5, label="we")
    axis.set_yticks(places, [line.label for line in lines], fontsize=7)
    axis.set_ylim(len(lines) - 0.4, -0.6)
    axis.set_xlabel("of the number that the paper states; bars: its ranges, and our intervals")
    axis.set_xlim(left=min(0.0, *(line.ours[0] for line in lines)))
    axis.grid(alpha=0.3)
    axis.legend(loc="best", fontsize=8)
    page.tight_layout()
    text = io.StringIO()
    page.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(page)
    wholefile.write(path, [smallsvg.smaller(text.getvalue())])
    return True
