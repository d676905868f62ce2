"""What the original STAMP is linked with here (original/): a planted program that asks for it as
STAMP's lib/tm.h does. And, long, the original programs themselves, where they can be had."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads/stamp/original"
FORMS = ("sgl", "tsx", "stm")

# Threads move money between accounts, write a float, allocate and free; a transaction that finds an
# account empty restarts, when it may, until another thread has filled it.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stm.h>
enum { accounts = 64, threads = 4, rounds = 200 };
static struct { long money; float f; int n; void* block; char pad[40]; } all[accounts];
static long turn;
static void* work(void* number) {
  STM_THREAD_T* STM_SELF = STM_NEW_THREAD();
  STM_INIT_THREAD(STM_SELF, (long)number);
  unsigned random = (unsigned)(long)number + 1;
  for (int i = 0; i < rounds; ++i) {
    random = random * 1664525u + 1013904223u;
    const long from = random >> 8 & (accounts - 1), to = random >> 16 & (accounts - 1);
    STM_BEGIN_WR();
    STM_WRITE(all[from].money, STM_READ(all[from].money) - 1);
    STM_WRITE(all[to].money, STM_READ(all[to].money) + 1);
    STM_WRITE_F(all[to].f, STM_READ_F(all[to].f) + 1.0f);
    STM_WRITE(all[to].n, STM_READ(all[to].n) - 1);
    void* const old = STM_READ_P(all[to].block);
    if (old != NULL) STM_FREE(old);
    STM_WRITE_P(all[to].block, STM_MALLOC(24));
    STM_END();
  }
#ifdef RESTARTS
  STM_BEGIN_WR();
  if (STM_READ(turn) != (long)number) STM_RESTART();
  STM_WRITE(turn, (long)number + 1);
  STM_END();
#endif
  STM_FREE_THREAD(STM_SELF);
  return NULL;
}
int main(void) {
  STM_STARTUP();
  pthread_t started[threads];
  for (long i = 0; i < threads; ++i) pthread_create(&started[i], NULL, work, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
  STM_SHUTDOWN();
  long money = 0, n = 0;
  float floats = 0;
  for (int i = 0; i < accounts; ++i) {
    money += all[i].money;
    n += all[i].n;
    floats += all[i].f;
  }
  printf("money %ld ints %ld floats %.0f turn %ld\n", money, n, (double)floats, turn);
  return 0;
}
"""

needs_machine = pytest.mark.skipif(
    not (BUILD / "sgl/simulated").is_dir(), reason="this build has no simulated machine"
)


def command(*words: object, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, timeout=900,
        env=os.environ | variables,
    )  # fmt: skip


def compiled(folder: Path, form: str, *flags: str) -> Path:
    source, program = folder / "planted.c", folder / f"planted.{form}"
    source.write_text(PROGRAM)
    wrapper = [sys.executable, "-m", "syncopate"]
    machine = ["--machine=simulated", "-O2", "-Wall", "-Werror"]
    ours = f"-I{ROOT}/papers/workloads/stamp/original"
    calls = ["-DSTM_CALLS"] if form == "stm" else []
    done = command(*wrapper, "cc", *machine, ours, *calls, *flags, "-c", source, "-o",
                   folder / "planted.o")  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = command(*wrapper, "c++", "--machine=simulated", folder / "planted.o", "-o", program,
                   f"-L{BUILD / form / 'simulated'}", "-ltl2")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, **variables: str) -> tuple[str, dict, dict]:
    """What the program says, the line that ours adds, and the machine's report."""
    stats = program.with_suffix(".json")
    machine = {"SYNCOPATE_MACHINE": "haswell-4c8t", "SYNCOPATE_QUIET": "1"}
    done = command(program, **machine, SYNCOPATE_STATS=str(stats), **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    *said, line = done.stdout.strip().splitlines()
    return said[0], json.loads(line), json.loads(stats.read_text())


@needs_machine
@pytest.mark.parametrize("form", FORMS)
def test_transactions_are_atomic(tmp_path, form):
    said, line, report = run(compiled(tmp_path, form))
    assert said == "money 0 ints -800 floats 800 turn 0"
    assert line["seconds"] > 0
    begun = sum(each["begins"] for each in report["transactions"])
    assert (begun > 0) == (form == "tsx")
    if form == "stm":
        assert line["commits"] == 800
        assert line["attempts"] >= line["commits"]
    else:
        assert set(line) == {"seconds"}


@needs_machine
@pytest.mark.parametrize("form", ["tsx", "stm"])
def test_a_transaction_that_restarts_begins_again(tmp_path, form):
    """The processor's: five attempts, then it runs alone, where it cannot wait for another thread,
    and the program ends with a line. Calls: as often as it takes."""
    program = compiled(tmp_path, form, "-DRESTARTS")
    if form == "stm":
        said, line, _ = run(program)
        assert said == "money 0 ints -800 floats 800 turn 4"
        assert line["commits"] == 804
        return
    done = command(program, SYNCOPATE_MACHINE="haswell-4c8t", SYNCOPATE_QUIET="1")
    if "turn 4" not in done.stdout:  # unless the threads happen to come in their order
        assert "a transaction that runs alone wants to restart" in done.stderr
        assert done.returncode != 0


@needs_machine
def test_the_seed_moves_when_threads_start(tmp_path):
    program = compiled(tmp_path, "sgl")
    first, again, other = (run(program, SYNCOPATE_SEED=seed)[1] for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


@pytest.mark.long
@needs_machine
def test_the_original_programs(tmp_path):
    """All eight, in each form, with two threads: each finds its result right."""
    sys.path.insert(0, str(ROOT / "papers/figures"))
    from originals import STAMP, stamp
    from sweep import Setting, run_point

    sources = Path(os.environ.get("SYNCOPATE_ORIGINALS", tmp_path / "sources"))
    done = command(sys.executable, "-m", "syncopate", "bench", "originals", "--program", "stamp",
                   "--machine", "simulated", "--sources", sources, "--out", tmp_path)  # fmt: skip
    assert done.returncode == 0, f"{done.stderr}(SYNCOPATE_ORIGINALS: a folder with STAMP's source)"
    setting = Setting("haswell-4c8t", BUILD, originals=tmp_path)
    points = [stamp(name, form, 2, form) for name in STAMP for form in FORMS]
    runs = [run_point(point, setting) for point in points]
    assert [run for run in runs if "error" in run] == []
