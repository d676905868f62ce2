"""The whole way: record a program, then ask what changes of its lock bring on another machine."""

import json
import subprocess
from pathlib import Path

import pytest
from make_record import RecordBuilder
from test_on_machines import on_machines

MUTEX = 1  # of wait_kind

# Four threads that do nearly all of their work in one lock.
PROGRAM = """\
#include <pthread.h>
static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sum;
static void* work(void* unused) {
  for (int i = 0; i < 2000; i++) {
    pthread_mutex_lock(&the_lock);
    for (int j = 0; j < 2000; j++) sum += j;
    pthread_mutex_unlock(&the_lock);
  }
  return unused;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
}
"""


WHAT = "lock=tatas,halve,shard=8,rwlock=100"


def gains(record: Path, lock: str, what: str) -> dict[tuple[str, int], float]:
    """By change and number of threads."""
    out = record.with_suffix(".json")
    words = ("--machine", "test-4c", "--threads", "1,4", "--seeds", "1", "--what", what)
    done = on_machines("simulate", "--from", record, "--lock", lock, "--json", out, *words)
    assert done.returncode == 0, done.stderr
    answers = json.loads(out.read_text())["answers"]
    assert all(answer["low"] < answer["gain"] < answer["high"] for answer in answers)
    return {(answer["what"], answer["threads"]): answer["gain"] for answer in answers}


@pytest.mark.long
def test_gains_of_known_use(tmp_path):
    """Four threads with sections of 4 us, and 1 us of work between two of them."""
    sections, hold = 400, 4_000
    builder = RecordBuilder(end=1_000_000 + 4 * sections * hold)
    lock = builder.lock(0x1000, acquisitions=4 * sections, holds=[hold] * sections)
    for number in range(4):
        thread = builder.thread(number + 1, cpu=sections * (hold + 1_000))
        builder.row(thread, lock, MUTEX, [3 * hold] * (sections - 1))
    record = builder.write(tmp_path / "some.rec")
    found = gains(record, "0x1000", WHAT)
    # Alone, a thread waits for nobody: only what shortens its section helps it.
    for what in ("lock=tatas", "shard=8", "rwlock=100"):
        assert 0.9 < found[what, 1] < 1.1, found
    assert found["halve", 1] > 1.2
    # Four threads queue: they profit from whatever lets them in at once.
    assert found["shard=8", 4] > 1.5
    assert found["rwlock=100", 4] > 1.5
    assert found["halve", 4] > 1.2
    again = gains(record, "0x1000", "shard=8")
    assert again["shard=8", 4] == found["shard=8", 4]  # simulated: the same every time


def test_record_then_ask(tmp_path):
    """The whole way. How long a real machine's sections and waits took is its own affair."""
    program = tmp_path / "program"
    build = ["gcc", "-O1", "-g", "-pthread", "-x", "c", "-", "-o", str(program)]
    subprocess.run(build, input=PROGRAM, text=True, check=True)
    record = tmp_path / "some.rec"
    done = on_machines("record", "--quiet", "-o", record, "--", program)
    assert done.returncode == 0, done.stderr
    found = gains(record, "the_lock", WHAT)
    assert set(found) == {(what, threads) for what in WHAT.split(",") for threads in (1, 4)}
    # A shorter section costs nothing, on any machine.
    assert found["halve", 1] > 0.9
    assert found["halve", 4] > 0.9


@pytest.mark.parametrize(
    "words",
    [("--seeds", "1,2"), ("--threads", "1,4097")],
)
def test_what_cannot_be_replayed_is_said_before_anything_is(tmp_path, words):
    """A second number of seeds would be left out, and too many threads end the last replay."""
    done = on_machines("simulate", "--from", tmp_path / "none.rec", "-m", "test-4c", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"syncopate: {words[0]}") and done.stderr.count("\n") == 1
