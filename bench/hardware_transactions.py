#!/usr/bin/env python3
"""What hardware transactions give here: locks and what takes their place, on the papers' programs.

    bench/hardware_transactions.py --json papers/results/hardware_transactions.json
    bench/hardware_transactions.py --only stamp,lua --repeat 3

Runs each suite by `syncopate bench run`, interleaved, with 1 and 2 threads: first the locks, then
the ways that use transactions. A finished run is kept in build/hardware; the same command goes on
after Ctrl-C (--fresh: from the beginning). With --only the file's other suites stay as they are.
Ratios are of speeds: above 1 transactions win. Where none commits (`syncopate doctor`: rtm), there
is nothing to measure, and it says so.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from interleaved import ROOT, number, provenance, ratio_of_medians, table

from syncopate.base import compactjson
from syncopate.commands import doctor

FOLDER = ROOT / "build" / "hardware"


@dataclass(frozen=True)
class Sweep:
    suite: str
    variants: tuple[str, ...]  # the first one takes locks
    programs: tuple[str, ...] = ()  # all, if none
    repeat: int = 5


SWEEPS = (
    Sweep("array", ("tatas", "htm-1", "htm-10")),
    Sweep("map", ("tatas", "htm-1", "htm-10"), ("10k-20", "10k-100")),
    Sweep("cache", ("tatas", "htm-1", "htm-10")),
    Sweep("tree", ("tatas", "htm-1", "htm-10"), ("200k",)),
    Sweep("clomp", ("small_atomic", "small_tm", "large_tm")),
    Sweep("histogram", ("mutex", "elided", "coarsened", "adaptive")),
    Sweep("physics", ("mutex", "elided", "lockset", "coarsened", "adaptive")),
    Sweep("hpc", ("original", "elided", "lockset", "coarsened", "adaptive"), repeat=3),
    Sweep("rmstm", ("sgl", "tsx"), repeat=3),
    Sweep(
        "stamp",
        ("lock", "elided", "tm:htm", "tm:htm+global_lock", "tm:auto", "tm:stock", "tm:stock:ml_wt"),
        repeat=3,
    ),
    Sweep("netstack", ("mutex", "tsx.abort", "tsx.cond"), repeat=3),
)

# Lua with its interpreter lock, at sizes of some 50 ms: papers/workloads/lua/NAME.lua THREADS SIZE.
LUA = Sweep("lua", ("gil", "htm:16", "htm:256", "paper:1", "balance"))
LUA_SIZES = {"while": 3_000_000, "iterator": 1_500_000, "is": 400_000, "cg": 4_000, "ft": 64,
             "strings": 60_000}  # fmt: skip


def commits_here() -> bool:
    return any(each.name == "rtm" and each.state == "good" for each in doctor.features())


def measure(sweep: Sweep, threads: str, options) -> dict:
    """Runs one suite; returns its result file."""
    result = FOLDER / f"{sweep.suite}.bench.json"
    fresh = ["--fresh"] * options.fresh
    for program in sweep.programs or ("",):
        what = f"{sweep.suite}/{program}" if program else sweep.suite
        command = [sys.executable, "-m", "syncopate", "bench", "run", what, "--out", str(result),
                   "--variant", ",".join(sweep.variants), "--threads", threads,
                   "--repeat", str(options.repeat or sweep.repeat), *fresh]  # fmt: skip
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise SystemExit(f"hardware_transactions: {what} ended with {done.returncode}")
        fresh = []
    return json.loads(result.read_text(encoding="utf-8"))


def measure_lua(threads: str, rounds: int) -> dict:
    """The same for LUA, whose suite has one size. Every way must have the lock's result."""
    runs, results = [], {}
    for repetition in range(rounds):
        for program, size in LUA_SIZES.items():
            for count in map(int, threads.split(",")):
                for way in LUA.variants:
                    command = [str(ROOT / "build/lua/bin/lua-mt"), f"{program}.lua", str(count),
                               str(size)]  # fmt: skip
                    done = subprocess.run(
                        command, cwd=ROOT / "papers/workloads/lua", capture_output=True, text=True,
                        env={**os.environ, "SYNCOPATE_GIL": way}, check=False,
                    )  # fmt: skip
                    took, _, result = done.stdout.strip().partition(" ")
                    if done.returncode or results.setdefault((program, count), result) != result:
                        raise SystemExit(f"hardware_transactions: {program}.lua {count} {way}: "
                                         f"{done.stderr.strip() or result}")  # fmt: skip
                    place = {"program": program, "threads": count, "variant": way}
                    values = {"us": float(took)}
                    runs.append({**place, "repetition": repetition, "values": values})
    return {"runs": runs}


def rows_of(sweep: Sweep, result: dict) -> list[dict]:
    """A row for each program, number of threads and way: its values beside those of the locks."""
    found = {}
    for run in result["runs"]:
        metric, value = next(iter(run["values"].items()))
        place = found.setdefault((run["program"], run["threads"], metric), {})
        place.setdefault(run["variant"], {})[run["repetition"]] = value
    base, *others = sweep.variants
    rows = []
    for (program, threads, metric), ways in found.items():
        for way in others:
            both = sorted(ways.get(base, {}).keys() & ways.get(way, {}).keys())
            if both:
                rows.append({
                    "suite": sweep.suite, "program": program, "threads": threads,
                    "metric": metric, "base": base, "way": way,
                    "base_values": [ways[base][i] for i in both],
                    "values": [ways[way][i] for i in both],
                })  # fmt: skip
    return rows


def added_to(known: dict, report: dict) -> dict:
    """The report with the rows of suites that were not measured now; `measured` stays theirs, and
    `later` says by suite how the new ones were."""
    now = {row["suite"] for row in report["hardware_transactions"]}
    kept = [row for row in known["hardware_transactions"] if row["suite"] not in now]
    if not kept:
        return report
    later = known.get("later", {}) | dict.fromkeys(sorted(now), report["measured"])
    rows = kept + report["hardware_transactions"]
    return {"measured": known["measured"], "later": later, "hardware_transactions": rows}


def speed_ratio(row: dict):
    """How many times as fast as the locks; both were measured in the same rounds."""
    values, base = row["values"], row["base_values"]
    is_time = row["metric"] in ("time", "seconds", "us")
    return ratio_of_medians(base, values) if is_time else ratio_of_medians(values, base)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="suites, comma-separated")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeat", type=int, help="rounds; default: the suite's own, 3 or 5")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--json", help="also write the numbers to this file")
    options = parser.parse_args()
    suites = [sweep.suite for sweep in (*SWEEPS, LUA)]
    wanted = options.only.split(",") if options.only else suites
    if unknown := set(wanted) - set(suites):
        known = ", ".join(suites)
        parser.error(f"no suite {', '.join(sorted(unknown))} here; there are {known}")
    if not commits_here():
        print("hardware_transactions: transactions do not commit on this machine (syncopate doctor "
              "says why); the simulated and emulated machines run the same programs",
              file=sys.stderr)  # fmt: skip
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = []
    for sweep in SWEEPS:
        if sweep.suite in wanted:
            rows += rows_of(sweep, measure(sweep, options.threads, options))
    if LUA.suite in wanted:
        if not (ROOT / "build/lua/bin/lua-mt").is_file():
            parser.error("suite lua: `make lua` builds it")
        rows += rows_of(LUA, measure_lua(options.threads, options.repeat or LUA.repeat))
    cells = [
        [f"{row['suite']}/{row['program']}", str(row["threads"]), row["base"], row["way"],
         number(row["base_values"][0]), str(speed_ratio(row))]
        for row in rows
    ]  # fmt: skip
    print(table(cells, ["program", "threads", "locks", "transactions", "locks'", "speed (95 %)"]))
    if options.json:
        report = {"measured": provenance(), "hardware_transactions": rows}
        if Path(options.json).is_file():
            report = added_to(
                compactjson.read(Path(options.json).read_text(encoding="utf-8")), report
            )
        Path(options.json).write_text(compactjson.tables(report), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
