"""Where threads ran, by samples of the processors: what spins, and what is said of it."""

import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import compile_c, run_cli
from kernel_support import needs_kernel, recorded
from test_account import FUTEX, a_second, results_of

from syncopate.records import account
from syncopate.records.cpusamples import FEW, MADE_AT_RUN_TIME, OF_KERNEL
from syncopate.symbols.names import Names

needs_objdump = pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump")

# A thread spins, or works, until another has seen it use 400 ms of a processor.
BUSY = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static atomic_int held = 1;
static volatile double by = 1.000001;
__attribute__((noinline)) void own_lock(void) {
  while (atomic_exchange(&held, 1))
    while (atomic_load_explicit(&held, memory_order_relaxed)) __builtin_ia32_pause();
}
__attribute__((noinline)) void polls(void) {
  while (atomic_load_explicit(&held, memory_order_acquire)) {}
}
static inline int load(atomic_int* at) { return atomic_load_explicit(at, memory_order_relaxed); }
static inline void relax(void) { __builtin_ia32_pause(); }
static inline void spin_lock(atomic_int* at) {
  while (load(at) != 0)
    relax();
}
__attribute__((noinline)) void inlines(void) { spin_lock(&held); }
__attribute__((noinline)) double works(void) {
  double all = 1;
  for (int i = 0; i < 100000; ++i) all = all * by + 0.5;
  return all;
}
static const char* way;
static pthread_spinlock_t librarys;
static void* busy(void* nothing) {
  if (!strcmp(way, "own_lock")) own_lock();
  else if (!strcmp(way, "polls")) polls();
  else if (!strcmp(way, "inlines")) inlines();
  else if (!strcmp(way, "librarys")) pthread_spin_lock(&librarys);
  else while (atomic_load(&held)) works();
  return nothing;
}
int main(int count, char** words) {
  way = words[count - 1];
  pthread_spin_init(&librarys, 0);
  pthread_spin_lock(&librarys);
  pthread_t thread;
  pthread_create(&thread, 0, busy, 0);
  clockid_t clock;
  pthread_getcpuclockid(thread, &clock);
  for (struct timespec ran = {0}; ran.tv_sec == 0 && ran.tv_nsec < 400000000;) {
    usleep(5000);
    clock_gettime(clock, &ran);
  }
  atomic_store(&held, 0);
  pthread_spin_unlock(&librarys);
  return pthread_join(thread, 0);
}
"""


# One thread waits until the other, which has nothing to do, has used 400 ms of a processor.
TEAM = r"""
#include <omp.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static clockid_t clocks[2];
int main(void) {
#pragma omp parallel num_threads(2)
  {
    pthread_getcpuclockid(pthread_self(), &clocks[omp_get_thread_num()]);
#pragma omp barrier
    struct timespec ran = {0};  // it may sleep where others want its processor
    for (int i = 0; i < 4000 && omp_get_thread_num() == 0 && ran.tv_nsec < 400000000; ++i) {
      usleep(5000);
      clock_gettime(clocks[1], &ran);
      if (ran.tv_sec != 0) break;
    }
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    return compile_c(BUSY, tmp_path_factory.mktemp("busy") / "busy", "-O2", "-g", "-pthread")


def line_of(text: str) -> int:
    return 1 + next(at for at, line in enumerate(BUSY.splitlines()) if text in line)


@pytest.mark.sampled(2)
@needs_objdump
@needs_kernel
@pytest.mark.parametrize(
    ("way", "name", "line"),
    [
        ("own_lock", "own_lock", "while (atomic_load_explicit(&held, memory_order_relaxed))"),
        ("polls", "polls", "memory_order_acquire"),
        ("inlines", "spin_lock", "while (load(at) != 0)"),
    ],
)
def test_a_lock_of_the_programs_own_that_spins_is_named(busy, tmp_path, way, name, line):
    """By the function that has its loop, not by what loads a word there, or pauses."""
    found, _ = recorded([busy, way], tmp_path / "r")
    samples, parts = found["cpu_samples"], found["account"]["parts"]
    first = samples["places"][0]
    assert first["function"] == name and first["module"] == str(busy)
    assert first["spinning"] >= 0.9 * first["samples"] >= 0.6 * samples["count"]
    at = line_of(line)
    assert first["called"] == f"{name} at <stdin>:{at}"
    assert parts["spinning"] >= parts.get("running", 0)
    assert sum(parts.values()) == pytest.approx(found["account"]["total_ns"], rel=0.02)
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert f"most of it at {name} at <stdin>:{at}" in text
    assert re.search(
        rf"spinning until memory changes, or for a time; of \d+ CPU samples [\d.]+ % at {name} at",
        text,
    )
    assert "spinning is, where its code is recognized" in text


@pytest.mark.sampled(2)
@needs_objdump
@needs_kernel
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_c_librarys_spin_lock_spins_too(tmp_path, compiler):
    spins = compile_c(BUSY, tmp_path / "busy", "-O2", "-pthread", compiler=compiler)
    found, _ = recorded([spins, "librarys"], tmp_path / "r")
    first = found["cpu_samples"]["places"][0]
    assert "spin_lock" in first["function"] and "/libc." in first["module"]
    assert first["spinning"] >= 0.9 * first["samples"] > 0


@pytest.mark.sampled(2)
@needs_objdump
@needs_kernel
@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2,
    reason="OpenMP's run-times spin only where each thread has a processor; one may be used here",
)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_threads_of_a_run_time_that_wait_for_one_at_work_spin_too(tmp_path, compiler):
    team = compile_c(TEAM, tmp_path / "team", "-O2", "-fopenmp", compiler=compiler)
    always = ["env", "OMP_WAIT_POLICY=active", "KMP_BLOCKTIME=infinite", team]
    found, _ = recorded(always, tmp_path / "of_team")
    places = [each for each in found["cpu_samples"]["places"] if each["spinning"]]
    assert places and all("omp.so" in each["module"] for each in places)
    assert "spinning" in found["account"]["parts"]


@needs_objdump
@needs_kernel
def test_without_symbols_it_is_named_by_its_place(busy, tmp_path):
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, busy], check=True)
    found, _ = recorded([bare, "polls"], tmp_path / "r")
    first = found["cpu_samples"]["places"][0]
    assert first["spinning"] >= 0.9 * first["samples"] > 0
    (told,) = Names().ask(str(busy), ["F"])
    starts = dict(zip(told[2::3], told[::3], strict=True))
    assert first["function"] == f"bare+0x{starts['polls'].lstrip('0')}"
    assert first["called"].startswith("bare+0x")


@needs_kernel
def test_what_works_does_not_spin(busy, tmp_path):
    found, _ = recorded([busy, "works"], tmp_path / "r")
    samples = found["cpu_samples"]
    assert samples["spinning"] == 0 and samples["places"][0]["function"] == "works"
    assert "spinning" not in found["account"]["parts"]
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert "perhaps to locks of its own" not in text
    assert re.search(r"not recognized; of \d+ CPU samples [\d.]+ % in works", text)


@needs_objdump
@needs_kernel
def test_of_code_that_cannot_be_read_it_is_said_and_a_bundle_has_it(busy, tmp_path):
    gone = tmp_path / "gone"
    shutil.copy(busy, gone)
    recorded([gone, "polls"], tmp_path / "r")
    assert run_cli("report", "--bundle", tmp_path / "bundle", tmp_path / "r").returncode == 0
    gone.unlink()
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert "or spinning: its code, or much of it, cannot be read here" in text
    assert "spinning until" not in text
    text = " ".join(run_cli("report", tmp_path / "bundle").stdout.split())
    assert "most of it at polls at <stdin>:" in text and "cannot be read" not in text


def planted(folder, program, samples, maps="") -> dict:
    """A second of one thread at work, half of it on a processor, and where it ran."""
    builder = a_second(recorder=1)
    builder.maps = f"00400000-00500000 r-xp 00000000 00:00 0    {program}\n{maps}"
    builder.thread(100, cpu=500_000_000, delay=0)
    builder.thread(101, cpu=1, delay=0)
    builder.cpu_samples = [(0, 0, 0), *samples]
    return results_of(builder, folder)


@pytest.fixture(scope="module")
def spinner(tmp_path_factory):
    """A program that is where it is linked to be, and its functions' addresses."""
    folder = tmp_path_factory.mktemp("spinner")
    program = compile_c(BUSY, folder / "spinner", "-O2", "-pthread", "-no-pie")
    (told,) = Names().ask(str(program), ["F"])
    starts = {name: int(at, 16) for at, name in zip(told[::3], told[2::3], strict=True)}
    return program, starts


@needs_objdump
def test_the_share_of_samples_is_a_share_of_what_ran(spinner, tmp_path):
    program, at = spinner
    names = Names()
    loop = names.program(str(program)).function(at["polls"])
    inside = next(each.target for each in loop.at.values() if each.is_conditional)
    found = planted(tmp_path, program, [(inside, 60, 0), (at["works"], 20, 10), (7, 10, 0)])
    samples = found["cpu_samples"]
    assert (samples["count"], samples["in_kernel"], samples["spinning"]) == (100, 10, 60)
    assert [(each["function"], each["samples"]) for each in samples["places"]] == [
        ("polls", 60), ("works", 20), (MADE_AT_RUN_TIME, 10)
    ]  # fmt: skip
    assert samples["unread"] == 10
    assert found["account"]["parts"]["spinning"] == pytest.approx(300_000_000, abs=2)
    assert found["account"]["parts"]["running"] == pytest.approx(200_000_000, abs=2)
    assert account.perhaps_other(found).startswith(
        ", and perhaps to locks of its own: up to 15.0 % more, most of it at polls+0x"
    )


def test_where_the_clock_is_read_is_no_code_of_a_compiler(spinner, tmp_path):
    program, at = spinner
    vdso = "7ff000-801000 r-xp 00000000 00:00 0    [vdso]\n"
    found = planted(tmp_path, program, [(0x7FF800, 70, 0), (at["works"], 30, 0)], vdso)
    samples = found["cpu_samples"]
    assert samples["places"][0]["function"] == OF_KERNEL
    assert samples["unread"] == 0


def test_few_samples_say_nothing(spinner, tmp_path):
    program, at = spinner
    assert planted(tmp_path, program, [(at["polls"], FEW - 1, 0)])["cpu_samples"] is None
    assert planted(tmp_path, program, [(at["polls"], FEW, 0)])["cpu_samples"]["count"] == FEW


def test_what_openmp_spins_at_is_no_lock_of_the_programs(tmp_path):
    results = {
        "account": {"total_ns": 1000, "parts": {"spinning": 600}, "signaled_by_waiters_ns": 0},
        "locks": [], "process": {"tasks": "", "unseen_cpu_ns": 0, "recorder": "kernel",
                                 "executable": "p", "at_conditions": False, "is_full": False},
        "threads": [1, 2], "findings": [],
        "cpu_samples": {"count": 100, "spinning": 60, "places": [
            {"called": "do_spin", "module": "/usr/lib/libgomp.so.1", "samples": 40, "spinning": 40},
            {"called": "mine", "module": "/usr/bin/p", "samples": 20, "spinning": 20}]},
    }  # fmt: skip
    said = account.perhaps_other(results)
    assert said.startswith(
        ", and perhaps to locks of its own: up to 20.0 % more, most of it at mine"
    )
    results["cpu_samples"]["places"].pop()
    results["cpu_samples"]["spinning"] = 40
    assert account.perhaps_other(results) == ""


def test_records_without_samples_say_that_spinning_is_not_seen(tmp_path):
    builder = a_second(recorder=1)
    builder.thread(100, cpu=500_000_000)
    builder.row(0, builder.lock(0x9000, 6), FUTEX, [100_000_000])
    found = results_of(builder, tmp_path)
    assert found["cpu_samples"] is None
    assert any("and spinning are not seen" in note for note in found["notes"])
    told = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)
    assert told["records"][0]["cpu_samples"] is None


@pytest.mark.parametrize("maps", ["", "00400000-00500000 r-xp 00000000 00:00 0    /bin/p\n"])
def test_a_process_that_ended_before_its_maps_were_read_is_said_to_have(tmp_path, maps):
    builder = a_second(recorder=1)
    builder.maps = maps
    builder.thread(100, cpu=500_000_000)
    builder.row(0, builder.lock(0x9000, 6), FUTEX, [100_000_000])
    notes = results_of(builder, tmp_path)["notes"]
    assert any("of its own is not known" in note for note in notes) == (not maps)
