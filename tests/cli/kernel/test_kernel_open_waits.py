"""The kernel's view of waits that are not over: deadlocks above all."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import COMMAND, HERE, compile_c, run_cli
from kernel_support import is_in_deadlock, needs_kernel

from syncopate.records.recordfile import Record


@pytest.fixture(scope="module")
def deadlocks(tmp_path_factory):
    program = tmp_path_factory.mktemp("program") / "deadlock"
    source = HERE / "deadlocks.cpp"
    subprocess.run(
        ["g++", "-std=c++20", "-g", "-O1", "-pthread", source, "-o", program], check=True
    )
    return program


LATER = """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void* waits(void* x) {
  char c;
  if (read(0, &c, 1) == 1) pthread_mutex_lock(&m);
  return x;
}
int main(void) {
  pthread_t t;
  pthread_mutex_lock(&m);
  pthread_create(&t, 0, waits, 0);
  pthread_join(t, 0);
}
"""


@needs_kernel
@pytest.mark.parametrize("plan", ["mutexes", "writer"])
def test_a_deadlock_of_a_running_process_is_named(deadlocks, tmp_path, plan):
    with subprocess.Popen([deadlocks, plan], stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(0.5)
            done = run_cli("record", "-q", "-p", process.pid, "--for", "1s", "-o", tmp_path / "r")
            assert (done.returncode, done.stderr) == (0, "")
            assert process.poll() is None
        finally:
            process.kill()
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    [deadlock] = found["deadlocks"]
    assert deadlock["certain"]
    assert len(deadlock["threads"]) == 2
    # It lasted before it was looked at; and is no gate, though who gets in does nothing there.
    assert deadlock["sentence"].endswith(" or longer)")
    assert all(wait["or_longer"] for wait in found["open_waits"])
    assert [each["causes"] for each in found["findings"]] == [["open"], ["open"]]
    assert not any(each["may_be_meant"] for each in found["findings"])


@needs_kernel
def test_a_wait_that_began_while_it_was_looked_at_has_lasted_as_long_as_it_says(tmp_path):
    program = compile_c(LATER, tmp_path / "later", "-O1", "-pthread")
    with subprocess.Popen([program], stdin=subprocess.PIPE, bufsize=0) as process:
        record = ["record", "-q", "-p", str(process.pid), "--for", "2s", "-o", str(tmp_path / "r")]
        with subprocess.Popen([*COMMAND, *record]) as recorder:
            while not (tmp_path / "r").exists() and recorder.poll() is None:
                time.sleep(0.05)
            time.sleep(0.3)
            process.stdin.write(b"x")
            assert recorder.wait(30) == 0
        process.kill()
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    longer = {wait["kind"]: wait["or_longer"] for wait in found["open_waits"]}
    assert longer == {"mutex": False, "join": True}


@needs_kernel
def test_a_deadlock_of_a_killed_process_is_named(deadlocks, tmp_path):
    """The signal ends the waits, but not as a release does: nobody got these locks."""
    record = ["record", "-q", "--kernel", "-o", tmp_path / "r"]
    command = [*COMMAND, *record, "--", deadlocks, "mutexes"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not is_in_deadlock(tmp_path / "r") and process.poll() is None:
            time.sleep(0.1)
        os.kill(Record(str(tmp_path / "r")).header.process_id, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    [deadlock] = found["deadlocks"]
    assert deadlock["certain"]
    assert {each["causes"][0] for each in found["findings"]} == {"open"}
    assert all(each["gain_at_most"] is None for each in found["findings"])


ENDS = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both;
static void* take(void* first) {
  pthread_mutex_lock(&locks[first != 0]);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&locks[first == 0]);
  return first;
}
static void* nothing(void* x) { return x; }
int main(int count, char** words) {
  pthread_t thread;
  if (count < 2) return 0;
  pthread_barrier_init(&both, 0, 3);
  for (long i = 0; i < 2; ++i) pthread_create(&thread, 0, take, (void*)i);
  pthread_barrier_wait(&both);
  pthread_create(&thread, 0, nothing, 0);
  pthread_join(thread, 0);
  sleep(1);
  if (!strcmp(words[1], "_exit")) _exit(0);
  if (!strcmp(words[1], "exec")) execl(words[0], words[0], (char*)0);
  if (!strcmp(words[1], "abort")) abort();
  exit(0);
}
"""


@pytest.mark.sampled(2)
@needs_kernel
@pytest.mark.parametrize("way", ["exit", "_exit", "exec", "abort"])
def test_a_deadlock_of_a_process_that_ends_is_named(tmp_path, way):
    """The other threads' waits end with it: nobody let them go on, and they did not get the
    locks."""
    program = compile_c(ENDS, tmp_path / "ends", "-g", "-pthread")
    run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", program, way)
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    assert [len(each["threads"]) for each in found["deadlocks"]] == [2]
    assert len(found["open_waits"]) == 2
    assert [lock["open"] for lock in found["locks"] if "mutex" in lock["waits"]] == [1, 1]
    main = f"/{found['process']['id']}"
    assert not any(each["holder"].endswith(main) for each in found["blocks"])
