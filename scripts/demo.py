#!/usr/bin/env python3
"""`make demo`: the main job on real, unmodified programs from Debian.

First memcached under `syncopate record`, driven by Debian's memaslap, and what `syncopate report`
says about it; then Kyoto Cabinet's kccachetest under glibc's locks and under `auto`, interleaved.
Leaves build/demo/memcached.html (the report as a page) and build/demo/demo.txt (this text).
"""

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import servers  # noqa: E402
from interleaved import (  # noqa: E402
    Configuration,
    ConfigurationError,
    Summary,
    number,
    provenance,
    ratio_of_medians,
    run_rounds,
    table,
)

SYNCOPATE = ROOT / "build" / "bin" / "syncopate"
FOLDER = ROOT / "build" / "demo"
RECORD, PAGE, TEXT = (FOLDER / name for name in ("memcached.rec", "memcached.html", "demo.txt"))
THREAD_COUNTS = (2, 4, 8)
RECORDS = 400_000  # of kccachetest in all threads together: about a second a run


class DemoError(Exception):
    """A step failed; the text is one line for the user."""


class Transcript:
    """Prints and keeps what the user should read; progress goes to the terminal only."""

    def __init__(self):
        self.kept = []

    def say(self, text=""):
        print(text, flush=True)
        self.kept.append(text)

    def step(self, text):
        print(f"... {text}", file=sys.stderr, flush=True)


def shown(path):
    """Returns a path as the user would type it in the source folder."""
    return os.path.relpath(path, ROOT)


def run(command, timeout, environment=None, accept=(0,)):
    """Runs a program to its end and returns its output; raises DemoError with its last line."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            env=environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DemoError(f"{words[0]} was not done after {timeout:.0f} s") from error
    except OSError as error:
        raise DemoError(f"cannot start {words[0]}: {error.strerror}") from error
    if done.returncode not in accept:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it printed nothing"]
        raise DemoError(f"{' '.join(words[:3])}: exit status {done.returncode}: {last[0]}")
    return done.stdout


def record_memcached(out, seconds):
    """Runs memcached under `syncopate record` and loads it; leaves RECORD."""
    memaslap = servers.require("memcaslap", "libmemcached-tools")
    recorder = [str(SYNCOPATE), "record", "-o", str(RECORD), "--"]
    out.say(f"$ syncopate record -o {shown(RECORD)} -- memcached -t 4")
    out.step("starting memcached with 4 threads on a free loopback port")
    with servers.memcached(threads=4, prefix=recorder, stop_within=20.0) as server:
        out.step(f"driving it with memaslap for {seconds} s")
        where = ["-s", f"{servers.LOOPBACK}:{server.port}", "-T", 2, "-c", 64]
        load = ["-w", "1k", "-d", 20, "-t", f"{seconds}s"]  # 20 keys a get: locks, not the network
        output = run([memaslap, *where, *load], seconds + 30.0)
        out.step("stopping memcached (SIGTERM)")
        server.stop()
    if server.status != 0:
        raise DemoError(f"memcached under `syncopate record` ended with status {server.status}")
    speed = re.search(r"Ops: (\d+) TPS: (\d+)", output)
    if not speed:
        raise DemoError("memaslap printed no result")
    operations, rate = int(speed[1]), int(speed[2])
    out.say(f"memaslap: {operations:,} operations, {rate:,} a second, while recording")
    if not RECORD.is_file():
        raise DemoError(f"no record was written to {shown(RECORD)}")


def report_memcached(out):
    """Prints the report and writes it as a page."""
    out.say()
    out.say(f"$ syncopate report --top 5 {shown(RECORD)}")
    wide = {**os.environ, "COLUMNS": "100"}  # the README shows this text
    text = run([SYNCOPATE, "report", "--top", 5, RECORD], 60.0, wide)
    out.say("\n".join(line.rstrip() for line in text.rstrip().splitlines()))
    out.step("writing the same report as a page")
    PAGE.unlink(missing_ok=True)
    run([SYNCOPATE, "report", RECORD, "--html", PAGE], 60.0)
    if not PAGE.is_file():
        raise DemoError(f"`syncopate report --html` did not write {shown(PAGE)}")


def kccachetest(threads):
    """Returns measure(configuration) -> {"speed": records a second} for run_rounds."""
    program = servers.require("kccachetest", "kyotocabinet-utils")
    command = [program, "wicked", "-th", threads, "-bnum", 500_000, RECORDS // threads]

    def measure(configuration):
        output = run(command, 60.0, configuration.environment())
        if not output.rstrip().endswith("ok"):
            raise DemoError(f"kccachetest under {configuration.text}: its own check did not say ok")
        seconds = sum(float(text) for text in re.findall(r"^time: ([\d.]+)$", output, re.M))
        return {"speed": RECORDS / max(seconds, 1e-3)}

    return measure


def compare_locks(out, rounds):
    """Prints kccachetest's speed under glibc's locks and under auto."""
    configurations = [Configuration.parse("glibc"), Configuration.parse("auto")]
    rows = []
    for threads in THREAD_COUNTS:
        out.step(f"kccachetest wicked, {threads} threads, {rounds} rounds of glibc and auto")
        results = run_rounds(configurations, rounds, kccachetest(threads))
        glibc, auto = ([each["speed"] for each in results[name]] for name in ("glibc", "auto"))
        spreads = [Summary.of(values) for values in (glibc, auto)]
        cells = [
            text
            for each in spreads
            for text in (number(each.median), f"{number(each.smallest)} .. {number(each.largest)}")
        ]
        rows.append([str(threads), *cells, str(ratio_of_medians(auto, glibc))])
    out.say()
    out.say("kccachetest wicked, records a second: glibc's locks, and `syncopate run --lock auto`")
    header = ["threads", "glibc", "min .. max", "auto", "min .. max", "auto / glibc [95 %]"]
    out.say(table(rows, header))
    how = provenance()
    out.say(
        f"medians of {rounds} interleaved rounds, measured {how['date']}, commit {how['commit']},"
    )
    out.say(f"on {how['processors']} x {how['processor']}, Linux {how['kernel']}")


def check_set_up():
    """Raises when something that the demo needs is missing, before anything is started."""
    if not SYNCOPATE.is_file():
        raise DemoError(f"no {shown(SYNCOPATE)}; run `make demo`, which builds it first")
    for program, package in (
        ("memcached", "memcached"),
        ("memcaslap", "libmemcached-tools"),
        ("kccachetest", "kyotocabinet-utils"),
    ):
        servers.require(program, package)
    FOLDER.mkdir(parents=True, exist_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10, help="load on memcached")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of kccachetest")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds: the server is stopped
    out = Transcript()
    try:
        check_set_up()
        record_memcached(out, options.seconds)
        report_memcached(out)
        compare_locks(out, options.rounds)
    except (DemoError, servers.ServerError, ConfigurationError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted; nothing is left running", file=sys.stderr)
        return 130
    out.say()
    out.say(f"The report as a page: {shown(PAGE)}")
    TEXT.write_text("\n".join(out.kept) + "\n", encoding="utf-8")
    out.step(f"this text is in {shown(TEXT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
