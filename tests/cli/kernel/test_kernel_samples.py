"""What the kernel's recorder copies of only some waits stands for all of them."""

from collections import Counter

import pytest
from conftest import compile_c, run_cli
from kernel_support import needs_kernel

from syncopate.records.recordfile import Record
from syncopate.records.recordformat import HOLD, WAIT

# Two threads that wait for each other so often that only some of the stacks are copied.
IN_TURNS = """
#include <pthread.h>
#include <semaphore.h>
enum { rounds = 100000 };
static sem_t ask, answer;
static void* answers(void* nothing) {
  for (int i = 0; i < rounds; ++i) {
    sem_wait(&ask);
    sem_post(&answer);
  }
  return nothing;
}
int main(void) {
  pthread_t thread;
  sem_init(&ask, 0, 0);
  sem_init(&answer, 0, 0);
  pthread_create(&thread, 0, answers, 0);
  for (int i = 0; i < rounds; ++i) {
    sem_post(&ask);
    sem_wait(&answer);
  }
  return pthread_join(thread, 0);
}
"""


@needs_kernel
def test_the_stacks_that_are_copied_stand_for_all_waits_and_for_who_ended_them(tmp_path):
    program = compile_c(IN_TURNS, tmp_path / "in_turns", "-O1", "-pthread")
    done = run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    record = Record(str(tmp_path / "r"))
    times, chosen, stand_for = sum(row.waits for row in record.rows()), Counter(), Counter()
    for event in record.events():
        chosen[event.kind] += 1
        stand_for[event.kind] += event.weight
    assert sum(chosen.values()) < times / 4, "all were copied: nothing was tried"
    assert stand_for[WAIT] == pytest.approx(times, rel=0.25)
    assert stand_for[HOLD] == pytest.approx(times, rel=0.25)
