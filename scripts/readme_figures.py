"""What was measured, as Markdown: the files of papers/results that our benchmarks wrote."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from compare import MODE_METRICS, WAIT_METRICS  # noqa: E402
from hardware_transactions import speed_ratio  # noqa: E402
from interleaved import Ratio, Summary, number, ratio_of_medians  # noqa: E402
from readme_transactions import costs_table, stamp_tables  # noqa: E402

from syncopate.base import compactjson  # noqa: E402

# Figures: file in papers/results/ -> (title, how to measure it again).
PROGRAMS = {
    "programs.json": (
        "Real programs",
        "bench/programs.py --configs glibc,pass,auto --json papers/results/programs.json",
    ),
    "programs_16_processors.json": ("Real programs on 16 processors", "bench/programs.py"),
}
LOCKS = {
    "locks.json": ("The cost of a lock", "bench/compare.py --json papers/results/locks.json"),
    "locks_16_processors.json": ("The cost of a lock on 16 processors", "bench/compare.py"),
}
HARDWARE = "hardware_transactions.json"
START = "start_cost.json"
STAMP_VARIANTS = (
    "sequential,lock,tm:stock,tm:stock:ml_wt,tm:auto,tm:htm,tm:norec,tm:eager_norec,"
    "tm:encounter_time,tm:tl2"
)
FIGURES = {
    **PROGRAMS,
    **LOCKS,
    HARDWARE: (
        "Hardware transactions",
        f"bench/hardware_transactions.py --json papers/results/{HARDWARE}",
    ),
    "recording.json": ("The cost of recording", ""),  # papers/results/README.md says how
    "recording_memcached.json": ("The cost of recording memcached", ""),
    "recording_kccachetest.json": ("The cost of recording kccachetest", ""),
    "recording_kernel.json": (
        "The cost of recording from the kernel",
        "bench/kernel_cost.py --json papers/results/recording_kernel.json",
    ),
    "stamp.json": (
        "Transactions in the STAMP-like programs",
        f"bench/stamp_compare.py --libitm build/lib/tm --variants {STAMP_VARIANTS}"
        " --json papers/results/stamp.json",
    ),
    "transactions.json": (
        "The cost of a transaction",
        "bench/tm_compare.py --json papers/results/transactions.json",
    ),
    START: ("The cost of starting a program", f"bench/start_cost.py --json papers/results/{START}"),
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
SUMMED_UP = "auto"  # the lock of the summary's lines
PASS = "pass"  # shows what the library alone costs


class Goal(NamedTuple):
    """What one number of pthread_load should be: the median, or its ratio to the first lock's."""

    arguments: str  # of pthread_load
    lock: str
    metric: str
    bound: float
    at_most: bool = False
    is_ratio: bool = True


def of_many_threads(arguments: str) -> list[Goal]:
    return [
        Goal(arguments, "auto", "throughput", 0.95),
        Goal(arguments, "auto", "longest_wait_ms", 0.1, at_most=True),
        Goal(arguments, "auto", "share", 0.7, is_ratio=False),
    ]


GOALS = [
    Goal("uncontended", "auto", "cycles", 1, at_most=True),
    Goal("uncontended", "tatas:spin", "cycles", 22, at_most=True, is_ratio=False),
    Goal("uncontended --mutexes 20000", "auto", "cycles", 1, at_most=True),
    Goal("contended --threads 2", "auto", "throughput", 1.2),
    *of_many_threads("contended --threads 8 --waits"),
    *of_many_threads("contended --threads 32 --waits"),
    Goal("memory", "auto", "bytes_per_mutex", 0, at_most=True, is_ratio=False),
]


class ReadmeError(Exception):
    """An input that cannot be used; the text is one line."""


@contextlib.contextmanager
def of_our_benchmarks(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ReadmeError(f"{path}: not written by our benchmarks ({error!r})") from error


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


def programs_table(report: dict, *, goals: bool = True, only: str | None = None) -> str:
    """What bench/programs.py measured: a row for each program and lock beside the first, or for one
    lock only. The pass-through has no goal."""
    rows, base = [], "glibc"
    for workload in report["workloads"]:
        speeds, base = workload["speeds"], next(iter(workload["speeds"]))
        for name, ratio in workload["ratios"].items():
            if only not in (None, name):
                continue
            title = f"{workload['workload']}, {workload['unit']}"
            goal = "-" if name == PASS else f"{workload['at_least']:g}"
            sides = [spread(speeds[base]), f"`{name}`", spread(speeds[name])]
            rows.append([title, *sides, str(Ratio(**ratio)), goal])
    titles = ["program", base, "lock", "with it", f"ratio to {base} (95 %)", "goal"]
    if not goals:
        rows, titles = [row[:-1] for row in rows], titles[:-1]
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


def values(comparison: dict, name: str, metric: str) -> list[float]:
    return [float(each[metric]) for each in comparison["rounds"][name]]


def ratio_to_base(comparison: dict, name: str, metric: str) -> Ratio:
    base = next(iter(comparison["rounds"]))
    return ratio_of_medians(values(comparison, name, metric), values(comparison, base, metric))


def comparison_table(program: str | None, comparison: dict) -> str:
    """One of bench/compare.py's comparisons: a row for each configuration."""
    rounds, metrics = comparison["rounds"], metrics_of(comparison)
    if not metrics:
        raise ReadmeError(f"no known metric in the comparison {comparison['arguments']}")
    base = next(iter(rounds))
    rows = []
    for name in rounds:
        ratio = ratio_to_base(comparison, name, metrics[0])
        cells = [spread(values(comparison, name, metric)) for metric in metrics]
        rows.append([f"`{name}`", *cells, "1" if name == base else str(ratio)])
    titles = [METRIC_NAMES.get(metric, metric) for metric in metrics]
    command = " ".join([Path(program or "pthread_load").name, *comparison["arguments"]])
    count = len(rounds[base])
    return (
        f"`{command}`, {count} rounds:\n\n"
        + markdown(rows, ["lock", *titles, f"ratio to {base} (95 %)"])
        + goals_text(comparison)
    )


def goals_text(comparison: dict) -> str:
    """A line for each goal of one comparison, with what was reached."""
    lines, base = [], next(iter(comparison["rounds"]))
    for goal in GOALS if base == "glibc" else ():
        if goal.arguments.split() != comparison["arguments"]:
            continue
        if goal.lock not in comparison["rounds"]:
            continue
        reached = Summary.of(values(comparison, goal.lock, goal.metric)).median
        if goal.is_ratio:
            reached /= Summary.of(values(comparison, base, goal.metric)).median
        is_met = reached <= goal.bound if goal.at_most else reached >= goal.bound
        lines.append(
            f"- {METRIC_NAMES[goal.metric]}, `{goal.lock}`"
            f"{f' over {base}' if goal.is_ratio else ''}: at {'most' if goal.at_most else 'least'}"
            f" {goal.bound:g}; {number(reached)}, {'reached' if is_met else 'not reached'}\n"
        )
    return "\nGoals:\n\n" + "".join(lines) if lines else ""


def start_table(report: dict) -> str:
    """What bench/start_cost.py measured: a row for each way to start a program."""
    rounds = report["rounds"]
    base = Summary.of([ms for ms, _ in next(iter(rounds.values()))]).median
    rows = []
    for way, each in rounds.items():
        times, kib = [ms for ms, _ in each], [kib for _, kib in each]
        rows.append([way, spread(times), number(Summary.of(times).median - base), spread(kib)])
    return markdown(rows, ["started", "ms", f"more (goal: at most {report['goal_ms']})", "KiB"])


def hardware_table(report: dict) -> str:
    """What bench/hardware_transactions.py measured: a row for each program and way."""
    found, counts = {}, set()
    for row in report["hardware_transactions"]:
        place = (f"{row['suite']}/{row['program']}", f"`{row['base']}`", f"`{row['way']}`")
        found.setdefault(place, {})[row["threads"]] = str(speed_ratio(row))
        counts.add(row["threads"])
    rows = [
        [*place, *(ratios.get(count, "-") for count in sorted(counts))]
        for place, ratios in found.items()
    ]
    titles = [f"{count} thread{'s' * (count > 1)}" for count in sorted(counts)]
    later = "".join(
        f"{suite}/ was measured {how['date']} at commit {how['commit']}.\n"
        for suite, how in report.get("later", {}).items()
    )
    return f"{later}How many times as fast as the locks (95 %):\n\n" + markdown(
        rows, ["program", "locks", "transactions", *titles]
    )


def provenance(report: dict) -> str:
    how = report.get("measured") or report["provenance"]
    rounds = f"{how['rounds']} interleaved" if "rounds" in how else "interleaved"
    return (
        f"Measured {how['date']} at commit {how['commit']} on {how['processors']} x"
        f" {how['processor']},\nLinux {how['kernel']}. Medians of {rounds} rounds (smallest .."
        " largest).\n"
    )


def figure(path: Path, only: str | None = None) -> str:
    """One file of papers/results as Markdown; of programs only one lock, if told."""
    title, command = FIGURES.get(path.name, (path.stem.replace("-", " ").capitalize(), ""))
    with of_our_benchmarks(path):
        report = compactjson.read(path.read_text(encoding="utf-8"))
        head = f"### {title}\n\n{provenance(report)}"
        if "nanoseconds" in report:
            tables = [costs_table(report, markdown)]
        elif "least_share" in report:
            tables = stamp_tables(report, markdown)
        elif "hardware_transactions" in report:
            tables = [hardware_table(report)]
        elif "goal_ms" in report:
            tables = [start_table(report)]
        elif "workloads" in report:
            goals = not path.name.startswith("recording")
            tables = [programs_table(report, goals=goals, only=only)]
        else:
            tables = [
                comparison_table(report.get("program"), each) for each in report["comparisons"]
            ]
    again = f"\nAgain: `{command}`\n" if command else ""
    return "\n".join([head, *tables]) + again


def figures_text(
    folder: Path, wanted: dict, *, others: bool = False, only: str | None = None
) -> str | None:
    """The wanted files of papers/results as Markdown; with others, all that are there beside
    them."""
    known = [folder / name for name in wanted]
    for path in known:
        if not path.is_file():
            print(f"make_readme: no {path.name} in papers/results: left out", file=sys.stderr)
    rest = sorted(set(folder.glob("*.json")) - set(known)) if others else []
    found = [figure(path, only) for path in [*known, *rest] if path.is_file()]
    return "\n".join(found) or None


def summary_table(path: Path) -> str:
    """One line for each of bench/compare.py's comparisons: `auto` beside the first lock."""
    rows, base = [], "glibc"
    with of_our_benchmarks(path):
        report = compactjson.read(path.read_text(encoding="utf-8"))
        for comparison in report["comparisons"]:
            words, metric = comparison["arguments"], metrics_of(comparison)[0]
            base = next(iter(comparison["rounds"]))
            if SUMMED_UP not in comparison["rounds"] or {"--null", "memory"} & set(words):
                continue
            what = f"`{' '.join(words)}`, {METRIC_NAMES.get(metric, metric)}"
            sides = [spread(values(comparison, name, metric)) for name in (base, SUMMED_UP)]
            rows.append([what, *sides, str(ratio_to_base(comparison, SUMMED_UP, metric))])
        head = f"### {LOCKS[path.name][0]}\n\n{provenance(report)}"
    return f"{head}\n" + markdown(
        rows, ["`pthread_load`", base, f"`{SUMMED_UP}`", f"ratio to {base} (95 %)"]
    )


def summary_text(folder: Path) -> str | None:
    found = [summary_table(folder / name) for name in LOCKS if (folder / name).is_file()]
    return "\n".join(found) or None


def texts(folder: Path) -> dict[str, str | None]:
    """What templates may insert: programs and a summary of the locks, or all figures."""
    return {
        "programs": figures_text(folder, PROGRAMS, only=SUMMED_UP),
        "summary": summary_text(folder),
        "figures": figures_text(folder, FIGURES, others=True),
    }
