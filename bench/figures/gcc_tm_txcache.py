#!/usr/bin/env python3
"""Figures 4 and 6-11 and tables 1-4 of "Transactionalizing Legacy Code" (ASPLOS 2014), measured on
workloads/txcache under memslap over loopback.

    bench/figures/gcc_tm_txcache.py --quick                 about a minute
    bench/figures/gcc_tm_txcache.py --libitm build/lib/tm --json out.json

Every round runs each series once, each round starting with the next one. As in the paper, the
client has as many threads as the server, and each executes the same number of operations: perfect
scaling is a constant time (with as many processors as both have threads). Shown are the seconds of
setting and then getting, medians over rounds. The tables count transactions that ran alone, on
GCC's library as the paper does.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import servers
from interleaved import ROOT, provenance, table

STAGES = ("relaxed", "callable", "max", "lib", "on-commit")
FIGURES = {  # what each shows beside the locks
    "figure 4": [f"{b}-{s}" for b in ("ip", "it") for s in ("relaxed", "callable")],
    "figure 6": [f"{b}-{s}" for b in ("ip", "it") for s in ("callable", "max")],
    "figure 8": [f"{b}-{s}" for b in ("ip", "it") for s in ("callable", "max", "lib")],
    "figure 9": [f"{b}-{s}" for b in ("ip", "it") for s in ("callable", "lib", "on-commit")],
    "figure 10": [
        f"{b}-on-commit{library}" for b in ("ip", "it") for library in ("", "@encounter_time:none")
    ],
    "figure 11": [
        f"ip-on-commit@{each}"
        for each in (
            "encounter_time:none", "encounter_time:backoff", "encounter_time:hourglass",
            "lazy:none", "norec:none", "two_phase:none", "auto",
        )
    ],
}  # fmt: skip
# Transactions, in-flight switch, start serial, abort serial; four threads.
PAPER = {
    "ip-relaxed": (11201538, 625000, 625000, 10),
    "it-relaxed": (3462735, 625000, 1250000, 0),
    "ip-callable": (10511717, 625000, 625000, 10),
    "it-callable": (3467927, 625000, 1250000, 0),
    "ip-max": (24085893, 1162000, 0, 87000),
    "it-max": (6370739, 559000, 1250000, 66000),
    "ip-lib": (25658618, 625000, 0, 15000),
    "it-lib": (8211858, 0, 625000, 10000),
    "ip-on-commit": (40305505, 0, 0, 48000),
    "it-on-commit": (8130896, 0, 0, 8000),
}
TABLES = {
    "table 1": ("relaxed", "callable"),
    "table 2": ("callable", "max"),
    "table 3": ("callable", "max", "lib"),
    "table 4": ("callable", "lib", "on-commit"),
}
COUNTS = ("transactions", "in_flight_switch", "start_serial", "abort_serial")
WHY = {
    "relaxed": "functions of other files are unsafe to GCC 12, so most sections begin alone",
    "callable": "GCC 12 heeds the attribute in one file only; there, all begin and then switch",
    "max": "ip compares keys outside of transactions; it does so inside, by memcmp",
    "lib": "our sections wake and log only when there is something to do, the original's each time",
    "on-commit": "the same",
}


class UseError(Exception):
    """What cannot be run; the text is one line for the user."""


@dataclass(frozen=True)
class Series:
    """STAGE, or STAGE@ALGORITHM[:MANAGER] on our library."""

    text: str

    @property
    def program(self):
        stage = self.text.partition("@")[0]
        return "txcache" if stage == "locks" else f"txcache.{stage}"

    def environment(self, libitm):
        drop = ("LD_LIBRARY_PATH", "SYNCOPATE_TM", "ITM_DEFAULT_METHOD", "LD_PRELOAD")
        clean = {key: value for key, value in os.environ.items() if key not in drop}
        algorithm = self.text.partition("@")[2]
        if not algorithm:
            return clean
        ours = {"SYNCOPATE_TM": algorithm, "SYNCOPATE_TM_STATISTICS": "1"}
        return {**clean, **ours, "LD_LIBRARY_PATH": str(libitm)}


def all_series(libitm):
    texts = ["locks", "semaphores", *(text for shown in FIGURES.values() for text in shown)]
    return [Series(text) for text in dict.fromkeys(texts) if libitm or "@" not in text]


def memslap_seconds(port, threads, operations, test, limit):
    """Seconds in which `threads` connections have executed `operations` each."""
    program = servers.require("memcslap", "libmemcached-tools")
    command = [program, f"--servers=127.0.0.1:{port}", f"--concurrency={threads}",
               f"--execute-number={operations}", f"--test={test}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    found = re.search(rf"Time to {test}\s+\d+ keys by\s+\d+ threads:\s+([\d.]+)", done.stdout)
    if found is None:
        raise UseError(f"memslap printed no time: {(done.stderr or done.stdout)[-200:].strip()}")
    return float(found[1])


def run_once(series, threads, options):
    """One server and its load: {"seconds": ..., the counts, "aborts" per commit where known}."""

    def command(port):
        program = options.build / series.program
        return [str(program), "--port", str(port), "--threads", str(threads), "--memory", "256m"]

    server = Ended(series.program, command, series.environment(options.libitm))
    with server:
        seconds = sum(
            memslap_seconds(server.port, threads, options.operations, test, options.limit)
            for test in ("set", "get")
        )
    lines = [line for line in server.last_output.splitlines() if line.startswith("{")]
    if not lines:
        raise UseError(f"{series.text}: the server ended with {server.status}")
    counts = json.loads(lines[-1])
    result = {"seconds": seconds, **{name: counts[name] for name in COUNTS}}
    statistics_line = re.search(r"commits=(\d+).* restarts=(\d+)", server.last_output)
    if statistics_line and int(statistics_line[1]) > 0:
        result["aborts"] = int(statistics_line[2]) / int(statistics_line[1])
    return result


class Ended(servers.Server):
    """A server whose output is kept when it has ended."""

    last_output = ""

    def stop(self):
        status = super().stop()
        self.last_output = self.output()
        return status


class Progress:
    """One line on standard error that replaces itself, or a line now and then in a log."""

    def __init__(self, total):
        self.done, self.total, self.told = 0, total, time.monotonic()

    def step(self, text):
        self.done += 1
        if sys.stderr.isatty():
            print(f"\r\x1b[K{self.done}/{self.total} {text}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.told > 20:
            self.told = time.monotonic()
            print(f"{self.done}/{self.total} {text}", file=sys.stderr, flush=True)

    def end(self):
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)


def measure(options):
    """{threads: {series text: [result of each round]}}"""
    series = all_series(options.libitm)
    results = {t: {s.text: [] for s in series} for t in options.threads}
    progress = Progress(options.rounds * len(options.threads) * len(series))
    for index in range(options.rounds):
        for threads in options.threads:
            shift = index % len(series)
            for each in series[shift:] + series[:shift]:
                progress.step(f"{each.text}, {threads} threads")
                results[threads][each.text].append(run_once(each, threads, options))
    progress.end()
    return results


def median(runs, name="seconds"):
    return statistics.median(run[name] for run in runs)


def show_figure(name, texts, results):
    shown = [t for t in ("locks", "semaphores", *texts) if t in next(iter(results.values()))]
    rows = []
    for text in shown:
        row = [text]
        for runs in results.values():
            seconds = median(runs[text])
            row.append(f"{seconds:.3f} ({seconds / median(runs['locks']):.2f}x)")
        rows.append(row)
    print(f"\n{name}: seconds, and as a multiple of the locks'\n")
    print(table(rows, ["series \\ threads", *(str(t) for t in results)]))


def share(counts, index):
    text = f"{counts[index]:,}"
    return text if index == 0 else f"{text} ({100 * counts[index] / max(counts[0], 1):.1f}%)"


def show_table(name, stages, results):
    threads = min(results, key=lambda each: abs(each - 4))
    rows = []
    for stage in stages:
        for text in (f"ip-{stage}", f"it-{stage}"):
            ours = [round(median(results[threads][text], count)) for count in COUNTS]
            cells = [f"{share(PAPER[text], i)} / {share(ours, i)}" for i in range(len(COUNTS))]
            rows.append([text, *cells])
    print(f"\n{name}: paper (4 threads, 2.5 million operations) / ours ({threads} threads)\n")
    heads = ["branch", "transactions", "in-flight switch", "start serial", "abort serial"]
    print(table(rows, heads))
    for stage in stages:
        print(f"  why, {stage}: {WHY[stage]}")


def ratio(results, threads, above, below):
    runs = results[threads]
    if above not in runs or below not in runs:
        return None
    return median(runs[above]) / median(runs[below])


def show_claims(results):
    most = max(results)
    eager = "ip-on-commit@encounter_time:none"
    network = "memslap and the network take most of the time"
    claims = [
        ("semaphores cost nothing", "semaphores", "locks", "the same code but for waking"),
        ("callable brings nothing", "ip-callable", "ip-relaxed", network),
        ("maximal: slower", "it-max", "it-callable", "more transactions, but fewer alone"),
        ("safe libraries: faster", "it-lib", "it-max", network),
        ("without serialization, it is faster than ip", "it-on-commit", "ip-on-commit",
         "item locks: two more small transactions a command, but less inside of transactions"),
        ("without the readers/writer lock: faster at many threads", eager, "ip-on-commit",
         "its one cache line does not travel far between two processors"),
        ("and within 1.3x of the locks", eager, "locks", network),
        ("lazy: slower than that", "ip-on-commit@lazy:none", eager, network),
        ("NOrec: slower than that", "ip-on-commit@norec:none", eager, network),
        ("back-off: slower than that at many threads", "ip-on-commit@encounter_time:backoff", eager,
         network),
        ("hourglass: like that", "ip-on-commit@encounter_time:hourglass", eager, network),
    ]  # fmt: skip
    print(f"\npaper / ours ({most} threads) / why\n")
    for paper, above, below, why in claims:
        value = ratio(results, most, above, below)
        if value is not None:
            print(f"  {paper} / {above} to {below}: {value:.2f}x / {why}")


def show_aborts(results):
    most = max(results)
    rows = [
        [text, f"{median(runs, 'aborts'):.4f}"]
        for text, runs in results[most].items()
        if all("aborts" in run for run in runs)
    ]
    if rows:
        print(f"\naborts per commit, {most} threads (paper, 12: NOrec 0.2, lazy 14, GCC 12.6)\n")
        print(table(rows, ["series", "aborts"]))


def arguments(words):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="1 round, 1 and 2 threads, few operations"
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build/release/workloads/txcache")
    parser.add_argument("--libitm", type=Path, default=ROOT / "build/lib/tm", help="ours; folder")
    parser.add_argument("--threads", help="numbers of threads (default: 1,2,4,8)")
    parser.add_argument("--operations", type=int, help="of each thread and test (default: 20000)")
    parser.add_argument("--rounds", type=int, help="(default: 3)")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one load")
    parser.add_argument("--json", type=Path, help="also writes all numbers to this file")
    options = parser.parse_args(words)
    options.operations = options.operations or (3000 if options.quick else 20000)
    options.rounds = options.rounds or (1 if options.quick else 3)
    text = options.threads or ("1,2" if options.quick else "1,2,4,8")
    try:
        options.threads = [int(each) for each in text.split(",")]
    except ValueError as error:
        raise UseError("--threads needs whole numbers, with commas between them") from error
    if min(*options.threads, options.operations, options.rounds, 99) < 1:
        raise UseError("--threads, --operations and --rounds are at least 1")
    if not (options.build / "txcache.ip-relaxed").exists():
        raise UseError(
            f"there is no {options.build}/txcache.ip-relaxed; run `make`, or give --build"
        )
    options.libitm = options.libitm.resolve()
    if not (options.libitm / "libitm.so.1").exists():
        print("no libitm.so.1 of ours: figures 10 and 11 show GCC's alone", file=sys.stderr)
        options.libitm = None
    return options


def main(words=None):
    try:
        options = arguments(words)
        results = measure(options)
    except (UseError, servers.ServerError, subprocess.TimeoutExpired, OSError) as error:
        print(f"gcc_tm_txcache: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ngcc_tm_txcache: stopped", file=sys.stderr)
        return 130
    for name, texts in FIGURES.items():
        show_figure(name, texts, results)
    for name, stages in TABLES.items():
        show_table(name, stages, results)
    show_claims(results)
    show_aborts(results)
    where = provenance()
    print("\n*Measured*: " + "; ".join(f"{key} {value}" for key, value in where.items()))
    if options.json:
        document = {"provenance": where, "operations": options.operations, "results": results}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
