#!/usr/bin/env python3
"""Plays a trace of an interpreter lock again under every way of choosing the lengths of
transactions, on a simulated machine, and compares them (docs/gil.md, "A trace")."""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from syncopate.bench.onerun import simulated_fields  # noqa: E402

FIXED = ("htm:1", "htm:16", "htm:256")
WAYS = ("gil", *FIXED, "paper:1", "paper:6", "balance", "dynamic")


class Refusal(Exception):
    """What the user can mend: one line."""


def play(program: Path, trace: Path, machine: Path, way: str, limit: float) -> dict:
    command = [str(program), "--trace", str(trace), "--gil", way]
    run = simulated_fields((command, str(machine), limit))
    if "error" in run:
        raise Refusal(f"{trace}, {way}: {run['error']}")
    return run


def aborted(run: dict) -> float:
    """Percent of the transactions begun."""
    lock = run["lock"]
    attempts = lock["transactions"] + lock["aborts"] - lock["fallbacks"]
    return 100 * lock["aborts"] / attempts if attempts else 0.0


def table(trace: Path, runs: dict[str, dict]) -> list[str]:
    """Rows of Markdown: speed over the plain lock and over the best fixed length."""
    first = runs["gil"]["seconds"]
    best = min(runs[way]["seconds"] for way in FIXED)
    lines = [
        f"**{trace.stem}**: {runs['gil']['operations']} stretches",
        "",
        "| lock | speed | of the best fixed | aborted | fell back |",
        "|---|--:|--:|--:|--:|",
    ]
    for way, run in runs.items():
        fell = 100 * run["lock"]["fallbacks"] / max(1, run["lock"]["transactions"])
        lines.append(
            f"| {way} | {first / run['seconds']:.2f} | {best / run['seconds']:.2f} |"
            f" {aborted(run):.1f} % | {fell:.1f} % |"
        )
    return lines


def machine_file(name: str) -> Path:
    found = ROOT / "machines" / f"{name}.toml"
    path = found if found.is_file() else Path(name)
    if not path.is_file():
        raise Refusal(f"there is no machine {name}")
    return path


def compare(options: argparse.Namespace) -> None:
    program = options.programs / "gil_replay.simulated"
    if not program.is_file():
        raise Refusal(f"missing: {program}; build with `make`")
    machine = machine_file(options.machine)
    print(f"*Simulated* on {machine.stem}; speed: over the plain lock.\n")
    for trace in options.traces:
        runs = {}
        for way in WAYS:
            print(f"{trace.name}: {way}", file=sys.stderr, flush=True)
            runs[way] = play(program, trace.resolve(), machine, way, options.limit)
        print("\n".join([*table(trace, runs), ""]), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="+", type=Path, help="what SYNCOPATE_GIL_TRACE named")
    parser.add_argument("--machine", default="zec12-12c", help="a name in machines/ or a file")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/papers/workloads",
                        help="the folder of gil_replay.simulated")  # fmt: skip
    parser.add_argument("--limit", type=float, default=600, help="seconds for one run")
    try:
        compare(parser.parse_args())
    except (Refusal, subprocess.SubprocessError, OSError) as problem:
        print(f"gil_replay: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
