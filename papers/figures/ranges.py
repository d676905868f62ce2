#!/usr/bin/env python3
"""Where do the papers' headlines hold, if a machine's uncertain numbers are other ones?

Each group of them (uncertain.py) goes to both ends of its range, alone; all go to one end together;
and those that bring a headline nearer are put together. The points that a headline rests on are run
with each. Writes papers/results/simulated/ranges.json and, of it, a picture for each paper and
docs/internals/ranges.md.
"""

import argparse
import datetime
import io
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import smallsvg
import uncertain
from claims import Claim, Part, shown
from common import (
    PLACES,
    Figure,
    arguments,
    claims_of,
    guarded,
    need_matplotlib,
    not_built,
    shipped,
)
from differences import changed_machine, finished
from rules import ALMOST_ALL, MOST, Rule, Value, Verdict, middle
from sweep import ROOT, Checkpoint, Point, Refusal, Setting, end_runs, identity

from syncopate.base import compactjson, wholefile
from syncopate.bench.provenance import commit

DATA = PLACES / "simulated" / "ranges.json"
PAGE = ROOT / "docs/internals/ranges.md"
AS_IT_IS = "as the file says"
TOGETHER = (2, 4, 99)  # so many of the changes that bring nearer, the best ones
STEPS = 4  # of the way to an end that leads past the stated number
EVERYWHERE, PARTLY, NOWHERE = "everywhere", "in a part", "nowhere"
BETWEEN = "between two"
HEAD = """\
# Where the papers' statements hold

Written by `papers/figures/ranges.py`; nothing is edited here. Most numbers of the machine files are
estimates, and marked so. Here each group of them goes to both ends of its range
([uncertain.py](../../papers/figures/uncertain.py): half and twice, but for what cannot be so),
alone; then all to one end together; then those together that brought the headline nearer; and
where an end leads past the number that is stated, a quarter, half and three quarters of the way to
it. The points that the headline rests on are run with each, with the first seed, and judged by the
same rules.

*nowhere*: with none of these machines, so that no uncertain number is the cause by itself, as far
as the ranges go, and neither are those together that were tried. *in a part*: with some. *between
two*: with none, but the number that is stated lies between what two of them give. *so far*: the
search was stopped. *nearest*: how far the value that is farthest off would have to move, of its own
size, and with which machine.
"""


@dataclass(frozen=True)
class Row:
    """A row of a figure, and the points that decide it."""

    figure: Figure
    document: dict
    claim: Claim
    needs: frozenset[tuple]

    def key(self) -> tuple[str, str]:
        return self.figure.name, self.claim.paper

    def points(self) -> list[Point]:
        return [p for p in self.figure.points(False) if place_of(p.place()) in self.needs
                and p.options.get("seed", 1) == 1]  # fmt: skip

    def judged(self, runs: list[dict]) -> Claim:
        """The row, where these runs are in the place of the committed ones."""
        new = {place_of(run): run for run in runs}
        old = self.document["runs"]
        document = self.document | {"runs": [new.get(place_of(run), run) for run in old]}
        rows = claims_of(self.figure, document)
        return next(row for row in rows if row.paper == self.claim.paper)


def place_of(run: dict) -> tuple:
    return run["panel"], run["series"], run["x"]


# ---- what a headline rests on ----


def moved(value: object, by: float = 1.1) -> object:
    """A run with other numbers, each by a factor of its own: no ratio of two stays as it was."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return value * by
    if isinstance(value, dict):
        kept = ("panel", "series", "x", "seed")
        return {k: v if k in kept else moved(v, by + 0.1 * n)
                for n, (k, v) in enumerate(value.items())}  # fmt: skip
    return [moved(each, by + 0.1 * n) for n, each in enumerate(value)]


def values_of(claims: list[Claim]) -> list[str]:
    return [repr([dict(part.values) for part in each.parts]) for each in claims]


def first_seed(figure: Figure) -> dict:
    """Its committed document, with the first seed alone."""
    document = compactjson.read(shipped(figure).read_text(encoding="utf-8"))
    return document | {"runs": [run for run in document["runs"] if run.get("seed", 1) == 1]}


def rows_of(figure: Figure, every: bool = False) -> Iterator[Row]:
    """Of its committed results: the headlines, and the points that move their values. every: the
    statements, too, that are not reproduced."""
    document = first_seed(figure)
    first, claims = document["runs"], claims_of(figure, document)
    wanted = [
        n
        for n, each in enumerate(claims)
        if not each.beyond and (each.headline or (every and each.verdict is not Verdict.REPRODUCED))
    ]
    if not wanted:
        return
    before, needs = values_of(claims), {n: set() for n in wanted}
    for place in dict.fromkeys(map(place_of, first)):
        runs = [moved(run) if place_of(run) == place else run for run in first]
        after = values_of(claims_of(figure, document | {"runs": runs}))
        for n in wanted:
            if after[n] != before[n]:
                needs[n].add(place)
    for n in wanted:
        yield Row(figure, document, claims[n], frozenset(needs[n]))


def with_energy(row: Row) -> bool:
    """Whether what the row shows depends on power at all."""
    runs = [
        {k: v * 3 if k in ("watts", "joules") else v for k, v in run.items()}
        for run in row.document["runs"]
    ]
    return values_of([row.judged(runs)]) != values_of([row.claim])


# ---- how far values are from agreeing ----


def away(rule: Rule, name: str, value: Value) -> float:
    """How far the value would have to move until its case agrees, as a part of the larger one."""
    found = middle(value)
    if found != found:
        return 1.0
    if rule.case(name, found):
        return 0.0
    step = 1e-3 * max(abs(found), 0.01)
    while step < 1e4 * max(abs(found), 0.01):
        if rule.case(name, found + step) or rule.case(name, found - step):
            return min(1.0, step / max(abs(found) + step, 1e-12))
        step *= 1.02
    return 1.0


def part_away(part: Part) -> float:
    """Of the cases that have to agree, the farthest one; where only all together can, a trace."""
    if part.rule.verdict(part.values) is Verdict.REPRODUCED:
        return 0.0
    many = sorted(away(part.rule, name, value) for name, value in part.values.items())
    needed = len(many) - 1
    if part.rule.share in (MOST, ALMOST_ALL):
        needed = min(needed, int(part.rule.share * len(many)))
    return max(many[needed], 1e-3) if many else 1.0


def distance(claim: Claim) -> float:
    return max(part_away(part) for part in claim.parts)


# ---- the search ----


def alone(row: Row) -> dict[str, uncertain.Changes]:
    """What is said of each -> the changes: each group at each end, alone; all at one end."""
    found = uncertain.ranges(row.figure.machine)
    if not with_energy(row):
        found = {key: each for key, each in found.items() if not next(iter(each)).startswith("ene")}
    settings = {f"{group}: {end}": changes for (group, end), changes in found.items()}
    for end in (uncertain.LEAST, uncertain.MOST):
        everything = [changes for (_, where), changes in found.items() if where == end]
        settings[f"all: {end}"] = {key: new for each in everything for key, new in each.items()}
    return settings


def together(settings: dict[str, uncertain.Changes], found: list[dict]) -> dict:
    """Those that brought nearer, the best first, each group at its better end."""
    start = next(each["away"] for each in found if each["changed"] == AS_IT_IS)
    best: dict[str, tuple[float, str]] = {}
    for each in found:
        group = each["changed"].rpartition(":")[0]
        if group not in ("", "all") and each["away"] < min(start, best.get(group, (start, ""))[0]):
            best[group] = each["away"], each["changed"]
    names = [name for _, name in sorted(best.values())]
    combined = {}
    for many in TOGETHER:
        chosen = names[:many]
        if len(chosen) > 1:
            changes = {key: new for name in chosen for key, new in settings[name].items()}
            combined["; ".join(chosen)] = changes
    return combined


def crossed(row: Row, before: dict, after: dict) -> bool:
    """Whether a case passes the stated number on the way from one setting to the other."""
    for part in row.claim.parts:
        for name in part.values if part.rule.stated else ():
            least, most = part.rule.stated(name)
            ends = sorted((before["values"][name], after["values"][name]))
            if ends[0] < least and ends[1] > most:
                return True
    return False


def between(row: Row, settings: dict[str, uncertain.Changes], found: list[dict]) -> dict:
    """Of the groups whose one end leads past the number that is stated, the settings on the way."""
    start = next(each for each in found if each["changed"] == AS_IT_IS)
    known = uncertain.estimates(row.figure.machine)
    passing = [
        each["changed"]
        for each in found
        if each["changed"] in settings and each["values"] and crossed(row, start, each)
    ]
    return {
        f"{share}/{STEPS} of the way, {name}": {
            key: partly(known[key], new, share / STEPS) for key, new in settings[name].items()
        }
        for name in passing
        for share in range(1, STEPS)
    }


def partly(old: float, new: float | str, share: float) -> float | str:
    """As far between two values, as a ratio; of a yes or no, the new one."""
    if isinstance(new, str):
        return new
    value = old * (new / old) ** share
    return round(value) if isinstance(old, int) else value


def search(row: Row, options: argparse.Namespace, kept: Checkpoint, place: Path) -> dict:
    """The row of the document: a verdict with each setting."""
    points, machine = row.points(), row.figure.machine
    with ThreadPoolExecutor(options.jobs) as pool:
        futures = []

        def run(settings: dict[str, uncertain.Changes]) -> list[dict]:
            started = {}
            for said, changes in settings.items():
                file = str(changed_machine(machine, changes, place)) if changes else machine
                setting = Setting(file, options.programs, options.limit)
                setting.check(points)
                if options.kept and any(identity(p, setting) not in kept.runs for p in points):
                    continue
                started[said] = [pool.submit(finished, p, setting, kept) for p in points]
                futures.extend(started[said])
            return [outcome(said, [each.result() for each in many])
                    for said, many in started.items()]  # fmt: skip

        def outcome(said: str, runs: list[dict]) -> dict:
            if failed := [run for run in runs if "error" in run]:
                print(f"{row.figure.name}: {said}: {failed[0]['error']}", file=sys.stderr)
                return {"changed": said, "away": 1.0, "verdict": "", "values": {},
                        "error": failed[0]["error"]}  # fmt: skip
            claim = row.judged(runs)
            values = {name: middle(value) for part in claim.parts
                      for name, value in part.values.items()}  # fmt: skip
            print(f"{row.figure.name}: {said}: {claim.verdict.value}, {claim.ours}",
                  file=sys.stderr, flush=True)  # fmt: skip
            return {"changed": said, "away": distance(claim), "verdict": claim.verdict.value,
                    "values": values}  # fmt: skip

        try:
            settings = alone(row)
            found = run({AS_IT_IS: {}} | settings)
            if not found or found[0]["changed"] != AS_IT_IS:
                raise Refusal(f"{row.figure.name}: nothing is kept of its search")
            passed = between(row, settings, found)
            found += run(together(settings, found) | passed)
        finally:  # interrupted, too
            end_runs(pool, futures)
    return {
        "figure": row.figure.name, "statement": row.claim.paper, "headline": row.claim.headline,
        "machine": machine, "rule": row.claim.rule, "points": len(points),
        "date": datetime.date.today().isoformat(), "commit": commit(), "settings": found,
        "passed": bool(passed), "whole": not options.kept,
    }  # fmt: skip


# ---- what is written ----


def where(row: dict) -> str:
    """Whether it is reproduced everywhere, in a part, or nowhere in the ranges."""
    done = [each for each in row["settings"] if not each.get("error")]
    holds = [each["verdict"] == Verdict.REPRODUCED.value for each in done]
    found = EVERYWHERE if all(holds) else PARTLY if any(holds) else NOWHERE
    if found == NOWHERE and row.get("passed"):
        found = BETWEEN
    return found if row.get("whole", True) else f"{found}, so far"


def nearest(row: dict) -> dict:
    return min(row["settings"], key=lambda each: each["away"])


def extent(row: dict) -> str:
    """Each case's smallest and largest value; of many cases, of all together."""
    done = [each["values"] for each in row["settings"] if each["values"]]
    cases = {name: sorted(values[name] for values in done) for name in done[0]}
    if len(cases) > 4:
        every = sorted(value for many in cases.values() for value in many)
        return f"{len(cases)} values, {shown(every[0], '')} to {shown(every[-1], '')}"
    return ", ".join(f"{name} {shown(many[0], '')} to {shown(many[-1], '')}"
                     for name, many in cases.items())  # fmt: skip


def page(document: dict) -> str:
    lines = [HEAD]
    titles = ["figure", "statement", "rule", "as the file says", "machines that agree",
              "values from, to", "holds", "nearest"]  # fmt: skip
    lines += ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for row in document["rows"]:
        name, done = row["figure"], [each for each in row["settings"] if not each.get("error")]
        first = next(each for each in row["settings"] if each["changed"] == AS_IT_IS)
        many = sum(each["verdict"] == Verdict.REPRODUCED.value for each in done)
        near = nearest(row)
        cells = [
            f"[{name}](../../papers/results/simulated/{name}.md)", row["statement"], row["rule"],
            first["verdict"], f"{many} of {len(done)}", extent(row), where(row),
            f"{100 * near['away']:.0f} %: {near['changed']}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    made = sorted({f"{row['date']} (commit {row['commit']})" for row in document["rows"]})
    lines += ["", f"Simulated {' and '.join(made)}. Every setting and value: "
              "[ranges.json](../../papers/results/simulated/ranges.json).", ""]  # fmt: skip
    for name in pictures(document):
        lines += [f"![{name}](../../papers/results/simulated/{name}.svg)", ""]
    errors = [(row["figure"], each) for row in document["rows"] for each in row["settings"]
              if each.get("error")]  # fmt: skip
    if errors:
        lines += ["Without a result:", ""]
        lines += [f"- {name}, {each['changed']}: {each['error']}" for name, each in errors]
        lines.append("")
    return "\n".join(lines)


def pictures(document: dict) -> dict[str, list[dict]]:
    """The picture's name, of each paper's figures, -> its rows."""
    found: dict[str, list[dict]] = {}
    for row in document["rows"]:
        paper = row["figure"].rpartition("_fig")[0] or row["figure"].rpartition("_table")[0]
        found.setdefault(f"ranges_{paper.partition('_fig')[0]}", []).append(row)
    return found


def draw(name: str, rows: list[dict], folder: Path) -> None:
    """A line for each headline, and on it a mark for each machine: 0 where it agrees."""
    matplotlib = need_matplotlib()
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = name
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(10, 1.4 + 0.5 * len(rows)))
    for line, row in enumerate(rows):
        xs = [100 * each["away"] for each in row["settings"] if not each.get("error")]
        axis.plot(xs, [line] * len(xs), "o", markersize=4, color="C0", alpha=0.5)
        axis.plot(xs[:1], [line], "D", markersize=7, color="C3")
    labels = [f"{row['figure']}: {row['statement'][:60]}" for row in rows]
    axis.set_yticks(range(len(rows)), labels, fontsize=8)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(left=-2)
    axis.set_xlabel("how far the farthest value is from agreeing, % (0: reproduced)")
    axis.set_title("diamond: the machine file; dots: its uncertain numbers elsewhere", fontsize=9)
    axis.grid(alpha=0.3)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    wholefile.write(folder / f"{name}.svg", [smallsvg.smaller(text.getvalue())])


def merged(before: list[dict], rows: list[dict]) -> list[dict]:
    """In the order of the figures' names; those run now in the place of those of before."""
    found = {(row["figure"], row["statement"]): row for row in [*before, *rows]}
    return [found[key] for key in sorted(found)]


def simulated() -> list[Figure]:
    from all import figures

    return [figure for figure in figures() if figure.measure is None]


def run_all(options: argparse.Namespace, before: list[dict]) -> Iterator[list[dict]]:
    """All rows, again after each one that is done: what was stopped keeps what it has."""
    kept, rows = Checkpoint(options.checkpoints / "ranges.jsonl"), []
    wanted = [f for f in simulated() if options.figure in (None, f.name)]
    if not wanted:
        raise Refusal(f"there is no figure {options.figure}")
    with tempfile.TemporaryDirectory() as place:
        for figure in wanted:
            if why := not_built(figure, options):
                print(why, file=sys.stderr)
                continue
            for row in rows_of(figure, options.every):
                rows.append(search(row, options, kept, Path(place)))
                yield merged(before, rows)


def main() -> int:
    parser = arguments("Where the papers' headlines hold, in the ranges of uncertain numbers.")
    parser.add_argument("--figure", help="only this one's headlines; the other rows are kept")
    parser.add_argument(
        "--kept", action="store_true", help="what a stopped search has found so far; runs nothing"
    )
    parser.add_argument(
        "--every", action="store_true", help="each statement that is not reproduced, too"
    )
    options = parser.parse_args()
    folder = options.out or DATA.parent
    data = folder / DATA.name
    before = compactjson.read(data.read_text(encoding="utf-8"))["rows"] if data.is_file() else []
    if not options.redraw:
        for rows in run_all(options, before):
            document = compactjson.rounded({"kind": "simulated", "rows": rows})
            wholefile.write(data, [compactjson.tables(document)])
    if not options.data:
        document = compactjson.read(data.read_text(encoding="utf-8"))
        wholefile.write(folder / PAGE.name if options.out else PAGE, [page(document)])
        for name, rows in pictures(document).items():
            draw(name, rows, folder)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main, "ranges"))
