#!/usr/bin/env python3
"""Writes README.md from README.md.in, the code's list of locks, and what was measured.

Inputs: README.md.in, docs/demo.txt (what `make demo` printed last), docs/figures/*.json (written by
`bench/compare.py --json` and `bench/programs.py --json`), and the build's locks.json. A section
whose input is missing is left out, and standard error says so; no figure is typed by hand.

Usage: make_readme.py [--check] [--demo FILE] [--page FILE] LOCKS_JSON [ROOT]
  --check      writes nothing; exit status 1 when README.md is not what would be written
  --demo FILE  takes FILE over as docs/demo.txt first, if it is there
  --page FILE  takes a picture of this page as docs/report.png first, if it and chromium are there

The template's own lines begin with %%:
  %% insert NAME     the generated text NAME: locks, demo or figures
  %% section NAME    from here to `%% end`: only when there is a text NAME
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).resolve().parent),
    str(Path(__file__).resolve().parent.parent / "bench"),
]

import readme_locks  # noqa: E402
from compare import MODE_METRICS, WAIT_METRICS  # noqa: E402
from interleaved import Ratio, Summary, number, ratio_of_medians  # noqa: E402

# Figures: file in docs/figures/ -> (title, how to measure it again).
FIGURES = {
    "programs.json": ("Real programs", "bench/programs.py --json docs/figures/programs.json"),
    "locks.json": ("The cost of a lock", "bench/compare.py --json docs/figures/locks.json"),
    "recording.json": ("The cost of recording", ""),  # docs/figures/README.md says how
}
METRIC_NAMES = {
    "cycles": "cycles per lock and unlock",
    "throughput": "lock and unlock per second",
    "share": "least favored thread / most favored",
    "cpu_seconds": "CPU seconds",
    "voluntary": "context switches asked for",
    "longest_wait_ms": "longest wait, ms",
    "p99_wait_us": "wait, 99th percentile, us",
    "bytes_per_mutex": "bytes beyond the object",
    "regex": "what the program printed",
    "wall": "seconds",
    "cpu": "CPU seconds",
}
OTHERS_SHOWN = 1  # locks whose two stacks the README shows
LINES_SHOWN = 14  # of one block of the demo's text
PICTURE_SIZE = "1200,800"  # of the report's page


class ReadmeError(Exception):
    """An input that cannot be used; the text is one line."""


# ---- the demo ----


def shortened(demo: str) -> str:
    """The demo's text without what a first reader can do without."""
    kept, stacks = [], None
    for block in demo.rstrip().split("\n\n"):
        lines = block.splitlines()
        if not lines or "not lost to locks" in lines[0]:
            continue
        if lines[0].startswith("Who waited"):
            stacks = 0
        elif lines[0].startswith(("Who blocks", "kccachetest")):
            stacks = None
        elif stacks is not None:
            stacks += 1
            if stacks > OTHERS_SHOWN:
                continue
        if len(lines) > LINES_SHOWN:
            lines = [*lines[:LINES_SHOWN], "  ..."]
        kept.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(kept)


def demo_text(path: Path) -> str | None:
    if not path.is_file():
        return None
    return f"```text\n{shortened(path.read_text(encoding='utf-8'))}\n```\n"


def photograph(page: Path, picture: Path) -> None:
    """Takes a picture of the upper part of an HTML page."""
    browser = shutil.which("chromium")
    if browser is None:
        print("make_readme: no chromium: the report's picture stays as it is", file=sys.stderr)
        return
    words = ["--headless", "--hide-scrollbars", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    words += [f"--window-size={PICTURE_SIZE}", f"--screenshot={picture}", page.resolve().as_uri()]
    done = subprocess.run([browser, *words], capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or not picture.is_file():
        raise ReadmeError(f"{page}: chromium took no picture (exit status {done.returncode})")


# ---- figures ----


def markdown(rows: list[list[str]], titles: list[str]) -> str:
    """Rows as a Markdown table: the first column left, the others right."""
    lines = [titles, ["---", *["--:"] * (len(titles) - 1)], *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )


def spread(values: list[float]) -> str:
    """The median, and the smallest and largest value."""
    summary = Summary.of(values)
    if summary.smallest == summary.largest:
        return number(summary.median)
    ends = f"{number(summary.smallest)} .. {number(summary.largest)}"
    return f"{number(summary.median)} ({ends})"


def programs_table(report: dict) -> str:
    """What bench/programs.py measured: a row for each program and lock beside the first."""
    rows = []
    for workload in report["workloads"]:
        speeds, base = workload["speeds"], next(iter(workload["speeds"]))
        for name, ratio in workload["ratios"].items():
            title = f"{workload['workload']}, {workload['unit']}"
            sides = [spread(speeds[base]), f"`{name}`", spread(speeds[name])]
            rows.append([title, *sides, str(Ratio(**ratio)), f"{workload['at_least']:g}"])
    titles = ["program", base, "lock", "with it", f"ratio to {base} (95 %)", "goal"]
    return markdown(rows, titles)


def metrics_of(comparison: dict) -> list[str]:
    """Which numbers of a comparison are shown: those that bench/compare.py prints."""
    words = comparison["arguments"]
    first = next(iter(comparison["rounds"].values()))[0]
    wanted = MODE_METRICS.get(words[0] if words else "", [])
    if "--waits" in words:
        wanted = wanted + WAIT_METRICS
    return [metric for metric in wanted if metric in first] or [
        metric for metric in ("regex", "wall") if metric in first
    ][:1]


def comparison_table(program: str | None, comparison: dict) -> str:
    """One of bench/compare.py's comparisons: a row for each configuration."""
    rounds, metrics = comparison["rounds"], metrics_of(comparison)
    if not metrics:
        raise ReadmeError(f"no known metric in the comparison {comparison['arguments']}")
    base = next(iter(rounds))

    def values(name: str, metric: str) -> list[float]:
        return [float(each[metric]) for each in rounds[name]]

    rows = []
    for name in rounds:
        ratio = ratio_of_medians(values(name, metrics[0]), values(base, metrics[0]))
        cells = [spread(values(name, metric)) for metric in metrics]
        rows.append([f"`{name}`", *cells, "1" if name == base else str(ratio)])
    titles = [METRIC_NAMES.get(metric, metric) for metric in metrics]
    command = " ".join([Path(program or "pthread_load").name, *comparison["arguments"]])
    count = len(rounds[base])
    return f"`{command}`, {count} rounds:\n\n" + markdown(
        rows, ["lock", *titles, f"ratio to {base} (95 %)"]
    )


def provenance(report: dict) -> str:
    how = report["measured"]
    rounds = f"{how['rounds']} interleaved" if "rounds" in how else "interleaved"
    return (
        f"Measured {how['date']} at commit {how['commit']} on {how['processors']} x"
        f" {how['processor']},\nLinux {how['kernel']}. Medians of {rounds} rounds (smallest .."
        " largest).\n"
    )


def figure(path: Path) -> str:
    """One file of docs/figures as Markdown."""
    title, command = FIGURES.get(path.name, (path.stem.replace("-", " ").capitalize(), ""))
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        head = f"### {title}\n\n{provenance(report)}"
        if "workloads" in report:
            tables = [programs_table(report)]
        else:
            tables = [
                comparison_table(report.get("program"), each) for each in report["comparisons"]
            ]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ReadmeError(f"{path}: not written by our benchmarks ({error!r})") from error
    again = f"\nAgain: `{command}`\n" if command else ""
    return "\n".join([head, *tables]) + again


def figures_text(folder: Path) -> str | None:
    known = [folder / name for name in FIGURES]
    for path in known:
        if not path.is_file():
            print(f"make_readme: no {path.name} in docs/figures: left out", file=sys.stderr)
    others = sorted(set(folder.glob("*.json")) - set(known))
    found = [figure(path) for path in [*known, *others] if path.is_file()]
    return "\n".join(found) or None


# ---- the whole ----


def locks_text(path: Path) -> str:
    try:
        locks = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReadmeError(f"{path}: no list of locks; run `make` first ({error})") from error
    return readme_locks.BEGIN + readme_locks.table(locks) + readme_locks.END


def fill(template: str, texts: dict[str, str | None]) -> str:
    """The template with its %% lines carried out."""
    lines, leaving_out = [], False
    for line in template.splitlines(keepends=True):
        word, _, name = line[2:].strip().partition(" ")
        if not line.startswith("%%"):
            if not leaving_out:
                lines.append(line)
        elif word == "end":
            leaving_out = False
        elif word not in ("insert", "section") or name not in texts:
            raise ReadmeError(f"README.md.in: what is '{line.strip()}'?")
        elif word == "section":
            leaving_out = texts[name] is None
            if leaving_out:
                print(f"make_readme: nothing for the section '{name}': left out", file=sys.stderr)
        elif not leaving_out:
            lines.append(texts[name] or "")
    return re.sub(r"\n{3,}", "\n\n", "".join(lines))


def dead_links(text: str, root: Path) -> list[str]:
    """Relative links of a page that lead nowhere."""
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", text)
    return sorted({target for target in targets if not (root / target).exists()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--demo", type=Path, help="becomes docs/demo.txt, if it is there")
    parser.add_argument("--page", type=Path, help="is photographed, if it is there")
    parser.add_argument("locks", type=Path)
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).parent.parent)
    options = parser.parse_args()
    docs, readme = options.root / "docs", options.root / "README.md"
    try:
        if options.demo and options.demo.is_file() and not options.check:
            (docs / "demo.txt").write_bytes(options.demo.read_bytes())
        if options.page and options.page.is_file() and not options.check:
            photograph(options.page, docs / "report.png")
        texts = {
            "locks": locks_text(options.locks),
            "demo": demo_text(docs / "demo.txt"),
            "figures": figures_text(docs / "figures"),
        }
        new = fill((options.root / "README.md.in").read_text(encoding="utf-8"), texts)
        if dead := dead_links(new, options.root):
            raise ReadmeError(f"README.md.in: links lead nowhere: {', '.join(dead)}")
    except (ReadmeError, OSError) as error:
        print(f"make_readme: {error}", file=sys.stderr)
        return 1
    if readme.is_file() and readme.read_text(encoding="utf-8") == new:
        return 0
    if options.check:
        print("README.md is not what its inputs say; run `make readme`")
        return 1
    readme.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
