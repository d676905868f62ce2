"""What watches a program's OpenMP runtime misses nothing: that runs then, and a line says so."""

import pytest
from openmp_runs import HERE, LIBRARY, compiled, run, run_cli, source

from syncopate.base import preloading

PROGRAM = """
#include <omp.h>
#include <stdio.h>
int main(void) {
  int n = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
  for (int i = 0; i < 10; i++) {
#pragma omp critical
    n++;
#pragma omp barrier
    omp_set_lock(&lock);
    n++;
    omp_unset_lock(&lock);
#pragma omp critical(named)
    n += 0;
#pragma omp barrier
  }
  printf("counted %d\\n", n);
}
"""
RAN = "counted 60\n"
# 20 barriers and the region's end, of each of 3 threads.
TOLD = "told of 63 waits, 90 locks, 0 callers of ours\n"
# Each call that waits, takes a lock or makes tasks.
CONSTRUCTS = """
#include <omp.h>
#include <stdio.h>
static long part(long many, long more, long and_more) {
  long sum = 0, same = 0, a = many, b = more, c = and_more, d = a, e = b, f = c;
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2) shared(a, b, c, d, e, f, lock, nest, same) reduction(+ : sum)
  {
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < 4; i++) {
#pragma omp ordered
      sum += a + b + c + d + e + f;
    }
#pragma omp for ordered(1)
    for (int i = 0; i < 4; i++) {
#pragma omp ordered depend(sink : i - 1)
      same += i;
#pragma omp ordered depend(source)
    }
    long mine;
#pragma omp single copyprivate(mine)
    mine = 3;
    sum += mine;
#pragma omp for reduction(+ : same)
    for (int i = 0; i < 4; i++) same += i;
    omp_set_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    if (omp_test_lock(&lock)) omp_unset_lock(&lock);
#pragma omp critical(hinted) hint(omp_sync_hint_contended)
    same += 0;
#pragma omp single
    {
#pragma omp taskgroup
#pragma omp task
      sum += 0;
#pragma omp taskloop
      for (int i = 0; i < 4; i++) (void)i;
#pragma omp task depend(out : same)
      same++;
#pragma omp task depend(inout : same) if (0)
      same++;
#pragma omp taskwait
    }
#pragma omp sections
    {
#pragma omp section
      (void)mine;
    }
  }
  return sum + same;
}
int main(void) { printf("%ld\\n", part(1, 2, 3)); }
"""
RUNS_ITSELF = "; the program's own OpenMP runtime runs\n"
OF_TOOL = " is told of an OpenMP runtime's own waits only" + RUNS_ITSELF
OF_SANITIZER = (
    "syncopate: the thread sanitizer is in the program, and would take waits of ours for races"
    + RUNS_ITSELF
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the program, alone and with a tool in it, and with the tool as a library."""
    folder = tmp_path_factory.mktemp("watched")
    program, tool = source(folder, "program.c", PROGRAM), HERE / "watching_tool.c"
    compiled(folder / "alone", program, compiler="clang")
    compiled(folder / "with_tool", program, tool, compiler="clang")
    compiled(folder / "tool.so", tool, "-shared", "-fPIC", compiler="clang")
    return folder


def ways(folder):
    """{way: (program, variables, what the line names)} in which a tool comes into a process."""
    tool = str(folder / "tool.so")
    return {
        "in the program": ("with_tool", {}, "the program"),
        "named": ("alone", {"OMP_TOOL_LIBRARIES": tool}, tool),
        "enabled": ("with_tool", {"OMP_TOOL": "enabled"}, "the program"),
        "preloaded": ("alone", {"LD_PRELOAD": tool}, tool),
    }


def with_ours(**variables):
    """The variables of a run with the library, before what they preload."""
    ours = preloading.changed({}, {"LD_PRELOAD": str(LIBRARY)})
    preloaded = [ours["LD_PRELOAD"], variables.get("LD_PRELOAD", "")]
    return {**ours, **variables, "LD_PRELOAD": ":".join(filter(None, preloaded))}


@pytest.mark.parametrize("way", ["in the program", "named", "enabled", "preloaded"])
def test_tool_is_told_all(built, way):
    program, variables, named = ways(built)[way]
    assert run([built / program], ours=False, **variables).stdout == RAN + TOLD
    settings = {"SYNCOPATE_VERBOSE": "1", "SYNCOPATE_OMP_BARRIER": "central"}
    done = run([built / program], ours=False, **with_ours(**variables), **settings)
    assert done.stdout == RAN + TOLD
    assert done.stderr == f"syncopate: the tool in {named}{OF_TOOL}"


def test_tool_of_no_runtime_yet_is_told_all(built):
    # libgomp takes no tools: none is loaded. A runtime that does may come later.
    program = compiled(built / "by_gcc", built / "program.c")
    done = run([program], OMP_TOOL_LIBRARIES="some.so:others.so")
    assert done.stdout == RAN
    assert done.stderr == f"syncopate: the tool in OMP_TOOL_LIBRARIES=some.so:others.so{OF_TOOL}"


def test_tool_is_told_who_calls(built):
    program = compiled(
        built / "constructs",
        source(built, "constructs.c", CONSTRUCTS),
        HERE / "watching_tool.c",
        "-latomic",
        compiler="clang",
    )
    alone, ours = (run([program], ours=ours).stdout.splitlines() for ours in (False, True))
    assert alone[0] == ours[0]
    assert alone[1].endswith("0 callers of ours")
    assert ours[1].endswith("0 callers of ours")


def test_tool_that_is_turned_off_changes_nothing(built):
    settings = {"SYNCOPATE_VERBOSE": "1", "OMP_TOOL": "disabled"}
    done = run([built / "with_tool"], OMP_TOOL_LIBRARIES=str(built / "tool.so"), **settings)
    assert done.stdout == RAN
    assert "barrier auto, lock asymmetric" in done.stderr
    assert done.stderr.count("\n") == 1


def test_watched_runtime_is_recorded(built, tmp_path):
    record = tmp_path / "program.rec"
    done = run_cli("record", "--omp", "-o", record, "--", built / "with_tool")
    assert done.returncode == 0, done.stderr
    assert "the tool in the program" + OF_TOOL in done.stderr
    assert done.stdout.startswith(RAN + "told of ")
    assert record.stat().st_size > 0


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_thread_sanitizer_sees_the_runtime(built, tmp_path, compiler):
    # What each program with that sanitizer has; whether it then tells of races is up to it.
    sanitizer = source(tmp_path, "sanitizer.c", "void __tsan_init(void) {}\n")
    library = compiled(tmp_path / "sanitizer.so", sanitizer, "-shared", "-fPIC", compiler=compiler)
    program = compiled(tmp_path / "program", built / "program.c", compiler=compiler)
    settings = {"SYNCOPATE_VERBOSE": "1", "LD_PRELOAD": str(library)}
    for tool in ({}, {"OMP_TOOL": "disabled"}):
        done = run([program], ours=False, **with_ours(**settings), **tool)
        assert (done.stdout, done.stderr) == (RAN, OF_SANITIZER)
