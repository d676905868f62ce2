"""A lock changes its algorithm while threads use it, and gets its default back."""

import re

import pytest
from conftest import lines, syncopate

COUNTERS = r"""
#include <pthread.h>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>
static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static long counts[3], last;
int main() {
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; k++)
    threads.emplace_back([k] {
      for (int i = 0; i < 3000; i++) {
        timespec at;
        clock_gettime(CLOCK_REALTIME, &at);
        at.tv_sec += 1000;
        if (i % 3 == 0) pthread_mutex_timedlock(&hot, &at);
        else if (i % 3 == 1 || pthread_mutex_trylock(&hot) != 0) pthread_mutex_lock(&hot);
        counts[0]++;
        pthread_mutex_unlock(&hot);
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        counts[1]++;
        pthread_mutex_unlock(&recursive);
        pthread_mutex_unlock(&recursive);
        if (i % 100 != 0) continue;
        pthread_mutex_lock(&hot);  // threads take turns, by a condition variable
        while (last % 4 != k) pthread_cond_wait(&turn, &hot);
        last++;
        counts[2]++;
        pthread_cond_broadcast(&turn);
        pthread_mutex_unlock(&hot);
      }
    });
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < 200; i++) {  // entries of the table go from mutex to mutex
    pthread_mutex_t one;
    pthread_mutex_init(&one, nullptr);
    for (int j = 0; j < 40; j++) pthread_mutex_lock(&one), pthread_mutex_unlock(&one);
    pthread_mutex_destroy(&one);
  }
  std::printf("%ld %ld %ld\n", counts[0], counts[1], counts[2]);
}
"""
PRINTED = "12000 12000 120\n"
POLICY = """schema = "syncopate-policy"
version = 1
[[lock]]
variable = "hot"
lock = "{lock}"
"""


@pytest.fixture
def subject(build):
    return build("counters", COUNTERS)


def policy(folder, lock):
    path = folder / "policy.toml"
    path.write_text(POLICY.format(lock=lock))
    return path


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lock", ["mcs:park", "ticket:park", "clh:park", "tatas:yield"])
def test_locks_change_again_and_again_and_still_exclude(subject, lock):
    done = syncopate("run", "--lock", lock, "--guard", subject,
                     environ={"SYNCOPATE_GUARD": "restless"})  # fmt: skip
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr


def test_a_choice_that_does_not_pay_is_returned_and_the_reason_told(subject, tmp_path):
    done = syncopate("run", "-v", "--policy", policy(tmp_path, "mcs:park"), "--guard", subject,
                     environ={"SYNCOPATE_GUARD": "distrust"})  # fmt: skip
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr
    said = [line for line in lines(done) if "does not pay" in line]
    assert len(said) == 1
    assert re.fullmatch(
        r"mutex 0x[0-9a-f]+ \(variable hot\), first waited for at counters\+0x[0-9a-f]+"
        r" \(\w+\): mcs:park"
        r" is acquired every \d+ ns and waited for \d+ ns, auto every \d+ ns and \d+ ns, and it was"
        r" so in 3 comparisons: the choice does not pay, back to auto",
        said[0],
    )
    assert "mutexes watched: 1, returned to auto: 1" in lines(done)


def test_lines_go_to_a_file(subject, tmp_path):
    log = tmp_path / "guard.log"
    done = syncopate("run", "--policy", policy(tmp_path, "clh:park"), "--guard-log", log, subject,
                     environ={"SYNCOPATE_GUARD": "distrust"})  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, PRINTED, "")
    assert "back to auto" in log.read_text()


def test_without_contention_nothing_is_watched(build):
    alone = build("alone", r"""
#include <mutex>
int main() {
  std::mutex m;
  for (int i = 0; i < 9999; i++) std::lock_guard<std::mutex> hold(m);
}
""")  # fmt: skip
    done = syncopate("run", "-v", "--lock", "mcs", "--guard", alone)
    assert done.returncode == 0
    assert lines(done)[-1] == "mutexes watched: 0, returned to auto: 0"


def test_a_word_that_means_nothing_is_named(build):
    alone = build("nothing", "int main() {}")
    done = syncopate("run", alone, environ={"SYNCOPATE_GUARD": "epoch"})
    assert done.returncode == 0
    assert "unknown word: epoch" in done.stderr
    for patience in ("2s", "-1", "9" * 30):
        environ = {"SYNCOPATE_GUARD_PATIENCE": patience}
        done = syncopate("run", "--guard", alone, environ=environ)
        assert done.returncode == 0
        assert f"SYNCOPATE_GUARD_PATIENCE={patience}: not a number" in done.stderr


def test_waiters_sleep_while_the_holder_does_not_run(build):
    """The holder sleeps a second in its section; the waiter, which would spin, must not."""
    program = build(
        "sleeper",
        r"""
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <thread>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static std::atomic<bool> ready;
int main() {
  double used = 0;
  pthread_mutex_lock(&held);
  std::thread waiter([&] {
    ready = true;
    pthread_mutex_lock(&held);
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    used = t.tv_sec + t.tv_nsec * 1e-9;
    pthread_mutex_unlock(&held);
  });
  while (!ready) usleep(1000);
  sleep(1);
  pthread_mutex_unlock(&held);
  waiter.join();
  std::printf("%f\n", used);
}
""",
    )
    done = syncopate("run", "-v", "--lock", "tatas:spin", "--preempted-holders", program)
    assert done.returncode == 0
    extended = any("extended time slices" in line for line in lines(done))
    assert extended or float(done.stdout) < 0.5
