"""`syncopate record --omp`: waits for an iteration's turn, counted and timed by their places."""

import json

import pytest
from openmp_runs import compiled, run_cli, source

from syncopate.records import imbalance

ORDERED = """\
#include <unistd.h>
static int sum;
__attribute__((noinline)) static void each(void) {
#pragma omp for ordered schedule(dynamic, 1)
  for (int i = 0; i < 30; ++i) {
#pragma omp ordered  // line 6
    { ++sum; usleep(2000); }
  }
}
__attribute__((noinline)) static void some(void) {
#pragma omp for ordered schedule(static, 2)
  for (long i = 0; i < 60; ++i) {
    if (i % 4 < 2) usleep(10);
    else
#pragma omp ordered  // line 15
    ++sum;
  }
}
__attribute__((noinline)) static void sinks(void) {
#pragma omp for ordered(2) schedule(static, 1)
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 2; ++j) {
#pragma omp ordered depend(sink : i - 1, j)  // line 23
      { __asm__ volatile("" ::: "memory"); usleep(1000); }
#pragma omp ordered depend(source)
    }
}
int main(void) {
#pragma omp parallel num_threads(3)
  {
    each();
    some();
    sinks();
  }
  // A team of one waits for nobody.
#pragma omp parallel num_threads(1)
  each();
  return sum == 30 + 30 + 30 ? 0 : 1;
}
"""


def recorded(folder, program, *options):
    """The record's locks, by name."""
    record = folder / "ordered.rec"
    done = run_cli("record", "--omp", *options, "-q", "-o", record, "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    shown = run_cli("report", record).stdout
    assert "\nTurns of loops' iterations (`ordered`: not lost to locks)\n" in shown
    assert not any("`ordered`" in note for note in results["notes"])
    found = [each for each in results["findings"] if each["causes"] == ["turns"]]
    for each in found:
        assert each["lock"].startswith("ordered in ") and "ordered part" in each["do"][0]
    turns = {lock["name"]: lock for lock in results["locks"] if lock["object"] == "turn"}
    # Well above the least that makes a finding, however long all takes.
    least = 2 * max(imbalance.LEAST_NS, imbalance.LEAST * results["thread_time_ns"])
    worth = {name for name, lock in turns.items() if lock["waited_ns"] > least}
    assert worth <= {each["lock"] for each in found}
    return turns


def turns_in(locks, function):
    """The waits for a turn in that function, at all its places: how many, and their time."""
    found = [of for name, of in locks.items() if name.startswith(f"ordered in {function} at ")]
    waits = [of["waits"]["barrier"] for of in found]
    return sum(each["count"] for each in waits), sum(each["total_ns"] for each in waits)


OPTIONS = [(), ("--omp-barrier", "runtime"), ("--omp-regions", "kept")]


# libomp's regions are never kept.
@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("compiler", "options"),
    [("gcc", options) for options in OPTIONS] + [("clang", options) for options in OPTIONS[:2]],
)
def test_each_turn_is_a_wait(tmp_path, compiler, options):
    path = source(tmp_path, "turns.c", ORDERED)
    program = compiled(tmp_path / "turns", path, compiler=compiler)
    locks = recorded(tmp_path, program, *options)
    times, waited = turns_in(locks, "each")
    assert times == 30
    # Where 30 turns of 2 ms follow each other, two of three threads wait at any time.
    assert waited > 50_000_000
    # Of GCC's, chunks without such a part wait as a whole; of clang's, each of their iterations.
    times, _ = turns_in(locks, "some")
    assert times == 30 + (15 if compiler == "gcc" else 30)
    times, waited = turns_in(locks, "sinks")
    assert times == 2 * (9 if compiler == "gcc" else 10)  # GCC asks for none before the first
    assert waited > 10_000_000
    for name, lock in locks.items():
        if name.startswith("ordered in each "):
            assert lock["waiters"] and lock["waiters"][0]["frames"]
            assert not lock["arrivals"] and not lock["work"] and lock["lost_ns"] == 0


FORTRAN = """\
program turns
  implicit none
  integer :: i, total
  total = 0
  !$omp parallel num_threads(3)
  !$omp do ordered schedule(dynamic, 1)
  do i = 1, 24
    !$omp ordered
    total = total + i
    !$omp end ordered
  end do
  !$omp end do
  !$omp end parallel
  if (total /= 300) stop 1
end program turns
"""


def test_fortrans_turns(tmp_path):
    path = source(tmp_path, "turns.f90", FORTRAN)
    program = compiled(tmp_path / "turns", path, compiler="gfortran")
    assert turns_in(recorded(tmp_path, program), "MAIN__")[0] == 24
