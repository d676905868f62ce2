"""`record --omp`: barriers in what the compiler puts into several functions are several."""

import json

import pytest
from openmp_runs import compiled, run_cli, source

SOURCE = """\
static inline __attribute__((always_inline)) void meet(void) {
#pragma omp barrier
  __asm__ volatile("");
}
__attribute__((noinline)) static void one(void) { meet(); }
__attribute__((noinline)) static void two(void) {
  meet();
  meet();
}
int main(void) {
#pragma omp parallel num_threads(2)
  {
    for (int r = 0; r < 5; ++r) one();
    for (int r = 0; r < 7; ++r) two();
  }
  return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_barrier_in_an_inlined_function_is_told_by_where_it_was_put(tmp_path, compiler):
    program = compiled(
        tmp_path / "put", source(tmp_path, "put.c", SOURCE), "-O2", compiler=compiler
    )
    record = tmp_path / "put.rec"
    assert run_cli("record", "--omp", "-q", "-o", record, "--", program).returncode == 0
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    met = {lock["name"]: sum(x["last"] for x in lock["arrivals"]) for lock in results["locks"]}
    met = {name.partition(" > ")[0]: times for name, times in met.items() if times}
    assert met == {"one at put.c:5": 5, "two at put.c:7": 7, "two at put.c:8": 7}
