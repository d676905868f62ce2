"""What each of the five papers is known for: the rows of its figures that name one headline, judged
together. A row that is beyond the paper (another machine, algorithm or program) shows nothing about
it, so a headline that rests on one is not reproduced.
"""

from dataclasses import dataclass, field

from claims import Claim
from common import Figure
from rules import Verdict, worst

SHOWN = 200  # characters of "we get"; beyond it, how many values agree


@dataclass
class Headline:
    states: str
    figures: list[Figure] = field(default_factory=list)
    rows: list[Claim] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        return worst([Verdict.NOT if row.beyond else row.verdict for row in self.rows])

    @property
    def ours(self) -> str:
        tested = [row for row in self.rows if not row.beyond]
        if tested:
            rest = len(tested) < len(self.rows)
            return self.values(tested) + "; the rest not tested" * rest
        elsewhere = dict.fromkeys(row.beyond for row in self.rows)
        before = "".join(f"not tested, but {why}: " for why in elsewhere)
        return before + self.values(self.rows)

    @staticmethod
    def values(rows: list[Claim]) -> str:
        text = "; ".join(row.ours for row in rows)
        if len(text) <= SHOWN:
            return text
        parts = [part for row in rows for part in row.parts]
        missed = sum(len(part.rule.failing(part.values)) for part in parts)
        many = sum(len(part.values) for part in parts)
        return f"{many - missed} of {many} values agree"

    @property
    def why(self) -> str:
        """The reasons of the rows that do not agree."""
        found = [
            (f"not tested: {row.beyond}" if row.beyond else row.why)
            for row in self.rows
            if row.beyond or row.verdict is not Verdict.REPRODUCED
        ]
        return "; ".join(dict.fromkeys(filter(None, found)))


def headlines(figures: list[tuple[Figure, list[Claim]]]) -> list[Headline]:
    """Of one paper's figures and their judged rows, in their order."""
    found: dict[str, Headline] = {}
    for figure, rows in figures:
        for row in rows:
            if not row.headline:
                continue
            each = found.setdefault(row.headline, Headline(row.headline))
            each.rows.append(row)
            if figure not in each.figures:
                each.figures.append(figure)
    return list(found.values())
