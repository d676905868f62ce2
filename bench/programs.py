#!/usr/bin/env python3
"""Real programs from Debian packages: glibc's locks (no preload) against `auto`, interleaved.

    bench/programs.py [--quick] [--only memcached] [--configs glibc,auto] [--json FILE]

Every workload is a speed (operations or runs per second; higher is better); ratios come from
medians over rounds, with a 95 % bootstrap interval. What each workload checks about its own output
is checked here as well. A wrong answer or a missing program ends its workload with one line; the
others go on, and the exit status is 2. Stopped earlier (Ctrl-C, timeout), it shows what is done.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import servers
from interleaved import (
    LIBRARY,
    ROOT,
    Configuration,
    ConfigurationError,
    Ratio,
    Summary,
    number,
    provenance,
    ratio_of_medians,
    run_rounds,
    table,
)
from servers import LOOPBACK, ServerError, require

from syncopate.base import ending

LOAD_PLACES = ["build/bin", "build/bench", "build/release/bench"]
SYSTEM_PYTHON = "/usr/bin/python3"


class WorkloadError(Exception):
    """A program failed or gave a wrong answer; the text is one line for the user."""


@dataclass(frozen=True)
class Context:
    """What every workload gets: how long to take, a folder, and where our load programs are."""

    quick: bool
    folder: Path
    load: str | None

    @property
    def seconds(self):
        return 2 if self.quick else 5


def run(command, environment=None, timeout=120.0, capture=True):
    """Runs a program to its end; returns (its output, or only what it complained of; seconds).

    Raises WorkloadError.
    """
    start = time.monotonic()
    with ending.later():  # an end in the middle of it would leave a process nobody knows
        process = subprocess.Popen(
            [str(word) for word in command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if capture else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if capture else subprocess.PIPE,
        )
    with process:
        try:
            texts = process.communicate(timeout=timeout)
        except BaseException as error:
            process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise WorkloadError(f"{command[0]}: not done after {timeout:.0f} s") from error
            raise
    output = (texts[0] or texts[1] or b"").decode(errors="replace")
    if process.returncode != 0:
        last = output.strip().splitlines()[-1:] or ["no message"]
        raise WorkloadError(f"{command[0]}: exit status {process.returncode}: {last[0]}")
    return output, time.monotonic() - start


def first_number(pattern, output, what):
    """Returns the number captured by `pattern`."""
    found = re.search(pattern, output)
    if not found:
        raise WorkloadError(f"{what}: no result in its output")
    return float(found[1])


# ---- workloads: (configuration, context) -> speed ----


def hot_key_crowd(processors):
    """Returns memcached's threads (four, its default, or one for every other processor) and how
    many clients keep them busy."""
    return max(4, processors // 2), max(1, processors * 3 // 8)


def memcached_hot_key(configuration, context):
    chosen = os.environ.get("SYNCOPATE_BUILD_DIR")
    folders = [Path(chosen).resolve() / "bench"] if chosen else []
    folders += [ROOT / place for place in LOAD_PLACES]
    places = [folder / "memcached_load" for folder in folders]
    load = context.load or next((str(path) for path in places if path.is_file()), None)
    if load is None:
        raise WorkloadError("no memcached_load in the build folder; run `make`, or give --load")
    threads, clients = hot_key_crowd(len(os.sched_getaffinity(0)))
    with servers.memcached(configuration.environment(), threads=threads) as server:
        options = ["--clients", clients, "--noreply", 1, "--seconds", context.seconds]
        output, _ = run([load, "--port", server.port, *options])
    return json.loads(output)["operations_per_second"]


def memcached_set_get(configuration, context):
    memaslap = require("memcaslap", "libmemcached-tools")
    with servers.memcached(configuration.environment()) as server:
        where = ["-s", f"{LOOPBACK}:{server.port}", "-T", 2, "-c", 16]
        load = ["-w", "1k", "-X", 100, "-t", f"{context.seconds}s"]
        output, _ = run([memaslap, *where, *load])
    return first_number(r"TPS: (\d+)", output, "memaslap")


def kccachetest(test, threads):
    def measure(configuration, context):
        records = {"order": 400_000, "wicked": 200_000}[test] // threads
        records = records // 4 if context.quick else records
        program = require("kccachetest", "kyotocabinet-utils")
        options = ["-th", threads, "-bnum", 500_000, records]
        output, _ = run([program, test, *options], configuration.environment())
        if not output.rstrip().endswith("ok"):
            raise WorkloadError(f"kccachetest {test}: its own check did not say ok")
        seconds = sum(float(text) for text in re.findall(r"^time: ([\d.]+)$", output, re.M))
        return records * threads / seconds

    return measure


def sqlite(configuration, context):
    script = Path(__file__).with_name("sqlite_load.py")
    options = ["--threads", 4, "--seconds", context.seconds / 2]
    output, _ = run([SYSTEM_PYTHON, script, *options], configuration.environment())
    return json.loads(output)["operations_per_second"]


def redis(configuration, context):
    client = require("redis-benchmark", "redis-tools")
    with servers.redis(configuration.environment(), io_threads=2) as server:
        requests = 100_000 if context.quick else 300_000
        options = ["-t", "set", "-n", requests, "-c", 32, "-P", 16, "--csv"]
        output, _ = run([client, "-h", LOOPBACK, "-p", server.port, *options])
    return first_number(r'"SET","([\d.]+)"', output, "redis-benchmark")


def words_file(context):
    """Returns a file of pseudo-random lines, the same in every run."""
    path = context.folder / "words"
    if not path.exists():
        draw = random.Random(7)
        vocabulary = [f"{draw.randrange(1 << 40):x}" for _ in range(5000)]
        lines = 100_000 if context.quick else 400_000
        with open(path, "w", encoding="ascii") as file:
            for _ in range(lines):
                file.write(" ".join(draw.choices(vocabulary, k=4)) + "\n")
    return path


def filter_program(package, *command):
    """A workload: a program that reads the words file and writes to its standard output."""

    def measure(configuration, context):
        program, path = require(command[0], package), words_file(context)
        line = [program, *command[1:], path]
        _, seconds = run(line, configuration.environment(), capture=False)
        return 1.0 / seconds

    return measure


@dataclass(frozen=True)
class Workload:
    name: str
    unit: str
    at_least: float  # the ratio of auto to glibc that the project sets itself
    measure: Callable


def workloads():
    """Returns all workloads in the order in which they are run."""
    zstd = filter_program("zstd", "zstd", "-T2", "-9", "-q", "-c")
    xz = filter_program("xz-utils", "xz", "-T2", "-1", "-k", "-c")
    sort = filter_program("coreutils", "sort", "--parallel=4", "-S", "256M")
    cache = [
        Workload(f"kccachetest {test}, {threads} threads", "records/s", 0.95, measure)
        for test in ("order", "wicked")
        for threads in (2, 4, 8)
        for measure in [kccachetest(test, threads)]
    ]
    return [
        Workload("memcached incr, one hot key", "op/s", 1.4, memcached_hot_key),
        Workload("memcached set/get (memaslap)", "op/s", 0.95, memcached_set_get),
        *cache,
        Workload("sqlite, 4 threads (python)", "op/s", 0.95, sqlite),
        Workload("zstd -T2", "runs/s", 0.95, zstd),
        Workload("xz -T2", "runs/s", 0.95, xz),
        Workload("sort --parallel=4", "runs/s", 0.95, sort),
        Workload("redis SET, 2 I/O threads", "op/s", 0.95, redis),
    ]


# ---- the comparison ----


def compare(workload, configurations, rounds, context):
    """Runs one workload; returns its row for JSON."""

    def measure(configuration):
        return {"speed": workload.measure(configuration, context)}

    def progress(line):
        print(f"{workload.name}: {line}", file=sys.stderr)

    results = run_rounds(configurations, rounds, measure, progress)
    speeds = {name: [each["speed"] for each in found] for name, found in results.items()}
    base = configurations[0].text
    ratios = {
        name: ratio_of_medians(values, speeds[base])
        for name, values in speeds.items()
        if name != base
    }
    return {
        "workload": workload.name,
        "unit": workload.unit,
        "at_least": workload.at_least,
        "speeds": speeds,
        "ratios": {name: asdict(ratio) for name, ratio in ratios.items()},
    }


def as_table(rows, configurations):
    """Returns all rows as one table: a line per workload and configuration beside the first."""
    base, lines = configurations[0].text, []
    for row in rows:
        for name, ratio in row["ratios"].items():
            ours, theirs = Summary.of(row["speeds"][name]), Summary.of(row["speeds"][base])
            spread = f"{number(ours.smallest)} .. {number(ours.largest)}"
            medians = [number(theirs.median), number(ours.median), spread]
            lines.append([row["workload"], row["unit"], name, *medians, str(Ratio(**ratio))])
    medians = [f"{base} median", "its median", "min .. max", f"ratio to {base} [95 %]"]
    return table(lines, ["workload", "unit", "lock", *medians])


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--configs", default="glibc,auto", help="as in interleaved.py")
    parser.add_argument("--rounds", type=int, help="default 9, with --quick 3")
    parser.add_argument("--quick", action="store_true", help="small inputs, few rounds")
    parser.add_argument("--only", help="only workloads whose name contains this")
    parser.add_argument("--json", help="write everything to this file")
    parser.add_argument("--library", default=str(LIBRARY))
    parser.add_argument("--load", help="where memcached_load is")
    return parser.parse_args()


def run_all(arguments, folder, rows):
    """Runs the chosen workloads and appends their rows; after each the JSON file has what is done.

    Returns whether all of them ran; those that did not have said why.
    """
    context = Context(arguments.quick, Path(folder), arguments.load)
    rounds = arguments.rounds or (3 if arguments.quick else 9)
    chosen = [each for each in workloads() if (arguments.only or "") in each.name]
    if not chosen:
        raise WorkloadError(f"no workload's name contains {arguments.only!r}")
    measured = {**provenance(), "rounds": rounds}
    for workload in chosen:
        try:
            rows.append(compare(workload, arguments.configurations, rounds, context))
        except (ServerError, WorkloadError, OSError) as error:
            complain(f"{workload.name}: {error}")
        if arguments.json:
            report = {"measured": measured, "workloads": rows}
            Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return len(rows) == len(chosen)


def complain(line):
    print(f"programs.py: {line}", file=sys.stderr, flush=True)


def main():
    arguments = parse_arguments()
    ending.as_interrupts()  # unwinds: servers are stopped
    rows = []
    try:
        texts = arguments.configs.split(",")
        arguments.configurations = [Configuration.parse(text, arguments.library) for text in texts]
        if len(texts) < 2:
            raise ConfigurationError("--configs needs at least two configurations")
        with tempfile.TemporaryDirectory(prefix="syncopate-programs-") as folder:
            return 0 if run_all(arguments, folder, rows) else 2
    except (ConfigurationError, WorkloadError, OSError) as error:
        complain(error)
        return 2
    except KeyboardInterrupt:
        complain("stopped before its end" + (", after these:" if rows else ""))
        return ending.status()
    finally:
        if rows:
            print(as_table(rows, arguments.configurations), flush=True)


if __name__ == "__main__":
    sys.exit(main())
