"""Starts the command line as its launcher does, and stands in for the native parts."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import forked_command
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT)]

START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from syncopate.__main__ import main;"
    " sys.exit(main())"
)
COMMAND = [sys.executable, "-I", "-S", "-c", START, str(ROOT)]
SECONDS = 60  # no command of these tests takes a tenth of it

LOCKS = [
    {
        "name": name,
        "header": f"syncopate/locks/{name}_lock.h",
        "summary": f"the {name} lock",
        "source": "a paper",
        "fair": fair,
        "size": 8,
        "waits": ["spin", "park"],
        "default_wait": "park",
        "timed": "native",
        "preload": preload,
        "collapses_when_oversubscribed": collapses,
        "excludes": True,
    }
    for name, fair, preload, collapses in (
        ("auto", "eventual", True, []),
        ("futex", "none", True, []),
        ("ticket", "FIFO", True, ["spin", "park"]),
        ("mcs", "FIFO", True, ["spin"]),
        ("elided", "none", False, []),
    )
]


# Four threads of Python's wait for one lock, again and again.
PYTHONS_LOCK = """
import threading, time
lock = threading.Lock()
def run():
    for _ in range(20):
        with lock:
            time.sleep(0.002)
threads = [threading.Thread(target=run) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

# Two threads with a lock, each of which takes it so often, for so many microseconds.
POOL = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static void* work(void* x) {
  for (int i = 0; i < TIMES; i++) {
    pthread_mutex_lock(&pool_lock);
    usleep(HELD);
    pthread_mutex_unlock(&pool_lock);
  }
  return x;
}
static void two_threads(void) {
  pthread_t other;
  pthread_create(&other, 0, work, 0);
  work(0);
  pthread_join(other, 0);
}
"""


def with_pool(text: str, times: int, held: int) -> str:
    """A program in C that has these threads."""
    return POOL.replace("TIMES", str(times)).replace("HELD", str(held)) + text


# A process whose two children have two threads each, with a lock of their own.
FORKS = with_pool(
    r"""
int main(void) {
  for (int i = 0; i < 2; i++)
    if (fork() == 0) {
      two_threads();
      return 0;
    }
  while (wait(0) > 0) {}
  return 0;
}
""",
    times=20,
    held=1000,
)


def run_cli(*arguments, environ=None, **others) -> subprocess.CompletedProcess:
    """Runs `syncopate ARGUMENTS`; `environ` is added to ours."""
    words = [str(argument) for argument in arguments]
    if forked_command.can(words, environ or {}, others):
        everything = {**os.environ, **(environ or {})}
        return forked_command.run(words, everything, SECONDS, others.get("cwd"))
    others.setdefault("stdin", subprocess.DEVNULL)
    # Under limits Python would leave half a compiled module behind.
    flags = ["-B"] if "preexec_fn" in others else []
    return subprocess.run(
        [COMMAND[0], *flags, *COMMAND[1:], *words],
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        **others,
    )


def compile_c(source: str, target: Path, *options: str, compiler: str = "gcc") -> Path:
    """Compiles C text to `target`."""
    subprocess.run(
        [compiler, "-x", "c", "-", "-o", target, *options], input=source, text=True, check=True
    )
    return target


@pytest.fixture(scope="session")
def native(tmp_path_factory) -> Path:
    """A prefix with a preload library that does nothing and a table of locks."""
    prefix = tmp_path_factory.mktemp("native")
    (prefix / "lib").mkdir()
    (prefix / "share/syncopate").mkdir(parents=True)
    library = prefix / "lib/libsyncopate-pthread.so.0"
    compile_c("int syncopate_stand_in;\n", library, "-shared", "-fPIC")
    (prefix / "share/syncopate/locks.json").write_text(json.dumps(LOCKS))
    built = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build")
    shutil.copy(built / "share/syncopate/options.json", prefix / "share/syncopate")
    return prefix


@pytest.fixture
def cli(native):
    """run_cli with the stand-in native parts."""

    def run(*arguments, environ=None, **others):
        environ = {"SYNCOPATE_NATIVE": str(native), "SYNCOPATE_LOCK": "", **(environ or {})}
        return run_cli(*arguments, environ=environ, **others)

    return run


def one_line(done: subprocess.CompletedProcess) -> str:
    """The one line that a failing command may say; fails for tracebacks and for chatter."""
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("syncopate: ")
    return lines[0]
