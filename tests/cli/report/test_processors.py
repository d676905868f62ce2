"""How many processors a report says that there were: those that the program's threads could use, by
what they chose themselves, and as far as a limit on processor time leaves them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import compile_c, run_cli
from kernel_support import needs_kernel

from syncopate.machines import machine

PINS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cpu_set_t usable;

static int nth(int n) {
  for (int cpu = 0;; ++cpu)
    if (CPU_ISSET(cpu, &usable) && n-- == 0) return cpu;
}

static void keep_to(int n) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(nth(n), &only);
  sched_setaffinity(0, sizeof only, &only);
}

static void* work(void* pins) {
  if (pins) keep_to(1);
  usleep(1300000);  /* who looks now and then has seen it */
  return 0;
}

/* "main": pins itself before it starts threads; "threads": these pin themselves, to another. */
int main(int count, char** words) {
  pthread_t thread;
  int waits = count > 2;
  sched_getaffinity(0, sizeof usable, &usable);
  if (strcmp(words[1], "nobody")) keep_to(0);
  pthread_create(&thread, 0, work, strcmp(words[1], "threads") ? 0 : "");
  if (!waits) pthread_join(thread, 0);
  else usleep(1200000);
  return 0;
}
"""

usable = os.sched_getaffinity(0)
two = pytest.mark.skipif(len(usable) < 2, reason="one processor is all that there is")
both = pytest.mark.parametrize(
    "how", [pytest.param([], id="library"), pytest.param(["--kernel"], marks=needs_kernel)]
)


@pytest.fixture(scope="module")
def pins(tmp_path_factory):
    return compile_c(PINS, tmp_path_factory.mktemp("pins") / "pins", "-O1", "-pthread")


def process_of(record) -> dict:
    return json.loads(run_cli("report", "--json", record).stdout)["records"][0]["process"]


@pytest.mark.sampled(6)
@two
@both
@pytest.mark.parametrize("others", [[], ["still there"]], ids=["joined", "alive"])
@pytest.mark.parametrize(
    ("who", "processors"), [("nobody", len(usable)), ("main", 1), ("threads", 2)]
)
def test_who_keeps_to_some_processors(pins, tmp_path, how, who, processors, others):
    record = tmp_path / "r"
    done = run_cli("record", *how, "-q", "-o", record, "--", pins, who, *others)
    assert done.returncode == 0, done.stderr
    assert process_of(record)["processors"] == processors
    said = f"{processors} processor{'s' * (processors > 1)}"
    assert f"2 threads on {said} Lost" in " ".join(run_cli("report", record).stdout.split())


@two
@both
def test_a_program_that_is_started_on_fewer(pins, tmp_path, how):
    """Not those that the recorder may use."""
    record = tmp_path / "r"
    run = ["taskset", "-c", str(min(usable)), pins, "nobody"]
    assert run_cli("record", *how, "-q", "-o", record, "--", *run).returncode == 0
    own = [*tmp_path.glob("r.[0-9]*")] if not how else [record]  # the library has one before exec
    assert [process_of(each)["processors"] for each in own] == [1]


@pytest.fixture
def half_a_processor():
    """A control group with half of a processor's time."""
    for folder, name, text in (
        (Path("/sys/fs/cgroup"), "cpu.max", "50000 100000"),
        (Path("/sys/fs/cgroup/cpu"), "cpu.cfs_quota_us", "50000"),
    ):
        group = folder / f"syncopate-test-{os.getpid()}"
        if not (folder / "cgroup.procs").exists():
            continue
        try:
            group.mkdir()
        except OSError:
            continue
        if not (group / name).exists():
            group.rmdir()
            continue
        (group / name).write_text(text)
        yield group
        group.rmdir()
        return
    pytest.skip("no control group with a limit can be made here")


def held_to_limit(group) -> list[str]:
    """How to start a command in that group."""
    before = machine.processor_limit()
    if before is not None and before < 0.5:
        pytest.skip("these tests themselves have less")
    return ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "-"]


def tells_the_limit(record) -> None:
    assert process_of(record)["processor_limit"] == 0.5
    text = " ".join(run_cli("report", record).stdout.split())
    assert "on 0.50 processors, which a limit leaves it" in text


@both
def test_a_limit_on_processor_time_is_told(pins, tmp_path, half_a_processor, how):
    limited = held_to_limit(half_a_processor)
    record = tmp_path / "r"
    command = [sys.executable, "-m", "syncopate", "record", *how, "-q", "-o", record, "--"]
    subprocess.run([*limited, *command, pins, "nobody"], check=True)
    tells_the_limit(record)


@needs_kernel
def test_a_limit_of_what_runs_already_is_told(pins, tmp_path, half_a_processor):
    limited = held_to_limit(half_a_processor)
    record = tmp_path / "r"
    with subprocess.Popen([*limited, pins, "nobody"]) as process:
        done = run_cli("record", "-q", "-o", record, "-p", process.pid, "--for", "0.5s")
    assert done.returncode == 0
    tells_the_limit(record)
