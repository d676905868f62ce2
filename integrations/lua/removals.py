#!/usr/bin/env python3
"""What each conflict removal of lua-mt does on a simulated machine: tables of gil-measured.md.

usage: removals.py FOLDER [--threads N] [--machine NAME] [--mode MODE] [--quick]
FOLDER has bin/lua-mt.simulated (build.sh). Rows: no removal, each alone, all, all but each. Cells:
throughput over one thread with the lock and no removal, and the share of transactions that
aborted, in percent.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "papers/workloads" / "lua"
REMOVALS = ["heap", "lines", "debt", "objects", "strings", "numbers", "collector"]
# Work for each thread grows with the threads where True; else it is split among them.
SIZES = {"alloc": (800, True), "strings": (800, True), "collect": (100, True), "ft": (32, False)}


class Failure(Exception):
    """One line for the user."""


def rows() -> dict[str, str]:
    """Label -> LUA_MT_REMOVE."""
    alone = {f"{name} alone": name for name in REMOVALS}
    but = {f"all but {name}": ",".join(n for n in REMOVALS if n != name) for name in REMOVALS}
    return {"none": "none"} | alone | {"all": "all"} | but


def run(options, program: str, threads: int, mode: str, removed: str) -> tuple[float, str, dict]:
    """Microseconds, the program's result, and the lock's statistics."""
    size = SIZES[program][0] // (4 if options.quick and SIZES[program][1] else 1)
    with tempfile.TemporaryDirectory() as folder:
        statistics = Path(folder) / "gil.json"
        environment = os.environ | {
            "LUA_MT_REMOVE": removed,
            "LUA_MT_LINE": str(options.line),
            "SYNCOPATE_GIL": mode,
            "SYNCOPATE_GIL_STATS": str(statistics),
            "SYNCOPATE_MACHINE": options.machine,
            "SYNCOPATE_MACHINES": str(ROOT / "machines"),
            "SYNCOPATE_QUIET": "1",
        }
        command = [str(options.folder.resolve() / "bin" / "lua-mt.simulated"), f"{program}.lua"]
        done = subprocess.run(
            [*command, str(threads), str(size)],
            cwd=PROGRAMS,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode != 0:
            raise Failure(f"{program}: {done.stderr.strip() or done.returncode}")
        took, result = done.stdout.split()[:2]
        return float(took), result, json.loads(statistics.read_text(encoding="utf-8"))


def abort_ratio(statistics: dict) -> float:
    """Of all transactions that began, the percentage that aborted."""
    aborts = statistics["aborts"]
    attempts = statistics["transactions"] + aborts - statistics["fallbacks"]
    return 100 * aborts / attempts if attempts else 0.0


def table(options) -> str:
    programs = list(SIZES)
    base = {p: run(options, p, 1, "gil", "none") for p in programs}
    lines = ["| removed | " + " | ".join(programs) + " |", "|---" + "|--:" * len(programs) + "|"]
    for label, removed in rows().items():
        cells = []
        for program in programs:
            took, result, statistics = run(options, program, options.threads, options.mode, removed)
            if result != base[program][1]:
                raise Failure(f"{program}, {label}: the result is not that of the plain lock")
            work = options.threads if SIZES[program][1] else 1
            speed = work * base[program][0] / took
            cells.append(f"{speed:.2f}, {abort_ratio(statistics):.0f} %")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where build.sh built lua-mt.simulated")
    parser.add_argument("--threads", type=int, default=12)
    parser.add_argument("--machine", default="zec12-12c")
    parser.add_argument("--line", type=int, default=256, help="bytes of its cache lines")
    parser.add_argument("--mode", default="htm:16", help="SYNCOPATE_GIL")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    options = parser.parse_args()
    program = options.folder / "bin" / "lua-mt.simulated"
    if not program.is_file():
        print(f"removals.py: there is no {program}: run build.sh", file=sys.stderr)
        return 2
    try:
        print(table(options))
    except (Failure, subprocess.TimeoutExpired) as problem:
        print(f"removals.py: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
