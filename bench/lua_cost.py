#!/usr/bin/env python3
"""What the interpreter lock costs Lua programs of one thread: lua-mt over Lua without any lock.

Where the compiler puts the interpreter's loop moves a short loop by a third, with or without a
lock. So both programs are built several times, their code 16 bytes further on and the loop aligned
in another way each time (integrations/lua/build.sh build/lua build plain native layouts), and a
ratio is the mean over one program's layouts above the mean over the other's, each layout's time the
median of rounds in turn. Its interval (95 %) is that of two means over so many layouts; COUNT=24 in
front of build.sh makes more of them.

Seconds are the processor's, of the whole run, its start included. With --instructions valgrind
counts what is executed instead, in a twentieth of the steps and without the start: that depends on
no layout.
"""

import argparse
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from syncopate.bench.provenance import provenance  # noqa: E402
from syncopate.bench.text import number, table  # noqa: E402

PROGRAMS = ROOT / "papers/workloads" / "lua"
NAMES = ("lua-plain", "lua-mt")
GOAL = 1.03

# N stands for a number of steps.
SHORT = {
    "additions": (48_000_000, "local x = 0 for i = 1, N do x = x + i % 7 end"),
    "empty loop": (96_000_000, "for i = 1, N do end"),
    "while": (36_000_000, "local i = 0 while i < N do i = i + 1 end"),
    "repeat": (36_000_000, "local i = 0 repeat i = i + 1 until i == N"),
    "array": (400_000, "local t = {} for i = 1, 100 do t[i] = i end local s = 0"
              " for k = 1, N do for i = 1, 100 do s = s + t[i] end end"),
    "fields": (20_000_000, "local t = {x = 1, y = 2} for i = 1, N do t.x = t.x + t.y end"),
    "calls": (400, "local function f(n) if n < 2 then return n end return f(n-1) + f(n-2) end"
              " for i = 1, N do f(21) end"),
    "tables": (2_500_000, "local l for i = 1, N do l = {value = i, next = i % 10 ~= 0 and l or nil}"
               " end"),
    "strings": (2_500_000, "local seen = {} for i = 1, N do local w = 'w' .. (i % 5001)"
                " seen[w] = (seen[w] or 0) + 1 end"),
    "math.floor": (12_000_000, "local f, s = math.floor, 0 for i = 1, N do s = s + f(i / 3) end"),
}  # fmt: skip

# Programs of papers/workloads/lua with one thread, and their sizes.
LONG = {"bt": 36, "cg": 40_000, "ft": 256, "is": 1_000_000, "lu": 560, "mg": 32, "sp": 36}
LITTLE = {"bt": 6, "cg": 600, "ft": 16, "is": 12_000, "lu": 48, "mg": 8, "sp": 6}
# What they need of the module `thread`: in both programs what a thread would do is done at once, so
# that neither makes any.
STAND_IN = (
    "thread = {now = os.clock, start = function(work, ...)"
    " local result = work(...) return {join = function() return result end} end,"
    " channel = function() return {send = function() end} end}"
)


class Refusal(Exception):
    """What the user can mend: one line."""


@dataclass(frozen=True)
class Program:
    name: str
    arguments: Callable[[bool], list[str]]  # whether little work -> what follows lua's name


def programs() -> list[Program]:
    def short(steps: int, text: str):
        return lambda little: ["-e", text.replace("N", str(steps // (20 if little else 1)))]

    def long(name: str):
        return lambda little: [f"{name}.lua", "1", str((LITTLE if little else LONG)[name])]

    found = [Program(name, short(*what)) for name, what in SHORT.items()]
    return found + [Program(name, long(name)) for name in LONG]


NOTHING = Program("start", lambda little: ["-e", ""])


def environment(interpreter: Path) -> dict[str, str]:
    """Nothing of the user's own settings; the plain lock."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("LUA", "SYNCOPATE_"))}
    own = {} if interpreter.name.startswith(NAMES[0]) else {"SYNCOPATE_GIL": "gil"}
    return inherited | {"LUA_INIT": STAND_IN} | own


def run(command: list[str], interpreter: Path, limit: float) -> str:
    """Returns what it wrote to standard error."""
    try:
        done = subprocess.run(command, cwd=PROGRAMS, env=environment(interpreter), timeout=limit,
                              capture_output=True, text=True, check=False)  # fmt: skip
    except OSError as error:
        raise Refusal(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if not line.startswith("==")]
        raise Refusal(f"{interpreter.name}: {said[0] if said else f'status {done.returncode}'}")
    return done.stderr


def seconds(interpreter: Path, program: Program, limit: float) -> float:
    """Of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run([str(interpreter), *program.arguments(False)], interpreter, limit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def instructions(interpreter: Path, program: Program, limit: float) -> float:
    count = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(interpreter)]
    said = run([*count, *program.arguments(True)], interpreter, limit)
    found = re.search(r"refs:\s+([\d,]+)", said)
    if not found:
        raise Refusal("valgrind told no number of instructions")
    return float(found[1].replace(",", ""))


def layouts(folder: Path) -> dict[str, list[Path]]:
    found = {name: sorted((folder / "layouts").glob(f"{name}.*")) for name in NAMES}
    if not all(found.values()) or len({len(paths) for paths in found.values()}) > 1:
        raise Refusal(f"{folder} has no layouts; make them: integrations/lua/build.sh {folder}"
                      " build plain native layouts")  # fmt: skip
    return found


def time_of(program: Program, found: dict[str, list[Path]], options) -> dict[str, list[float]]:
    """Of each program's layouts the median time. A and B in turn, every other round backwards."""
    pairs = [path for pair in zip(*found.values(), strict=True) for path in pair]
    times: dict[Path, list[float]] = {path: [] for path in pairs}
    for number_of_round in range(options.rounds):
        for path in pairs if number_of_round % 2 == 0 else reversed(pairs):
            times[path].append(seconds(path, program, options.limit))
    medians = {path: statistics.median(each) for path, each in times.items()}
    return {name: [medians[path] for path in paths] for name, paths in found.items()}


def measure(program: Program, found: dict[str, list[Path]], options) -> dict:
    if options.instructions:
        values = {}
        for name, paths in found.items():
            both = (instructions(paths[0], each, options.limit) for each in (program, NOTHING))
            values[name] = [next(both) - next(both)]
    else:
        values = time_of(program, found, options)
    plain, ours = (statistics.mean(values[name]) for name in NAMES)
    error = math.hypot(*(error_of_mean(values[name]) for name in NAMES))
    return {"program": program.name, "values": values, "ratio": ours / plain, "error": error}


def error_of_mean(values: list[float]) -> float:
    """The standard error of their mean, over the mean; 0 for a single one."""
    if len(values) < 2:
        return 0.0
    return statistics.stdev(values) / math.sqrt(len(values)) / statistics.mean(values)


def as_table(rows: list[dict]) -> str:
    def spread(values: list[float]) -> str:
        return f"{number(min(values))} .. {number(max(values))}"

    def interval(row: dict) -> str:
        width = 1.96 * row["error"]
        return f"{row['ratio'] * (1 - width):.2f} .. {row['ratio'] * (1 + width):.2f}"

    lines = [
        [row["program"], *(spread(row["values"][name]) for name in NAMES), f"{row['ratio']:.3f}",
         interval(row), "yes" if row["ratio"] <= GOAL else "no"]
        for row in rows
    ]  # fmt: skip
    return table(lines, ["program", *NAMES, "ratio of means", "95 %", f"at most {GOAL}"])


def mean_ratio(rows: list[dict]) -> float:
    return math.exp(statistics.mean(math.log(row["ratio"]) for row in rows))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build" / "lua",
                        help="has layouts/ (build.sh); default: build/lua")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="programs, separated by commas")
    parser.add_argument("--instructions", action="store_true", help="count them, by valgrind")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one run")
    parser.add_argument("--json", type=Path, help="write everything to this file, after each row")
    return parser.parse_args()


def chosen(only: str | None) -> list[Program]:
    if only is None:
        return programs()
    wanted = only.split(",")
    found = [program for program in programs() if program.name in wanted]
    if len(found) != len(wanted):
        raise Refusal(f"programs are: {', '.join(program.name for program in programs())}")
    return found


def compare(options: argparse.Namespace) -> None:
    found, rows = layouts(options.folder.resolve()), []
    what = "instructions" if options.instructions else "seconds"
    for program in chosen(options.only):
        rows.append(measure(program, found, options))
        print(f"{program.name}: {rows[-1]['ratio']:.3f}", file=sys.stderr, flush=True)
        if options.json:
            document = {"measured": provenance(), "what": what, "rounds": options.rounds}
            text = json.dumps(document | {"mean": mean_ratio(rows), "rows": rows}, indent=1)
            options.json.write_text(text + "\n", encoding="utf-8")
    layouts_used = 1 if options.instructions else len(found[NAMES[0]])
    print(f"{what}, {layouts_used} layouts of each, smallest to largest\n")
    print(as_table(rows))
    print(f"\nall together (geometric mean): {mean_ratio(rows):.3f}")


def main() -> int:
    options = parse_arguments()
    try:
        compare(options)
    except (Refusal, OSError) as problem:
        print(f"lua_cost.py: {problem}", file=sys.stderr)
        return 2
    except subprocess.TimeoutExpired as problem:
        print(f"lua_cost.py: {problem.cmd[0]}: not done after {problem.timeout:.0f} s",
              file=sys.stderr)  # fmt: skip
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
