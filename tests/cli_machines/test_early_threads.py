"""Threads that static constructors make: over before main begins, or the program is refused in one
line. A static pool of threads was said to be in a deadlock."""

import os
import subprocess

import pytest
from modeled import build

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <semaphore.h>
#include <thread>
#include <threads.h>
#include <unistd.h>

static sem_t posted;
static void* post(void*) { sem_post(&posted); return nullptr; }
static int post_c11(void*) { sem_post(&posted); return 0; }
static void* leave(void*) { sem_post(&posted); pthread_exit(nullptr); }
static void* stay(void*) { for (;;) pause(); }
// So that it has ended, too.
static void wait_for_it() { sem_wait(&posted); usleep(200000); }

struct early {
  std::thread kept;
  early() {
    sem_init(&posted, 0, 0);
    const char* const made = getenv("MADE");
    const auto is = [made](const char* text) { return strcmp(made, text) == 0; };
    pthread_t thread;
    thrd_t c11;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    const timespec far{1l << 40, 0};
    if (is("joined")) {
      pthread_create(&thread, nullptr, post, nullptr);
      sem_wait(&posted);
      pthread_join(thread, nullptr);
    }
    if (is("left and joined")) {
      pthread_create(&thread, nullptr, leave, nullptr);
      pthread_timedjoin_np(thread, nullptr, &far);
    }
    if (is("detached")) {
      pthread_create(&thread, nullptr, post, nullptr);
      pthread_detach(thread);
      wait_for_it();
    }
    if (is("made detached")) {
      pthread_create(&thread, &detached, leave, nullptr);
      wait_for_it();
    }
    if (is("of C11")) {
      thrd_create(&c11, post_c11, nullptr);
      thrd_join(c11, nullptr);
    }
    if (is("of C++")) std::thread([] {}).join();
    if (is("not joined")) {
      kept = std::thread([] { post(nullptr); });
      wait_for_it();
    }
    if (is("runs on")) {
      pthread_create(&thread, nullptr, stay, nullptr);
      pthread_detach(thread);
    }
    if (is("made detached, runs on")) pthread_create(&thread, &detached, stay, nullptr);
    if (is("of C11, not joined")) thrd_create(&c11, post_c11, nullptr);
  }
  ~early() { if (kept.joinable()) kept.join(); }
} made;
int main() { puts("main"); }
"""

OVER = ("joined", "left and joined", "detached", "made detached", "of C11", "of C++")
LEFT = ("not joined", "runs on", "made detached, runs on", "of C11, not joined")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("early"), "early", PROGRAM)


def run(program, made: str) -> subprocess.CompletedProcess:
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c", "SYNCOPATE_QUIET": "1", "MADE": made}
    return subprocess.run([program], env=environ, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("made", OVER)
def test_threads_that_are_over_do_no_harm(program, made):
    done = run(program, made)
    assert (done.returncode, done.stdout, done.stderr) == (0, "main\n", "")


@pytest.mark.parametrize("made", LEFT)
def test_threads_that_are_left_are_refused_in_a_line(program, made):
    done = run(program, made)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("syncopate: a static constructor has made a thread that is not")
    assert done.stderr.count("\n") == 1
