"""`syncopate bench regret`: where one lock loses to the best of several, and how much.

A matrix of threads, section, work outside and foreign load; at each point every lock runs in turn,
each round starting with the next one. The regret of a lock is its figure over the best one's.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from contextlib import contextmanager
from statistics import median

from syncopate.base import ending, wholefile
from syncopate.base.arguments import Parser, seconds
from syncopate.base.errors import BAD_USE, FAILED, Failure
from syncopate.base.units import several
from syncopate.bench.configuration import Configuration, ConfigurationError
from syncopate.bench.jobs import build_folders
from syncopate.bench.provenance import provenance
from syncopate.bench.ratios import FEWEST_PAIRED, finite, ratio_of_medians
from syncopate.bench.text import table

DEFAULT_LOCKS = "glibc,auto,tatas,mcs,ticket"
# Computes as long as we are there, however we end.
SPINNING = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(100_000): pass
"""
SPINNER = [sys.executable, "-I", "-S", "-c", SPINNING]
SHADES = " .:-=+*#%@"  # of regret: blank at the best, @ at a tenth of it or less
EPILOG = """\
Sections are in cycles of the time-stamp counter; what is outside is a multiple of the section (of
100 cycles where that is empty). The first of --locks is what ratios are to. Each point takes
rounds x locks x seconds. Ratios have intervals of 95 % from five rounds on. A matrix says nothing
of a machine that does other work meanwhile.
"""


def main(arguments: list[str]) -> int:
    parser = Parser("bench regret", epilog=EPILOG, description="Where a lock loses, and how much.")
    parser.add_argument("--locks", default=DEFAULT_LOCKS, help="default %(default)s")
    parser.add_argument("--of", default="auto", metavar="LOCK", help="whose regret: %(default)s")
    parser.add_argument("--threads", default="2,8", help="default %(default)s")
    parser.add_argument(
        "--sections", default="0,200,2000", metavar="CYCLES", help="default %(default)s"
    )
    parser.add_argument(
        "--outside", default="0,1,10", metavar="MULTIPLES", help="default %(default)s"
    )
    parser.add_argument(
        "--foreign", default="0,2", metavar="N", help="busy processes beside: %(default)s"
    )
    parser.add_argument("--rounds", type=int, default=5, help="default %(default)s")
    parser.add_argument("--seconds", type=seconds, default=0.5, help="of each run: %(default)s")
    parser.add_argument("--json", metavar="FILE", help="also write the matrix there")
    parser.add_argument("--build", metavar="FOLDER", help="where the programs were built")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    locks = list(dict.fromkeys(options.locks.split(",")))
    if options.of not in locks:
        parser.error(f"--of: '{options.of}' is not one of --locks")
    grid = points(*(numbers(getattr(options, axis), axis) for axis in AXES))
    try:
        configurations = [Configuration.parse(text) for text in locks]
    except ConfigurationError as error:
        raise Failure(f"bench: {error}", BAD_USE) from error
    if options.json:
        wholefile.check_place(options.json, "bench regret: --json")
    program = load_program(options.build)
    rows = []
    for point in grid:
        sys.stderr.write(f"{point_name(point)}\n")
        runs = measure(program, configurations, point, options.rounds, options.seconds)
        rows.append({**point, "locks": {lock: figures(of) for lock, of in runs.items()},
                     **judge(runs, locks[0], options.of)})  # fmt: skip
    print(report(rows, locks[0], options.of))
    if options.json:
        content = {"measured": provenance(), "base": locks[0], "of": options.of, "points": rows}
        wholefile.write(options.json, [json.dumps(content), "\n"])
    return 0


# ---- the points ---------------------------------------------------------------------------------

AXES = ("threads", "sections", "outside", "foreign")


def numbers(text: str, axis: str) -> list[int]:
    """The numbers of one axis, in order and once each; a Failure where they are none."""
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    least = 1 if axis == "threads" else 0
    if not found or min(found) < least:
        raise Failure(f"bench: --{axis} '{text}': whole numbers from {least} on", BAD_USE)
    return list(dict.fromkeys(found))


def points(threads: list[int], sections: list[int], outside: list[int], foreign: list[int]):
    """Every combination: {threads, section, outside, foreign}; section and outside in cycles."""
    return [
        {"threads": t, "section": s, "outside": multiple * (s or 100), "foreign": f}
        for f, t, s, multiple in itertools.product(foreign, threads, sections, outside)
    ]


def point_name(point: dict) -> str:
    beside = f", beside {point['foreign']}" if point["foreign"] else ""
    return f"{point['threads']} threads, {point['section']} in, {point['outside']} out{beside}"


# ---- running ------------------------------------------------------------------------------------


def load_program(build: str | None = None) -> str:
    folders = build_folders(build)
    for folder in folders:
        for place in (folder / "bench", folder / "bin"):
            if (place / "pthread_load").is_file():
                return str(place / "pthread_load")
    raise Failure(
        f"bench: pthread_load is not in {' or '.join(map(str, folders))};"
        " run `make` in the source tree, or name its build folder with --build",
        FAILED,
    )


@contextmanager
def foreign_load(processes: int):
    """So many processes that compute, and end with the block."""
    busy: list[subprocess.Popen] = []
    try:
        for _ in range(processes):
            with ending.later():  # one in the middle of it would leave a process nobody knows
                command = [*SPINNER, str(os.getpid())]
                busy.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def measure(program: str, configurations: list, point: dict, rounds: int, seconds: float):
    """{lock: [what pthread_load printed, by round]}, interleaved."""
    command = [program, "contended", "--waits", "--vary", "--threads", str(point["threads"])]
    command += ["--work-in", str(point["section"]), "--work-out", str(point["outside"])]
    command += ["--seconds", str(seconds)]
    runs: dict[str, list[dict]] = {each.text: [] for each in configurations}
    with foreign_load(point["foreign"]):
        for index in range(rounds):
            shift = index % len(configurations)
            for each in configurations[shift:] + configurations[:shift]:
                runs[each.text].append(run_once(command, each, seconds))
    return runs


def run_once(command: list[str], configuration: Configuration, seconds: float) -> dict:
    try:
        done = subprocess.run(
            command,
            env=configuration.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60 + 20 * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Failure(
            f"bench: {configuration.text}: no end in {error.timeout} s", FAILED
        ) from error
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Failure(f"bench: {configuration.text}: {last[0]}", FAILED)
    return json.loads(done.stdout)


# ---- judging ------------------------------------------------------------------------------------


def figures(runs: list[dict]) -> dict:
    """The medians of one lock's runs; longest_wait_ms: the longest of all. processor_us: None where
    no section was done."""
    return {
        "throughput": median(run["throughput"] for run in runs),
        "p999_wait_us": median(run["p999_wait_us"] for run in runs),
        "longest_wait_ms": max(run["longest_wait_ms"] for run in runs),
        "processor_us": finite(median(processor_us(run) for run in runs)),
        "share": median(run["share"] for run in runs),
    }


def processor_us(run: dict) -> float:
    """Processor time of a section, in microseconds; infinite where none was done."""
    done = run["throughput"] * run["seconds"]
    return 1e6 * run["cpu_seconds"] / done if done else math.inf


def judge(runs: dict[str, list[dict]], base: str, of: str) -> dict:
    """The best lock by throughput; the regret of `of`; its ratio to `base`, with 95 % interval.

    None: what no run tells, as where no section was done, or of too few rounds."""
    rates = {lock: [run["throughput"] for run in each] for lock, each in runs.items()}
    best = max(rates, key=lambda lock: median(rates[lock]))
    most = median(rates[best])
    ratio = ratio_of_medians(rates[of], rates[base]).told(len(rates[of]), FEWEST_PAIRED)
    return {
        "best": best if most else None,
        "regret": median(rates[of]) / most if most else None,
        "ratio": finite(ratio.value),
        "interval": [finite(ratio.low), finite(ratio.high)],
    }


def shade(regret: float | None) -> str:
    """One character: blank where the lock is the best, darker the more it loses."""
    if regret is None:
        return "?"
    lost = min(max(1 - regret, 0.0), 0.9)
    return SHADES[round(lost * 10)]


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


def report(rows: list[dict], base: str, of: str) -> str:
    cells = []
    for row in rows:
        mine, other = row["locks"][of], row["locks"][base]
        cells.append([
            point_name(row), shade(row["regret"]), shown(row["regret"]), row["best"] or "-",
            f"{shown(row['ratio'])} [{', '.join(map(shown, row['interval']))}]",
            *(quotient(mine[key], other[key])
              for key in ("p999_wait_us", "longest_wait_ms", "processor_us")),
        ])  # fmt: skip
    heads = ["point", "", f"{of} / best", "best", f"{of} / {base}", "p99.9", "longest", "processor"]
    ratios = [row["ratio"] for row in rows if row["ratio"]]
    mean = f"{geometric_mean(ratios):.2f}" if ratios else "-"
    highest = [row["interval"][1] for row in rows if row["interval"][1] is not None]
    below = sum(each < 0.97 for each in highest)
    near = sum((row["regret"] or 0) >= 0.9 for row in rows)
    without = len(rows) - len(ratios)
    left_out = f", without {without} where one of them did no section" if without else ""
    return (
        f"{table(cells, heads)}\n\n"
        f"{of} over {base}: geometric mean {mean} of {several(len(ratios), 'point')}{left_out}."
        f" Of {several(len(highest), 'point')} with an interval, below 0.97 with the whole of it:"
        f" {below}. Of {several(len(rows), 'point')}, with 0.9 of the best lock or more: {near}."
    )


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def quotient(above: float | None, below: float | None) -> str:
    return "-" if above is None or not below else f"{above / below:.2f}"
