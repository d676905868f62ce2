"""What the commands of the tables are run on, made once, and how they are run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli"), str(ROOT)]

from make_record import RecordBuilder  # noqa: E402

NATIVE = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build")
START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from syncopate.__main__ import main;"
    " sys.exit(main())"
)
COMMAND = [sys.executable, "-B", "-I", "-S", "-c", START, str(ROOT)]
SECONDS = 120  # no command of these tests takes a tenth of it

PROGRAM = """
#include <mutex>
#include <thread>
std::mutex lock;
int count;
void add() { std::lock_guard held(lock); ++count; }
int main() { std::thread other(add); add(); other.join(); }
"""
SOURCE = """
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int count;
int main(void) { pthread_mutex_lock(&lock); ++count; pthread_mutex_unlock(&lock); return 0; }
"""
MEASURED = """#!/bin/sh
echo '{"workload": "made_up", "operations": 1000, "seconds": 1.0, "consistent": true}'
"""


def run(words: list[str], folder: Path, before: list[str] | None = None, **others):
    """Runs `syncopate WORDS` in a folder; `before`: a command that it is given to."""
    environ = {**os.environ, "SYNCOPATE_NATIVE": str(NATIVE), **others.pop("environ", {})}
    others.setdefault("stdout", subprocess.PIPE)
    others.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        [*(before or []), *COMMAND, *words],
        cwd=folder,
        env=environ,
        stderr=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
        **others,
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Path:
    """Records, programs for two machines, a result file, a report of sections, a source."""
    folder = tmp_path_factory.mktemp("files")
    for name, waited in (("before.rec", 50_000), ("after.rec", 80_000)):
        record(waited).write(folder / name)
    (folder / "program.cpp").write_text(PROGRAM)
    (folder / "source.c").write_text(SOURCE)
    built = folder / "build/papers/workloads/array_bench"
    built.parent.mkdir(parents=True)
    built.write_text(MEASURED)
    built.chmod(0o755)
    for machine in ("simulated", "explored"):
        words = f"c++ --machine={machine} -std=c++20 -O1 -pthread program.cpp -o {machine}"
        done = run(words.split(), folder)
        assert done.returncode == 0, done.stderr
    for words in (
        "advise --json sections.json ./simulated",
        "bench run array/low-small --build build --out r.bench.json --variant ticket,tatas"
        " --threads 1 --repeat 2",
    ):
        done = run(words.split(), folder)
        assert done.returncode == 0, done.stderr
    return folder


def record(waited: int) -> RecordBuilder:
    """Of two threads, one of which waits for the other's lock."""
    builder = RecordBuilder()
    stack = builder.stack(0x400100, 0x400200)
    threads = [builder.thread(10 + number, f"worker{number}") for number in range(2)]
    lock = builder.lock(0x600100, acquisitions=2000, holds=[200] * 400)
    for thread in threads:
        builder.row(thread, lock, 1000, [waited])
    builder.wait(threads[0], lock, 1_100_000, 1_100_000 + waited, stack, 11)
    builder.hold(threads[1], lock, 1_090_000, 1_100_000 + waited, stack)
    return builder
