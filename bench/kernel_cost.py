#!/usr/bin/env python3
"""What the kernel's view costs servers under full load.

    bench/kernel_cost.py [--only mariadb] [--rounds 20] [--seconds 4] [--json FILE]

One server answers one load all the time. In each round its answers are counted for so many seconds
unrecorded, the same again, and while `syncopate record -p` is attached, in an order that turns from
round to round: `alone`, `twin` and `kernel` of the results. A ratio is the median over rounds: of
the twin's to the first's, which shows what differs without any cost, and of the recorded window's
to the mean of both. A window begins some seconds after the attach, when names and unwind tables
have been read. The programs are Debian's memcached (memcaslap of libmemcached-tools) and MariaDB
(sysbench).
"""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import servers
from interleaved import ROOT, Summary, provenance
from servers import ServerError, require

from syncopate.base import compactjson
from syncopate.base.since import zip_equal
from syncopate.bench.ratios import Ratio, median_ratio_of_pairs
from syncopate.bench.text import number, table

COMMAND = ROOT / "build" / "bin" / "syncopate"
WINDOWS = ("alone", "twin", "kernel")
SETTLES = 3.0  # seconds after the recorder was started
LONGEST = "100000"  # seconds, for loads that end with the server's measurement
CLIENTS = 16


@contextmanager
def running(command):
    """A load, in a process group of its own, which ends with the block."""
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Memcached:
    """Gets and sets of many connections. Counts commands."""

    name, unit = "memcached set/get", "op/s"

    @contextmanager
    def loaded(self):
        load = require("memcaslap", "libmemcached-tools")
        with servers.memcached() as server:
            self._address = (servers.LOOPBACK, server.port)
            where = ["-s", f"{servers.LOOPBACK}:{server.port}"]
            with running([load, *where, "-T", "2", "-c", "32", "-t", f"{LONGEST}s"]):
                yield server.process.pid

    def count(self):
        with socket.create_connection(self._address, timeout=10) as connection:
            connection.sendall(b"stats\r\n")
            text = b""
            while not text.endswith(b"END\r\n"):
                text += connection.recv(65536)
        return sum(int(n) for n in re.findall(rb"STAT cmd_(?:get|set) (\d+)", text))


class MariaDB:
    """Transactions of sysbench, 16 threads. Counts statements."""

    name, unit = "MariaDB oltp_read_write", "statements/s"

    @contextmanager
    def loaded(self):
        server, load = require("mariadbd", "mariadb-server"), require("sysbench", "sysbench")
        with tempfile.TemporaryDirectory(prefix="syncopate-mariadb-") as folder:
            self._socket = f"{folder}/socket"
            install = require("mariadb-install-db", "mariadb-server")
            user = ["--user=root"] if os.geteuid() == 0 else []
            begin = ["--no-defaults", f"--datadir={folder}/data"]
            own = "--auth-root-authentication-method=normal"
            subprocess.run(
                [install, *begin, own, *user], check=True, stdout=subprocess.DEVNULL, timeout=120
            )
            where = [f"--socket={self._socket}", "--skip-networking", "--skip-grant-tables"]
            with running([server, *begin, *where, *user, f"--log-error={folder}/log"]) as process:
                self._until_ready()
                self._ask("create database if not exists sbtest")
                bench = [load, "oltp_read_write", f"--mysql-socket={self._socket}",
                         "--mysql-user=root", "--tables=4", "--table-size=10000",
                         f"--threads={CLIENTS}", f"--time={LONGEST}"]  # fmt: skip
                subprocess.run(
                    [*bench, "prepare"], check=True, stdout=subprocess.DEVNULL, timeout=120
                )
                with running([*bench, "run"]):
                    yield process.pid

    def _ask(self, statement):
        client = [require("mariadb", "mariadb-client"), "--no-defaults", "-N", "-B",
                  f"--socket={self._socket}", "-e", statement]  # fmt: skip
        return subprocess.run(client, capture_output=True, text=True, timeout=60)

    def _until_ready(self):
        until = time.monotonic() + 60
        while self._ask("select 1").returncode:
            if time.monotonic() > until:
                raise ServerError("mariadbd does not answer within a minute")
            time.sleep(0.2)

    def count(self):
        return int(self._ask("show global status like 'Questions'").stdout.split()[1])


def rate(program, seconds):
    """How much the server does in a second, counted over so many."""
    begin, before = time.monotonic(), program.count()
    time.sleep(seconds)
    return (program.count() - before) / (time.monotonic() - begin)


@contextmanager
def recorded(process, folder):
    """Attaches the recorder within the block."""
    record = [COMMAND, "record", "-q", "-p", str(process), "-o", f"{folder}/{time.monotonic_ns()}"]
    recorder = subprocess.Popen(record, start_new_session=True)
    try:
        time.sleep(SETTLES)
        if recorder.poll() is not None:
            raise ServerError(f"`record -p` ended with status {recorder.returncode}")
        yield
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait(60)


def measure(program, rounds, seconds):
    """Returns the row of one program, as programs.py writes it."""
    speeds = {name: [] for name in WINDOWS}
    temporary = tempfile.TemporaryDirectory(prefix="syncopate-cost-")
    with temporary as folder, program.loaded() as server:
        rate(program, seconds)  # until caches are warm
        for turn in range(rounds):
            shift = turn % len(WINDOWS)
            for name in WINDOWS[shift:] + WINDOWS[:shift]:
                print(f"{program.name}: round {turn + 1}/{rounds}: {name}", file=sys.stderr)
                if name == "kernel":
                    with recorded(server, folder):
                        speeds[name].append(rate(program, seconds))
                else:
                    time.sleep(SETTLES)
                    speeds[name].append(rate(program, seconds))
    alone, twin, kernel = (speeds[name] for name in WINDOWS)
    both = [(one + other) / 2 for one, other in zip_equal(alone, twin)]
    ratios = {
        "twin": median_ratio_of_pairs(twin, alone),
        "kernel": median_ratio_of_pairs(kernel, both),
    }
    return {
        "workload": program.name, "unit": program.unit, "at_least": 0.97, "speeds": speeds,
        "ratios": {name: asdict(ratio) for name, ratio in ratios.items()},
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each window")
    parser.add_argument("--json", help="write everything to this file")
    arguments = parser.parse_args()
    rows = []
    for program in (Memcached(), MariaDB()):
        if arguments.only.lower() not in program.name.lower():
            continue
        try:
            rows.append(measure(program, arguments.rounds, arguments.seconds))
        except (ServerError, OSError, subprocess.SubprocessError) as error:
            print(f"kernel_cost.py: {program.name}: {error}", file=sys.stderr)
            return 2
        if arguments.json:
            report = {"measured": {**provenance(), "rounds": arguments.rounds}, "workloads": rows}
            text = compactjson.lines(compactjson.rounded(report))
            Path(arguments.json).write_text(text, encoding="utf-8")
    lines = []
    for row in rows:
        for name in WINDOWS:
            of = Summary.of(row["speeds"][name])
            spread = f"{number(of.smallest)} .. {number(of.largest)}"
            ratio = row["ratios"].get(name)
            shown = str(Ratio(**ratio)) if ratio else "1"
            lines.append([row["workload"], row["unit"], name, number(of.median), spread, shown])
    print(table(lines, ["program", "unit", "window", "median", "min .. max", "ratio [95 %]"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
