"""How a simulated program ends is how it ends natively: for itself, and for who waits for it."""

import os
import subprocess
from pathlib import Path

import pytest
from modeled import build

PROGRAM = r"""
#include <cassert>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static void say(const char* text) { if (write(1, text, strlen(text)) < 0) _exit(9); }
static void jump(int) { say("handled\n"); siglongjmp(back, 1); }
static void only_say(int) { say("handled, and back\n"); }
static void* end_in_thread(void*) { abort(); }

static void end_by(const char* how) {
  sigset_t all;
  sigfillset(&all);
  if (!strcmp(how, "blocked")) { sigprocmask(SIG_BLOCK, &all, nullptr); abort(); }
  if (!strcmp(how, "ignored")) { signal(SIGABRT, SIG_IGN); abort(); }
  if (!strcmp(how, "handled")) { signal(SIGABRT, only_say); abort(); }
  if (!strcmp(how, "handled and blocked")) {
    signal(SIGABRT, only_say);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    abort();
  }
  if (!strcmp(how, "jumped")) {
    signal(SIGABRT, jump);
    if (sigsetjmp(back, 1) == 0) abort();
    if (sigsetjmp(back, 1) == 0) assert(*how == 0);
    _exit(7);
  }
  if (!strcmp(how, "asserted")) assert(*how == 0);
  if (!strcmp(how, "thread")) {
    pthread_t thread;
    pthread_create(&thread, nullptr, end_in_thread, nullptr);
    pthread_join(thread, nullptr);
  }
  if (!strcmp(how, "thrown")) throw 5;
  if (!strcmp(how, "alarm")) { ualarm(2000, 0); for (;;) pause(); }
  abort();
}
int main(int, char** words) {
  printf("lost");
  if (fork() == 0) end_by(words[1]);
  int status = 0;
  wait(&status);
  char text[64];
  snprintf(text, sizeof text, "a child: exit %d, signal %d\n",
           WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : -1);
  say(text);
  end_by(words[1]);
}
"""

HOW = (
    *("abort", "blocked", "ignored", "handled", "handled and blocked", "jumped", "asserted"),
    *("thread", "thrown", "alarm"),
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> tuple[Path, Path]:
    """Compiled as always, and for the machine."""
    folder = tmp_path_factory.mktemp("ends")
    simulated = build(folder, "ends", PROGRAM)
    native = folder / "native"
    subprocess.run(["c++", "-O1", "ends.cpp", "-o", native], cwd=folder, check=True, timeout=60)
    return native, simulated


def run(program: Path, how: str) -> subprocess.CompletedProcess:
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c"}
    return subprocess.run(
        [program, how],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=program.parent,
        timeout=60,
    )


@pytest.mark.parametrize("how", HOW)
def test_a_program_ends_as_natively(programs, how):
    native, simulated = (run(program, how) for program in programs)
    assert (simulated.returncode, simulated.stdout) == (native.returncode, native.stdout)
    assert native.stdout.count("a child: ") == 1
    assert simulated.stderr.count("simulated time: ") == 2  # each with its report
