#!/usr/bin/env python3
"""Writes the tables of docs/internals/openmp-measured.md: what bench/openmp_goals.py measured last
(papers/results/measured/openmp_goals.json), between the page's two markers.

    scripts/openmp_page.py                      the tables of what was measured last
    scripts/openmp_page.py --measure [OPTION...]
                                                all of it measured anew, or what these options of
                                                bench/openmp_goals.py choose; then the tables
    scripts/openmp_page.py --check              writes nothing; status 1: the page is out of date
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from openmp_goals import (  # noqa: E402
    CONSTRUCTS,
    GOALS,
    LATE,
    MOST_WHILE_LATE,
    OURS,
    STOCK,
    YARDSTICK,
)

PAGE = ROOT / "docs/internals/openmp-measured.md"
RESULTS = ROOT / "papers/results" / "measured" / "openmp_goals.json"
BEGIN = "<!-- From here to the end mark written by scripts/openmp_page.py -->\n"
END = "<!-- end -->\n"

# The parts of the results, in the page's order, and what they are.
PARTS = {
    "2 on one": "2 threads on one processor",
    "4, 0 busy": "4 threads on 2 processors",
    "8, 0 busy": "8 threads on 2 processors",
    "4, 1 busy": "4 threads on 2 processors, beside a busy process",
    "8, 1 busy": "8 threads on 2 processors, beside a busy process",
}


def median(part, name, construct, field="overhead_us"):
    """The median over rounds."""
    return statistics.median(part["configurations"][name][construct][field])


def spread(part, name, construct, field="overhead_us", scale=1.0):
    """The least and the largest of the rounds."""
    values = part["configurations"][name][construct][field]
    return f"{number(min(values) * scale)} .. {number(max(values) * scale)}"


def number(value):
    """Two digits that count, and no more than three behind the point."""
    if abs(value) >= 10:
        return f"{value:,.0f}"
    if abs(value) < 0.0005:
        return "0"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.3f}"


def how(part):
    """Where, when and how a part was measured."""
    m = part["measured"]
    return (
        f"Measured {m['date']} at commit {m['commit']}, {m['processors']} x {m['processor']}, "
        f"Linux {m['kernel']},\n{m['scheduling']}: medians of {m['rounds']} rounds of "
        f"{m['samples']} samples of {m['sample_us'] / 1000:g} ms.\n"
    )


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def two_threads(part):
    """The goals at 2 threads, with what was reached."""
    flags = min(median(part, name, YARDSTICK) for name in part["configurations"]) * 1000
    text = f"### 2 threads\n\n{how(part)}Two bare flags: {flags:.0f} ns.\n\n"
    text += row(["", "goal", "reached", "the other, ns", "ours, ns", "ours, all rounds"])
    text += row(["---", "---", "--:", "--:", "--:", "--:"])
    for construct, ours, other, most in GOALS:
        mine, theirs = (median(part, name, construct) * 1000 for name in (ours, other))
        reached = "-" if theirs <= 0 else f"{max(mine, 0) / theirs:.2f}x"
        if theirs > 0 and mine / theirs > most:
            reached = f"**{reached}**"
        rounds = spread(part, ours, construct, scale=1000)
        text += row([f"{construct}, {ours} / {other}", f"{most:g}x", reached, number(theirs),
                     number(mine), rounds])  # fmt: skip
    for ours in OURS:
        busy = median(part, ours, LATE, "cpus")
        shown = f"{busy:.3f}" if busy <= MOST_WHILE_LATE else f"**{busy:.3f}**"
        text += row([f"a thread 2 ms late, {ours}: processors busy", f"{MOST_WHILE_LATE:g}", shown,
                     "", "", spread(part, ours, LATE, "cpus")])  # fmt: skip
    return text


def crowd(title, part):
    """Microseconds of every construct, and the processors kept busy; ours bold where slower."""
    text = f"### {title}\n\n{how(part)}\n"
    others = [name for name in STOCK if name in part["configurations"]]
    text += row(["", *others, *OURS])
    text += row(["---"] + ["--:"] * len(others + OURS))
    for construct in CONSTRUCTS:
        best = min(median(part, name, construct) for name in others)
        cells = [construct]
        for name in others + OURS:
            mine = median(part, name, construct)
            value = number(mine)
            slower = name in OURS and mine > best and best > 0  # 0 and less: not to be told
            busy = median(part, name, construct, "cpus")
            cells.append((f"**{value}**" if slower else value) + f" ({busy:.1f})")
        text += row(cells)
    return text


def tables(results):
    """All of them; a part that was not measured is left out."""
    texts = [two_threads(results["2"])] if "2" in results else []
    texts += [crowd(title, results[name]) for name, title in PARTS.items() if name in results]
    return "\n" + "\n".join(texts) + "\n"


def filled(page, results):
    """The page with new tables between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE}: no markers: {BEGIN.strip()}, {END.strip()}")
    return before + begin + tables(results) + end + after


def main():
    """Writes or compares; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument(
        "--measure", nargs=argparse.REMAINDER, metavar="OPTION",
        help="measure first, with these options of bench/openmp_goals.py",
    )  # fmt: skip
    options = parser.parse_args()
    if options.measure is not None:
        goals = [sys.executable, ROOT / "bench" / "openmp_goals.py", *options.measure]
        subprocess.run([*goals, "--json", RESULTS], check=True)
    page = PAGE.read_text(encoding="utf-8")
    wanted = filled(page, json.loads(RESULTS.read_text(encoding="utf-8")))
    if options.check and page != wanted:
        print(f"{PAGE}: out of date; run scripts/openmp_page.py", file=sys.stderr)
        return 1
    if not options.check:
        PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
