"""A row of a figure's page: what the paper states, the rule it is judged by, and what we get.

The verdict follows from the rules (rules.py) and the values; no figure's script decides it. The
text of "we get" is made of the same values, so that none of them can be left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rules import Interval, Rule, Value, Values, Verdict, middle, worst

AVERAGE = "average"  # the case of a mean that the paper states
SHOWN = 9  # values; of more, the ends and those that miss
HOLDS = {
    Verdict.REPRODUCED: "holds", Verdict.DIRECTION: "direction only", Verdict.NOT: "does not hold"
}  # fmt: skip
NOT_COUNTED = (
    "Not counted, for the reason with which each row's last column begins: beyond what the paper"
    " states, or fitted to it."
)
TITLES = ["paper says", "rule", "we get", "verdict", "why they differ, or what it rests on"]


@dataclass(frozen=True)
class Part:
    """Values that one rule judges. what: what they are. unit: after each."""

    rule: Rule
    values: Values
    unit: str = "x"
    what: str = ""

    def one(self, name: str) -> str:
        """The case with its value; the program is left out where all cases are of one."""
        programs = {each.partition(": ")[::2] for each in self.values}
        alone = len(programs) > 1 and len({program for program, _ in programs}) == 1
        said = name.partition(": ")[2] or name if alone else name
        return f"{said} {shown(self.values[name], self.unit)}"

    def text(self) -> str:
        names = list(self.values)
        missed = [name for name in self.rule.failing(self.values)]
        if not names:
            said = "no result"
        elif len(names) <= SHOWN:
            said = ", ".join(map(self.one, names))
        else:
            numbers = [n for n in map(middle, self.values.values()) if n == n]
            ends = f"{plain(min(numbers))} to {plain(max(numbers))}" if numbers else "no result"
            said = f"{ends}{self.unit}, {len(names)} cases"
            if missed:
                left = f" and {len(missed) - SHOWN} more" if len(missed) > SHOWN else ""
                said += f"; missed by {len(missed)}: "
                said += ", ".join(map(self.one, missed[:SHOWN])) + left
        return f"{self.what}: {said}" if self.what else said


@dataclass(frozen=True)
class Claim:
    """why: why they differ, shown where they do. note: what the comparison rests on, always shown.
    beyond: why it is no statement about the paper's machine, program or algorithm; such rows stand
    apart and are not counted. headline: as docs/papers.md has it, where the paper is known for it;
    rows of the same headline are judged together. machine: filled in by common.judged()."""

    paper: str
    parts: Sequence[Part]
    why: str = ""
    note: str = ""
    beyond: str = ""
    headline: str = ""
    machine: str = ""

    @property
    def verdict(self) -> Verdict:
        return worst([part.rule.verdict(part.values) for part in self.parts])

    @property
    def programs(self) -> list[str]:
        """What the row's cases are of."""
        names = (name.partition(": ")[0] for part in self.parts for name in part.values)
        return list(dict.fromkeys(names))

    @property
    def rule(self) -> str:
        return "; ".join(dict.fromkeys(part.rule.text for part in self.parts))

    @property
    def ours(self) -> str:
        return "; ".join(part.text() for part in self.parts)

    def remarks(self) -> str:
        why = "" if self.verdict is Verdict.REPRODUCED else self.why or "not known"
        return "; ".join(part for part in (self.beyond, self.note, why) if part)

    def row(self) -> str:
        cells = [self.paper, self.rule, self.ours, said(self.verdict, self.beyond), self.remarks()]
        return "| " + " | ".join(cells) + " |"

    def document(self) -> dict:
        """For docs/verdicts.json. What a row does not have is left out; a part's verdict, where it
        is the only one."""
        parts = [
            {"rule": part.rule.text,
             "values": {name: rounded(value) for name, value in part.values.items()}}
            for part in self.parts
        ]  # fmt: skip
        if len(parts) > 1:
            for part, told in zip(self.parts, parts, strict=True):
                told["verdict"] = part.rule.verdict(part.values).value
        own = {"beyond": self.beyond, "headline": self.headline}
        return {
            "statement": self.paper, "verdict": self.verdict.value, "machine": self.machine,
            "programs": self.programs, **{name: text for name, text in own.items() if text},
            "parts": parts,
        }  # fmt: skip


def claim(
    paper: str, rule: Rule, values: Values, why: str = "", note: str = "", *, unit: str = "x",
    what: str = "", beyond: str = "", headline: str = "",
) -> Claim:  # fmt: skip
    """A row with one rule."""
    return Claim(paper, [Part(rule, values, unit, what)], why, note, beyond, headline)


def said(verdict: Verdict, beyond: str = "") -> str:
    """The verdict in words; by a row of ours nothing of the paper is reproduced."""
    text = HOLDS[verdict] if beyond else verdict.value
    return f"**{text}**" if verdict is Verdict.NOT else text


def plain(number: float) -> str:
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"


def shown(value: Value, unit: str) -> str:
    if middle(value) != middle(value):
        return "no result"
    text = plain(middle(value)) + unit
    if isinstance(value, Interval):
        text += f" ({plain(value.low)} to {plain(value.high)})"
    return text


def rounded(value: Value):
    """For JSON, which has no nan."""
    if isinstance(value, Interval):
        return [rounded(each) for each in value]
    return float(f"{value:.4g}") if abs(value) < float("inf") else None


def tables(claims: list[Claim]) -> list[str]:
    """The paper's statements, and after them what is ours beyond them."""
    own = [each for each in claims if not each.beyond]
    ours = [each for each in claims if each.beyond]
    lines = table(TITLES, own) if own else ["None of the paper's statements is tested here."]
    if ours:
        head = ["what is tested", *TITLES[1:]]
        lines += ["", NOT_COUNTED, "", *table(head, ours)]
    return lines


def table(titles: list[str], rows: list[Claim]) -> list[str]:
    head = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    return head + [each.row() for each in rows]


def count(claims: list[Claim]) -> str:
    """Of the paper's statements."""
    own = [each for each in claims if not each.beyond]
    found = {verdict: sum(each.verdict is verdict for each in own) for verdict in Verdict}
    text = f"{found[Verdict.REPRODUCED]} of {len(own)} statements reproduced"
    if found[Verdict.DIRECTION]:
        text += f", {found[Verdict.DIRECTION]} in direction only"
    return text if own else "none of the paper's statements is tested"
