#!/usr/bin/env python3
"""What the patches cost Ruby with elision off: instructions that valgrind counts in Ruby's own
benchmarks (ruby/benchmark of its source), over those of the same Ruby without the patches.

    integrations/ruby/build.sh build/ruby build plain native
    bench/ruby_cost.py build/ruby

Counts do not depend on what else the machine does; two runs differ by some thousands. Benchmarks of
a few lines (*.yml) run in a loop, with many turns and with none: the difference counts. Whole
programs (*.rb) and --more's are counted from their start to their end, less an empty program's.
Those that start threads, children or compilers, or are too long, are left out, and said.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from syncopate.bench.text import table  # noqa: E402

GOAL = 1.02
MOST_TURNS, LEAST_TURNS = 20_000, 20
# Reads a benchmark as benchmark-driver does, and prints it as programs: name, then text.
READER = """
require 'yaml'
require 'json'
read = YAML.load_file(ARGV[0])
found = read['benchmark']
found = [found] unless found.is_a?(Array) || found.is_a?(Hash)
found = found.to_h { |each| each.is_a?(Hash) ? [each['name'], each['script']] : [each, each] } if
  found.is_a?(Array)
found = found.transform_values { |each| each.is_a?(Hash) ? each['script'] : each }
print JSON.dump('prelude' => read['prelude'].to_s, 'found' => found, 'turns' => read['loop_count'])
"""


class Refusal(Exception):
    """What the user can mend: one line."""


@dataclass(frozen=True)
class Program:
    name: str
    text: str  # with TURNS for a number of turns, where it is a loop
    turns: int = 0
    arguments: tuple[str, ...] = ()

    @property
    def is_loop(self) -> bool:
        return "TURNS" in self.text


def environment() -> dict[str, str]:
    """Nothing of the user's own settings: elision is off unless asked for."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("RUBY", "GEM", "SYNCOPATE_"))}


def ran(command: list[str], limit: float) -> subprocess.CompletedProcess:
    return subprocess.run(command, env=environment(), timeout=limit, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False)  # fmt: skip


def instructions(ruby: Path, text: str, arguments: tuple[str, ...], limit: float) -> float:
    """Of one program, its start included."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.rb"
        script.write_text(text, encoding="utf-8")
        count = ["setarch", "-R", "valgrind", "--tool=cachegrind", "--cache-sim=no",
                 "--cachegrind-out-file=/dev/null", str(ruby), "-W0", "--disable=gems",
                 str(script), *arguments]  # fmt: skip
        done = ran(count, limit)
    said = done.stderr.decode(errors="replace")
    found = re.search(r"refs:\s+([\d,]+)", said)
    if done.returncode != 0 or not found:
        lines = [line for line in said.splitlines() if not line.startswith("==")]
        raise Refusal(lines[0] if lines else f"status {done.returncode}")
    return float(found[1].replace(",", ""))


def loops_in(ruby: Path, path: Path, limit: float) -> list[Program]:
    done = ran([str(ruby), "-e", READER, str(path)], limit)
    if done.returncode != 0:
        raise Refusal(f"{path.name}: {done.stderr.decode().splitlines()[0]}")
    read = json.loads(done.stdout)
    # A hundredth of what the benchmark itself has.
    turns = max(LEAST_TURNS, min(MOST_TURNS, (read["turns"] or MOST_TURNS) // 100))
    return [
        Program(
            path.stem if len(read["found"]) == 1 else f"{path.stem}: {name.splitlines()[0][:40]}",
            f"{read['prelude']}\nturn_ = 0\nwhile turn_ < TURNS\n{text}\nturn_ += 1\nend\n",
            turns,
        )
        for name, text in read["found"].items()
    ]


def programs(folder: Path, wanted: str, limit: float) -> list[Program]:
    found: list[Program] = []
    for path in sorted((folder / "ruby" / "benchmark").iterdir()):
        if not re.fullmatch(wanted, path.stem):
            continue
        if path.suffix == ".yml":
            found += loops_in(folder / "bin" / "ruby", path, limit)
        elif path.suffix == ".rb":
            found.append(Program(path.stem, path.read_text(encoding="utf-8")))
    return found


def measure(program: Program, rubies: tuple[Path, Path], limit: float) -> dict:
    values = []
    for ruby in rubies:
        whole = program.text.replace("TURNS", str(program.turns))
        nothing = program.text.replace("TURNS", "0") if program.is_loop else ""
        more = instructions(ruby, whole, program.arguments, limit)
        values.append(more - instructions(ruby, nothing, (), limit))
    return {"program": program.name, "plain": values[0], "ours": values[1],
            "ratio": values[1] / values[0]}  # fmt: skip


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build" / "ruby",
                        help="of build.sh; default: build/ruby")  # fmt: skip
    parser.add_argument("--only", default=r"(app|so|vm)_(?!thread|fiber).*",
                        help="a pattern that the whole name fits")  # fmt: skip
    parser.add_argument("--more", action="append", default=[], metavar="'FILE ARGUMENT...'",
                        help="another program, e.g. optcarrot")  # fmt: skip
    parser.add_argument("--limit", type=float, default=120, help="seconds for one run")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--json", type=Path, help="write everything to this file")
    return parser.parse_args()


def others(more: list[str]) -> list[Program]:
    found = []
    for each in more:
        file, *arguments = each.split()
        path = Path(file).resolve()
        if not path.is_file():
            raise Refusal(f"there is no {file}")
        found.append(Program(path.name, f"load {str(path)!r}\n", arguments=tuple(arguments)))
    return found


def main() -> int:
    options = parse_arguments()
    rubies = (options.folder / "plain/bin/ruby", options.folder / "bin/ruby")
    try:
        if not all(ruby.is_file() for ruby in rubies):
            raise Refusal(f"{options.folder} lacks bin/ruby or plain/bin/ruby: build.sh makes both")
        every = programs(options.folder, options.only, options.limit) + others(options.more)
        if not every:
            raise Refusal(f"no benchmark fits {options.only}")
    except (Refusal, re.error) as problem:
        print(f"ruby_cost.py: {problem}", file=sys.stderr)
        return 2
    rows, left_out = [], []

    def one(program: Program) -> None:
        try:
            rows.append(measure(program, rubies, options.limit))
            print(f"{rows[-1]['ratio']:.4f} {program.name}", file=sys.stderr, flush=True)
        except subprocess.TimeoutExpired:
            left_out.append((program.name, f"more than {options.limit:g} s"))
        except Refusal as problem:
            left_out.append((program.name, str(problem)))

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, every))
    rows.sort(key=lambda row: row["ratio"])
    heads = ["program", "without patches", "with them", "ratio", f"at most {GOAL}"]
    print(table([[r["program"], f"{r['plain']:,.0f}", f"{r['ours']:,.0f}", f"{r['ratio']:.4f}",
                  "yes" if r["ratio"] <= GOAL else "no"] for r in rows], heads))  # fmt: skip
    for name, why in left_out:
        print(f"left out: {name}: {why}")
    if rows:
        mean = math.exp(statistics.mean(math.log(row["ratio"]) for row in rows))
        print(f"{len(rows)} programs; geometric mean {mean:.4f}, worst {rows[-1]['ratio']:.4f}, "
              f"{sum(row['ratio'] > GOAL for row in rows)} above {GOAL}")  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "left_out": left_out}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
