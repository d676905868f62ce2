"""Commands for native programs, given one of a modeled machine: its locks, threads and OpenMP are
that machine's. It is refused, and where it is a child left alone: what it says stays the same."""

import json
import os
import re
import subprocess
import sys

import pytest
from modeled import build

PROGRAM = r"""
#include <pthread.h>
#include <unistd.h>
#include <cstdio>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int count, begun;
void* work(void*) {
  pthread_mutex_lock(&lock);
  ++begun;
  pthread_cond_broadcast(&changed);
  while (begun < 2) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(&lock);
    ++count;
    if (ROUNDS > 1) usleep(1000);
    pthread_mutex_unlock(&lock);
  }
  return nullptr;
}
int main() {
  pthread_t threads[2];
  for (auto& thread : threads) pthread_create(&thread, nullptr, work, nullptr);
  for (auto& thread : threads) pthread_join(thread, nullptr);
  std::printf("count %d\n", count);
}
"""
# OpenMP on the simulated machine needs a libgomp that takes minutes to make (test_libgomp.py). This
# is what the preload library sees of such a machine: a function of it.
LOOPS = r"""
#include <cstdio>
#ifdef MODELED
extern "C" unsigned syncopate_processors() noexcept { return 2; }
#endif
int main() {
  int sum = 0;
#pragma omp parallel num_threads(3)
#pragma omp critical
  ++sum;
  std::printf("sum %d\n", sum);
}
"""
INSTEAD = {"simulated": "syncopate simulate", "explored": "syncopate check"}
REFUSED = (
    ("run", "--lock", "mcs"),
    ("run", "--omp"),
    ("run", "--tm", "norec"),
    ("record", "-o", "a.rec"),
    ("record", "--omp", "-o", "a.rec"),
    ("top",),
    ("tune",),
)
LEAVING = (
    ("run", "--lock", "auto"),
    ("run", "--lock", "mcs"),
    ("run", "--guard"),
    ("run", "--omp"),
    ("record", "-q", "-o", "a.rec"),
    ("record", "-q", "--omp", "-o", "a.rec"),
)


def said_by(*command, folder, fails=0, **variables):
    """All that a command says; simulated times to a microsecond, since threads' stacks begin where
    the thread-locals of all libraries end, also of those that do nothing."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, "SYNCOPATE_MACHINE": "small-2c", **variables},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == fails, done.stdout + done.stderr
    return re.sub(r"(simulated time: [0-9]+\.[0-9]{6})[0-9]*", r"\1", done.stdout + done.stderr)


def syncopate(*arguments, folder, fails=0):
    return said_by(sys.executable, "-m", "syncopate", *arguments, folder=folder, fails=fails)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modeled")
    for machine, rounds in {"simulated": 20, "explored": 1, "emulated": 100}.items():
        build(folder, machine, PROGRAM, machine, (f"-DROUNDS={rounds}",))
        build(folder, f"{machine}_clang", PROGRAM, machine,
              (f"-DROUNDS={rounds}", "-O3", "--compiler=clang++"))  # fmt: skip
    return folder


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", REFUSED, ids=" ".join)
@pytest.mark.parametrize("machine", sorted(INSTEAD))
def test_it_is_refused(programs, machine, command):
    said = syncopate(*command, "--", f"./{machine}", folder=programs, fails=2)
    assert said.count("\n") == 1 and said.startswith("syncopate: ")
    assert f"compiled for the {machine} machine" in said
    assert f"`{INSTEAD[machine]} ./{machine}`" in said


def test_who_compiled_it_does_not_matter(programs):
    for machine in sorted(INSTEAD):
        name = f"./{machine}_clang"
        assert f"compiled for the {machine} machine" in syncopate(
            "run", name, folder=programs, fails=2
        )
        shell = ("sh", "-c", f"{name}; true")
        alone = said_by(name, folder=programs, SYNCOPATE_LOCK="mcs")
        assert syncopate("run", "--lock", "mcs", "--", *shell, folder=programs) == alone


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", LEAVING, ids=" ".join)
@pytest.mark.parametrize("machine", sorted(INSTEAD))
def test_a_child_says_what_it_says_alone(programs, machine, how):
    lock = (
        how[2] if "--lock" in how else "auto"
    )  # what `run` chooses, the simulated machine has, too
    chosen = {"SYNCOPATE_LOCK": lock} if how[0] == "run" else {}
    alone = said_by(f"./{machine}", folder=programs, **chosen)
    assert ("simulated time" if machine == "simulated" else "passed: ") in alone
    shell = ("sh", "-c", f"./{machine}; true")
    assert syncopate(*how, "--", *shell, folder=programs) == alone
    if how[0] == "run":
        forced = (how[0], "--force", *how[1:], "--", f"./{machine}")
        assert syncopate(*forced, folder=programs) == alone


@pytest.mark.parametrize("modeled", (False, True))
def test_openmp_of_a_modeled_program_is_its_machines(tmp_path, modeled):
    (tmp_path / "loops.cpp").write_text(LOOPS, encoding="utf-8")
    options = ["-fopenmp", "-rdynamic", *(["-DMODELED"] if modeled else [])]
    said_by("g++", *options, "loops.cpp", "-o", "loops", folder=tmp_path)
    said = syncopate("record", "-q", "--omp", "-o", "a.rec", "./loops", folder=tmp_path)
    assert "sum 3\n" in said
    assert (tmp_path / "a.rec").exists() != modeled, said


def test_waits_of_an_emulated_program_are_recorded(programs):
    syncopate("record", "-q", "-o", "b.rec", "--lock", "mcs", "./emulated", folder=programs)
    (report,) = json.loads(syncopate("report", "--json", "b.rec", folder=programs))["records"]
    (lock,) = [each for each in report["locks"] if each["name"] == "lock"]
    assert lock["acquisitions"] >= 202 and lock["contended"] > 0
