"""Whether threads outnumber processors: those that are there at one time, and want one."""

import pytest
from conftest import compile_program, syncopate

from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.tuning import hotlocks

# Rounds of so many threads, one round after the other; the main thread waits for their ends. None
# ends before all of its round are there; together the rounds last much longer than starting them.
ROUNDS = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_there;
static int rounds;
static void* work(void* unused) {
  pthread_barrier_wait(&all_there);
  pthread_mutex_lock(&lock);
  usleep(1000);
  pthread_mutex_unlock(&lock);
  usleep(400000 / rounds);
  return unused;
}
int main(int count, char** words) {
  pthread_t threads[8];
  int many = atoi(words[2]);
  rounds = atoi(words[1]);
  pthread_barrier_init(&all_there, 0, many);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < many; ++i) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < many; ++i) pthread_join(threads[i], 0);
  }
  if (count > 3) usleep(atoi(words[3]));
}
"""


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    return compile_program(ROUNDS, tmp_path_factory.mktemp("rounds") / "rounds")


@pytest.mark.parametrize(
    ("words", "at_once"),
    [
        (("10", "2"), 2),  # 21 threads in all
        (("1", "8"), 8),
        (("2", "2", "800000"), 3),  # the main thread has done more than wait for them
    ],
)
def test_threads_at_once(rounds, tmp_path, words, at_once):
    done = syncopate("record", "-q", "-o", tmp_path / "a.rec", "--", rounds, *words)
    assert done.returncode == 0, done.stderr
    analysis = Analysis(Record(str(tmp_path / "a.rec")))
    assert hotlocks.threads_at_once(analysis) == at_once
