"""Runs of papers/workloads/txcache for the figures of "Transactionalizing Legacy Code" (ASPLOS
2014).

Two panels: the server under memslap over loopback, whose client has as many threads as the server,
as in the paper; and the cache alone under its own load, without a network, since with two
processors the network takes most of the time. Each thread executes the same number of operations:
perfect scaling, with processors for all, is a constant time.

Every round runs each series once, each round starting with the next one.
"""

import argparse
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from common import Checkpoint, Figure, Point, Refusal
from sweep import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import servers

from syncopate.base.paths import find
from syncopate.bench.onerun import digest
from syncopate.bench.text import duration
from syncopate.launch import transactions

MEMSLAP, ALONE = "memslap over loopback", "without a network"
COUNTS = ("transactions", "in_flight_switch", "start_serial", "abort_serial")
OPERATIONS = {MEMSLAP: 2000, ALONE: 8000}  # of each thread; memslap: set so many, then get so many
ROUNDS = 5


class RunError(Exception):
    """A run without a result; the text is one line."""


def without_hardware() -> dict[str, str]:
    """GCC's library would take hardware transactions, which the paper's machine had not."""
    found = re.search(r"^flags\s*:.*\brtm\b", Path("/proc/cpuinfo").read_text(), re.M)
    return {"ITM_DEFAULT_METHOD": "ml_wt"} if found else {}


@dataclass(frozen=True)
class Series:
    """STAGE on GCC's library, or STAGE@ALGORITHM[:MANAGER] on ours."""

    text: str

    def program(self, folder: Path) -> Path:
        stage = self.text.partition("@")[0]
        return folder / "txcache" / ("txcache" if stage == "locks" else f"txcache.{stage}")

    @property
    def algorithm(self) -> str:
        return self.text.partition("@")[2]

    def environment(self) -> dict[str, str]:
        drop = ("LD_LIBRARY_PATH", "SYNCOPATE_TM", "ITM_DEFAULT_METHOD", "LD_PRELOAD")
        clean = {key: value for key, value in os.environ.items() if key not in drop}
        if not self.algorithm:
            return clean | without_hardware()
        folder = Path(find(transactions.LIBRARY)).parent
        ours = {"SYNCOPATE_TM": self.algorithm, "SYNCOPATE_TM_STATISTICS": "1"}
        return clean | ours | {"LD_LIBRARY_PATH": str(folder)}


def points_of(series: list[str], quick: bool) -> list[Point]:
    """One figure's: the locks, the semaphores and `series`, in both panels."""
    threads = (1, 2, 4) if quick else (1, 2, 4, 8, 12)
    return [
        Point(panel, text, n, "txcache", {"operations": 300 if quick else OPERATIONS[panel]})
        for panel in (MEMSLAP, ALONE)
        for text in ("locks", "semaphores", *series)
        for n in threads
    ]


# ---- one run ----


class KeptServer(servers.Server):
    """A server whose output is kept when it has ended."""

    last_output = ""

    def stop(self):
        status = super().stop()
        self.last_output = self.output()
        return status


def memslap_seconds(
    port: int, threads: int, operations: int, test: str, limit: float, more: tuple[str, ...] = ()
) -> float:
    """Seconds in which `threads` connections have executed `operations` each."""
    command = ["memcslap", *more, f"--servers=127.0.0.1:{port}", f"--concurrency={threads}",
               f"--execute-number={operations}", f"--test={test}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    found = re.search(rf"Time to {test}\s+\d+ keys by\s+\d+ threads:\s+([\d.]+)", done.stdout)
    if found is None:
        raise RunError(f"memslap printed no time: {(done.stderr or done.stdout)[-200:].strip()}")
    return float(found[1])


def run_under_memslap(series: Series, point: Point, options: argparse.Namespace) -> dict:
    def command(port: int) -> list[str]:
        program = series.program(options.programs)
        return [str(program), "--port", str(port), "--threads", str(point.x), "--memory", "256m"]

    server = KeptServer(series.text, command, series.environment())
    with server:
        seconds = sum(
            memslap_seconds(server.port, point.x, point.options["operations"], test, options.limit)
            for test in ("set", "get")
        )
    return {**counts_of(server.last_output), "seconds": seconds}


def run_alone(series: Series, point: Point, options: argparse.Namespace) -> dict:
    load = f"1,{point.options['operations']},{point.x}"
    command = [str(series.program(options.programs)), "--self-load", load, "--self-check", "0"]
    done = subprocess.run(
        command, env=series.environment(), capture_output=True, text=True,
        timeout=options.limit, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RunError(f"{series.text} ended with {done.returncode}: {done.stderr[-200:].strip()}")
    return counts_of(done.stdout + done.stderr)


def counts_of(output: str) -> dict:
    """What the program says at its end, with the aborts per commit where our library tells."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        raise RunError(f"no result: {output[-200:].strip()}")
    said = json.loads(lines[-1])
    result = {name: said[name] for name in ("seconds", *COUNTS) if name in said}
    found = re.search(r"commits=(\d+).* restarts=(\d+)", output)
    if found and int(found[1]) > 0:
        result["aborts"] = int(found[2]) / int(found[1])
    return result


Run = Callable[[Point, argparse.Namespace], dict]  # one run's results; raises a RunError


def run_txcache(point: Point, options: argparse.Namespace) -> dict:
    run = run_under_memslap if point.panel == MEMSLAP else run_alone
    return run(Series(point.series), point, options)


def run_point(point: Point, options: argparse.Namespace, run: Run) -> dict:
    """The point's place with the result, or with `error`."""
    try:
        return point.place() | run(point, options)
    except (RunError, servers.ServerError, subprocess.TimeoutExpired, OSError) as error:
        return point.place() | {"error": " ".join(str(error).split())}


# ---- a figure's sweep ----


Program = Callable[[Point, argparse.Namespace], Path]


def program_of(point: Point, options: argparse.Namespace) -> Path:
    return Series(point.series).program(options.programs)


def check(points: list[Point], options: argparse.Namespace, of: Program, build: str) -> None:
    """Raises a Refusal unless everything that the points need is there."""
    try:
        servers.require("memcslap", "libmemcached-tools")
    except servers.ServerError as error:
        raise Refusal(str(error)) from None
    for point in points:
        series = Series(point.series)
        if not of(point, options).is_file():
            raise Refusal(f"there is no {of(point, options)}; build with `{build}`")
        if series.algorithm and find(transactions.LIBRARY) is None:
            raise Refusal(f"there is no {transactions.LIBRARY}; build with `make`")


def identity(point: Point, index: int, program: Path) -> str:
    """The same for runs of which one is enough."""
    series = Series(point.series)
    library = digest(Path(find(transactions.LIBRARY))) if series.algorithm else ""
    parts = [point.place(), point.options, index, digest(program), library]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def in_order(points: list[Point], index: int) -> list[Point]:
    """A round: for each panel and number of threads every series, from the index-th on."""
    places = list(dict.fromkeys((point.panel, point.x) for point in points))
    ordered = []
    for place in places:
        series = [point for point in points if (point.panel, point.x) == place]
        shift = index % len(series)
        ordered += series[shift:] + series[:shift]
    return ordered


def measure(
    figure: Figure, options: argparse.Namespace, kept: Checkpoint, *, one: Run = run_txcache,
    of: Program = program_of, build: str = "make",
) -> list[dict]:  # fmt: skip
    """One result a point, of all rounds. Says on standard error how far it is. one: what runs a
    point. of: its program, which `build` makes."""
    points = figure.points(options.quick)
    check(points, options, of, build)
    rounds = range(1 if options.quick else ROUNDS)
    todo = [(point, index) for index in rounds for point in in_order(points, index)]
    began, told, ran = time.monotonic(), time.monotonic(), 0
    runs: dict[Point, list[dict]] = {}
    for done, (point, index) in enumerate(todo):
        key = identity(point, index, of(point, options))
        run = kept.get(key, point)
        if run is None:
            run, ran = run_point(point, options, one), ran + 1
            kept.put(key, run)
        runs.setdefault(place_of(point), []).append(run)
        if "error" in run or time.monotonic() - told > 10:
            told = time.monotonic()
            left = (told - began) / max(ran, 1) * (len(todo) - done - 1)
            said = f"[{done + 1}/{len(todo)}] {point.text()}, round {index + 1}"
            said += f": {run['error']}" if "error" in run else f"; about {duration(left)} left"
            print(said, file=sys.stderr, flush=True)
    return [together(runs[place_of(point)]) for point in points]


def place_of(point: Point) -> tuple[str, str, int]:
    return point.panel, point.series, point.x


def together(runs: list[dict]) -> dict:
    """All rounds of one point: every time, the medians of the counts."""
    failed = next((run for run in runs if "error" in run), None)
    if failed:
        return failed
    first = runs[0]
    result = {name: first[name] for name in ("panel", "series", "x")}
    result["seconds"] = [round(run["seconds"], 6) for run in runs]
    for name in (*COUNTS, "aborts"):
        if name in first:
            result[name] = round(statistics.median(run[name] for run in runs), 4)
    return result
