#!/usr/bin/env python3
"""What elision costs where transactions never commit: memcached and kcgrasstest under one lock,
with SYNCOPATE_ELIDE=off, auto and always.

    bench/elision_cost.py [--lock auto] [--rounds 60] [--limit 2] [--only kcgrasstest] [--json FILE]

Time: many short rounds. In each, every setting runs once, right after the others, in an order that
changes; so a pair meets the same neighbors. What is compared is processor time for one piece of
work, which other programs disturb least: the median over all rounds of setting / off, with a 95 %
interval that draws whole rounds. A setting is `within` the limit when the whole interval is below
it, `over` it when the whole interval is above, else `undecided`: give more --rounds.

Instructions: --instructions runs kcgrasstest with one thread under valgrind instead, where a
difference between settings is exact: what is left is the settings' own text in the environment.
"""

import argparse
import contextlib
import itertools
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import servers
from interleaved import LIBRARY, Configuration, ConfigurationError, number, provenance, table
from programs import LOAD_PLACES, ROOT, WorkloadError, run
from servers import ServerError, require

from syncopate.base import compactjson
from syncopate.bench.ratios import median_ratio_of_pairs

SETTINGS = ("off", "auto", "always")
ORDERS = list(itertools.permutations(SETTINGS))
RECORDS = 100_000
SLICE_SECONDS = 0.2
SLICES_PER_SERVER = 10


def processor_time_of_children():
    """Returns the seconds that the programs run so far have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_time_of(process):
    """Returns the nanoseconds that all threads of a process have run."""
    total = 0
    for task in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return total


class Kcgrasstest:
    """Nanoseconds of processor time for a record, in runs of `kcgrasstest order`."""

    name, unit = "kcgrasstest order, 4 threads", "ns/record"

    def __init__(self, configurations):
        self.program = require("kcgrasstest", "kyotocabinet-utils")
        self.configurations = configurations

    def round(self, order):
        found = {}
        for name in order:
            before = processor_time_of_children()
            command = [self.program, "order", "-th", "4", str(RECORDS // 4)]
            output, _ = run(command, self.configurations[name].environment())
            used = processor_time_of_children() - before
            if not output.rstrip().endswith("ok"):
                raise WorkloadError("kcgrasstest: its own check did not say ok")
            found[name] = used * 1e9 / RECORDS
        return found

    def close(self):
        pass


class Memcached:
    """Nanoseconds of memcached's processor time for an increment of one hot key, by one thread.

    With several, how often they meet changes by more than what is to be found.

    A server for each setting at the same time, loaded in turns; new ones now and then, since where
    a process lies in memory may favor it.
    """

    name, unit = "memcached, 1 thread", "ns/op"

    def __init__(self, configurations):
        places = [ROOT / place / "memcached_load" for place in LOAD_PLACES]
        self.load = next((str(path) for path in places if path.is_file()), None)
        if self.load is None:
            raise WorkloadError("no memcached_load in the build folder; run `make`")
        self.configurations = configurations
        self.running = contextlib.ExitStack()
        self.servers, self.rounds = {}, 0

    def round(self, order):
        if self.rounds % SLICES_PER_SERVER == 0:
            self._start()
        self.rounds += 1
        return {name: self._slice(self.servers[name]) for name in order}

    def _start(self):
        self.running.close()
        for name, configuration in self.configurations.items():
            server = servers.memcached(configuration.environment(), threads=1)
            self.servers[name] = self.running.enter_context(server)

    def _slice(self, server):
        before = processor_time_of(server.process.pid)
        command = [self.load, "--port", server.port, "--seconds", SLICE_SECONDS, "--noreply", 50]
        output, _ = run(command)  # fails when increments are lost
        used = processor_time_of(server.process.pid) - before
        return used / json.loads(output)["operations"]

    def close(self):
        self.running.close()


def measure(workload, rounds):
    """Returns {setting: [cost of each round]}."""
    costs = {name: [] for name in SETTINGS}
    last_said = time.monotonic()
    for index in range(rounds):
        for name, cost in workload.round(ORDERS[index % len(ORDERS)]).items():
            costs[name].append(cost)
        if time.monotonic() - last_said > 2:
            print(f"{workload.name}: round {index + 1}/{rounds}", file=sys.stderr)
            last_said = time.monotonic()
    return costs


def verdict(ratio, limit):
    if ratio.high <= limit:
        return "within"
    return "over" if ratio.low > limit else "undecided"


def compare_times(arguments, configurations):
    """Prints the table; returns what goes into the JSON file, and whether nothing is over."""
    limit = 1 + arguments.limit / 100
    found, rows, good = [], [], True
    for kind in (Kcgrasstest, Memcached):
        if (arguments.only or "") not in kind.name:
            continue
        workload = kind(configurations)
        try:
            costs = measure(workload, arguments.rounds)
        finally:
            workload.close()
        found.append({"workload": kind.name, "unit": kind.unit, "costs": costs})
        for name in SETTINGS[1:]:
            ratio = median_ratio_of_pairs(costs[name], costs["off"])
            says = verdict(ratio, limit)
            good = good and says != "over"
            middle = number(sorted(costs["off"])[len(costs["off"]) // 2])
            rows.append([kind.name, kind.unit, middle, name, str(ratio), says])
    header = ["program", "unit", "off", "elision", "median of pairs [95 %]", f"{arguments.limit} %"]
    print(table(rows, header))
    return found, good


def count_instructions(configurations):
    """Prints how many instructions kcgrasstest executes; returns {setting: count}."""
    valgrind = require("valgrind", "valgrind")
    program = require("kcgrasstest", "kyotocabinet-utils")
    found = {}
    with tempfile.TemporaryDirectory(prefix="syncopate-elision-") as folder:
        for name, configuration in configurations.items():
            print(f"counting: {name}", file=sys.stderr)
            tool = [valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
            output, _ = run(
                [*tool, program, "order", "-th", "1", "2000"], configuration.environment(), 600
            )
            counted = re.search(r"Collected : (\d+)", output)
            if counted is None:
                raise WorkloadError("valgrind: no count in its output")
            found[name] = int(counted[1])
    base = found["off"]
    rows = [[name, f"{count:,}", f"{count / base - 1:+.5%}"] for name, count in found.items()]
    print(table(rows, ["elision", "instructions", "to off"]))
    return found


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lock", default="auto", help="a name of `syncopate list` (auto)")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--limit", type=float, default=2.0, help="percent (2)")
    parser.add_argument("--only", help="only programs whose name contains this")
    parser.add_argument("--instructions", action="store_true", help="count, by valgrind")
    parser.add_argument("--json", help="write everything to this file")
    parser.add_argument("--library", default=str(LIBRARY))
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        configurations = {
            name: Configuration.parse(f"{arguments.lock}+SYNCOPATE_ELIDE={name}", arguments.library)
            for name in SETTINGS
        }
        report, good = {"measured": provenance(), "lock": arguments.lock}, True
        if arguments.instructions:
            report["instructions"] = count_instructions(configurations)
        else:
            report["times"], good = compare_times(arguments, configurations)
    except (ConfigurationError, ServerError, WorkloadError, subprocess.SubprocessError) as error:
        print(f"elision_cost.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if arguments.json:
        Path(arguments.json).write_text(compactjson.lines(report), encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
