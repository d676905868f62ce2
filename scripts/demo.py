#!/usr/bin/env python3
"""`make demo`: the main job on a real, unmodified program from Debian.

Kyoto Cabinet's own benchmark, kccachetest, under `syncopate record`, and what `syncopate report`
says about it; then its speed under glibc's locks and under `auto`, interleaved.
Leaves build/demo/kccachetest.html (the report as a page) and build/demo/demo.txt (this text).
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from interleaved import (  # noqa: E402
    Configuration,
    ConfigurationError,
    Neighbors,
    Summary,
    number,
    provenance,
    ratio_of_medians,
    run_rounds,
    table,
)

SYNCOPATE = ROOT / "build" / "bin" / "syncopate"
FOLDER = ROOT / "build" / "demo"
RECORD, PAGE, TEXT = (FOLDER / f for f in ("kccachetest.rec", "kccachetest.html", "demo.txt"))
PROGRAM, PACKAGE = "kccachetest", "kyotocabinet-utils"
BUCKETS = 500_000
THREAD_COUNTS = (2, 4, 8)
RECORDED_THREADS = 8
RECORDS = 400_000  # in all threads together: a run takes about a second
STEPS = 3  # each record is set, got and removed
# With 2 threads glibc's locks did 1,365,188 operations a second in one run and 326,531 in another.
OF_THIS_RUN = (
    "The intervals are of this run. Speeds of another run, on the same machine too, may lie far",
    "outside of them: compare what was measured in one run only.",
)


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


def kccachetest(threads, records):
    """Random records of a cache that all threads share; `records`: of all of them together."""
    return [PROGRAM, "order", "-th", threads, "-rnd", "-bnum", BUCKETS, records // threads]


def speed_of(output, records):
    """Operations a second, by what kccachetest prints of itself."""
    if not output.rstrip().endswith("ok"):
        raise DemoError(f"{PROGRAM}: its own check did not say ok")
    seconds = sum(float(text) for text in re.findall(r"^time: ([\d.]+)$", output, re.M))
    return STEPS * records / max(seconds, 1e-3)


def record(out, records):
    """Runs kccachetest under `syncopate record`; leaves RECORD."""
    command = kccachetest(RECORDED_THREADS, records)
    out.say(f"$ syncopate record -o {shown(RECORD)} -- {' '.join(map(str, command))}")
    out.step("some seconds")
    speed = speed_of(run([SYNCOPATE, "record", "-o", RECORD, "--", *command], 120.0), records)
    out.say(f"{PROGRAM}: {number(speed)} operations a second, while recording")
    if not RECORD.is_file():
        raise DemoError(f"no record was written to {shown(RECORD)}")


def report(out):
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


def compare_locks(out, rounds):
    """Prints kccachetest's speed under glibc's locks and under auto."""
    configurations = [Configuration.parse("glibc"), Configuration.parse("auto")]
    rows, neighbors = [], Neighbors()
    for threads in THREAD_COUNTS:
        out.step(f"{PROGRAM}, {threads} threads, {rounds} rounds of glibc and auto")
        command = kccachetest(threads, RECORDS)

        def measure(configuration, command=command):
            return {"speed": speed_of(run(command, 60.0, configuration.environment()), RECORDS)}

        results = run_rounds(configurations, rounds, measure)
        glibc, auto = ([each["speed"] for each in results[name]] for name in ("glibc", "auto"))
        spreads = [Summary.of(values) for values in (glibc, auto)]
        cells = [
            text
            for each in spreads
            for text in (number(each.median), f"{number(each.smallest)} .. {number(each.largest)}")
        ]
        rows.append([str(threads), *cells, str(ratio_of_medians(auto, glibc))])
    out.say()
    out.say(
        f"{PROGRAM} order -rnd, operations a second: glibc's locks, and `syncopate run --lock auto`"
    )
    header = ["threads", "glibc", "min .. max", "auto", "min .. max", "auto / glibc [95 %]"]
    out.say(table(rows, header))
    how = provenance()
    out.say(
        f"medians of {rounds} interleaved rounds, measured {how['date']}, commit {how['commit']},"
    )
    out.say(f"on {how['processors']} x {how['processor']}, Linux {how['kernel']}")
    out.say(f"{neighbors.line()}.".capitalize())
    for line in OF_THIS_RUN:
        out.say(line)


def check_set_up():
    """Raises when something that the demo needs is missing, before anything is started."""
    if not SYNCOPATE.is_file():
        raise DemoError(f"no {shown(SYNCOPATE)}; run `make demo`, which builds it first")
    if shutil.which(PROGRAM) is None:
        raise DemoError(f"no program {PROGRAM}; install Debian's package {PACKAGE}")
    FOLDER.mkdir(parents=True, exist_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=4 * RECORDS, help="while it is recorded")
    parser.add_argument("--rounds", type=int, default=7, help="of each lock and number of threads")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds
    out = Transcript()
    try:
        check_set_up()
        record(out, options.records)
        report(out)
        compare_locks(out, options.rounds)
    except (DemoError, ConfigurationError) as error:
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
