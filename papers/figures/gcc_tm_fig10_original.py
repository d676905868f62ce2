#!/usr/bin/env python3
"""Figure 10, with table 4's last row, of memcached itself as the paper's authors published it."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from claims import claim
from common import Claim, Results, main
from gcc_tm import CHEAP_ALONE, NETWORK, STATED, figure, not_the_papers, share, spread
from gcc_tm_runs import (
    COUNTS,
    MEMSLAP,
    OPERATIONS,
    KeptServer,
    RunError,
    Series,
    measure,
    memslap_seconds,
    servers,
)
from originals import BUILT, pinned
from rules import inside, less, number
from sweep import ROOT, Point

LOCKS, ON_COMMIT = "locks", "it-on-commit"
PROGRAMS = {LOCKS: "memcached/memcached", ON_COMMIT: "memcached-transmem/memcached.semaphore"}
NO_LOCK = f"{ON_COMMIT}@encounter_time:none"
SERIES = (LOCKS, ON_COMMIT, NO_LOCK)
WORDS = ("-U", "0", "-m", "256")  # no datagrams; 256 MB
RECORDED, RECORDED_THREADS = "memslap, transactions recorded", 4
COUNTED = f"{ON_COMMIT}@encounter_time"
WHYS = dict(zip(COUNTS[1:], ("in_flight", "start_serial", "after_failures"), strict=True))
BUILD = "syncopate bench originals --sources DIR --program memcached --program memcached-transmem"


def points(quick: bool) -> list[Point]:
    operations = {"operations": 300 if quick else OPERATIONS[MEMSLAP]}

    def point(panel: str, series: str, threads: int) -> Point:
        program = PROGRAMS[series.partition("@")[0]]
        return Point(panel, series, threads, program, operations, WORDS)

    threads = (1, 2, 4) if quick else (1, 2, 4, 8, 12)
    timed = [point(MEMSLAP, series, n) for series in SERIES for n in threads]
    return [*timed, point(RECORDED, COUNTED, RECORDED_THREADS)]


# ---- one run ----


class Interrupted(KeptServer):
    """memcached 1.4.15 leaves by exit() only as Ctrl-C ends it."""

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            self.process.wait(self.stop_within)
        return super().stop()


def program_of(point: Point, options: argparse.Namespace) -> Path:
    return BUILT / point.program


def run_original(point: Point, options: argparse.Namespace) -> dict:
    """The seconds of a run of sets and gets, and, recorded, how its transactions ran."""
    series, limit = Series(point.series), options.limit
    with tempfile.TemporaryDirectory(prefix="syncopate-figure-") as folder:
        record = Path(folder) / "run.rec"
        before, environment = [], series.environment()
        if point.panel == RECORDED:
            before = [*syncopate(), "record", "--tm", series.algorithm, "-o", str(record), "--"]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}

        def command(port: int) -> list[str]:
            # Another than root could not write root's record.
            name = "root" if before else servers.unprivileged_user()
            user = ["-u", name] if os.geteuid() == 0 else []
            told = ["-l", servers.LOOPBACK, "-p", str(port), "-t", str(point.x), *point.words]
            return [*before, str(program_of(point, options)), *told, *user]

        with Interrupted(point.series, command, environment) as server:
            operations = point.options["operations"]
            seconds = sum(
                memslap_seconds(server.port, point.x, operations, test, limit, ("--binary",))
                for test in ("set", "get")
            )
        return {"seconds": seconds} | (recorded(record, limit) if before else {})


def syncopate() -> list[str]:
    return [sys.executable, "-m", "syncopate"]


def recorded(record: Path, limit: float) -> dict:
    """How many transactions a record has, and how many of them ran alone, by the paper's words."""
    said = subprocess.run(
        [*syncopate(), "report", "--json", record], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, timeout=limit, check=False,
    )  # fmt: skip
    if said.returncode != 0:
        raise RunError(f"no report: {said.stderr[-200:].decode(errors='replace').strip()}")
    (report,) = json.loads(said.stdout)["records"]
    sites = report["transactions"]["sites"]
    alone = {name: sum(site["alone"][why] for site in sites) for name, why in WHYS.items()}
    return {"transactions": sum(site["committed"] for site in sites), **alone}


# ---- what is stated ----


def compared(results: Results, paper: str, above: str, below: str, rule, why: str, xs) -> Claim:
    return claim(
        paper,
        rule,
        {f"{MEMSLAP}: {x} threads": spread(results, MEMSLAP, above, below, x) for x in xs},
        f"{NETWORK}; {why}",
        what=f"time of {above} over {below}",
        beyond=not_the_papers(results.figure.machine),
    )


def table_row(results: Results) -> Claim:
    run = results.run(RECORDED, COUNTED, RECORDED_THREADS) or {}
    columns = {1: "in flight", 2: "at start"}
    found = tuple(round(run.get(name, 0)) for name in COUNTS)
    return claim(
        "table 4: on-commit, IT, how many transactions run alone for a call",
        number({f"{ON_COMMIT}: {name}": round(100 * share(STATED[ON_COMMIT], i), 1)
                for i, name in columns.items()}, neutral=None, printed=0.1),
        {f"{ON_COMMIT}: {name}": 100 * share(found, i) if run else float("nan")
         for i, name in columns.items()},
        unit=" %",
        what="IT, authors'",
        headline="table 4: how many transactions run alone, on-commit",
    )  # fmt: skip


def claims(results: Results) -> list[Claim]:
    xs = results.xs(MEMSLAP)
    return [
        compared(
            results, "at high thread counts that lock is the primary source of overhead", NO_LOCK,
            ON_COMMIT, less(clearly=True), CHEAP_ALONE, xs[-1:],
        ),
        compared(
            results, "performance is within 30 % of the baseline", NO_LOCK, LOCKS,
            inside(0.7, 1.3), "every access of a section is a call", xs,
        ),
        table_row(results),
    ]  # fmt: skip


NOTES = f"""\
The programs: {pinned("memcached-transmem")}, which is the paper's last stage of the branch IT, and
{pinned("memcached")}, built by `syncopate bench originals`. GCC 12 refuses the former as it is; in
the copy that is built, functions are `transaction_safe` in all of their declarations. `@` names an
algorithm and a contention manager of our library. How transactions ran is of a run of its own, by
`syncopate record --tm`. memslap has `--binary`, as in the paper, which has 12 cores: rows about
times are no evidence for the paper's where the machine has fewer.\
"""

FIGURE = replace(
    figure("fig10", "the authors' own program", [], claims),
    name="gcc_tm_fig10_original",
    points=points,
    original="memcached memcached-transmem",
    notes=NOTES,
    measure=partial(measure, one=run_original, of=program_of, build=BUILD),
)

if __name__ == "__main__":
    sys.exit(main(FIGURE))
