"""`record --omp`: barriers in what the compiler puts into several functions are several; what has
no variable of its own is called as the program has it."""

import json
import shutil
import subprocess

import pytest
from openmp_runs import LIBRARY, PREFIX, compiled, run_cli, source

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


SECTIONS = """\
#include <unistd.h>
int main(void) {
  long double sum = 0;
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 10; ++i) {
#pragma omp critical
    usleep(100);
#pragma omp atomic
    sum += 1;
  }
  return sum != 20;
}
"""


@pytest.mark.parametrize("stripped", [False, True])
def test_sections_without_a_variable_are_called_as_the_program_says(tmp_path, stripped):
    """Not by what our library calls them, nor, where that is stripped as in a package, by places in
    it."""
    prefix = tmp_path / "prefix"
    (prefix / "lib").mkdir(parents=True)
    for part in ("bin", "share"):
        (prefix / part).symlink_to(PREFIX / part)
    library = prefix / "lib" / LIBRARY.name
    shutil.copy(LIBRARY, library)
    if stripped:
        subprocess.run(["strip", library], check=True)
    program = compiled(tmp_path / "sections", source(tmp_path, "sections.c", SECTIONS), "-O2")
    record = tmp_path / "sections.rec"
    command = ("record", "--omp", "-q", "-o", record, "--", program)
    assert run_cli(*command, SYNCOPATE_NATIVE=str(prefix)).returncode == 0
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    taken = {lock["name"]: lock["acquisitions"] for lock in results["locks"]}
    assert taken.pop("unnamed critical") == taken.pop("atomic") == 20, taken


NAMED = """\
#include <unistd.h>
int main(void) {
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 10; ++i) {
#pragma omp critical(of_table)
    usleep(100);
#pragma omp critical(of_log)
    usleep(100);
  }
  return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_named_sections_are_called_by_their_names(tmp_path, compiler):
    program = compiled(tmp_path / "named", source(tmp_path, "named.c", NAMED), "-O2",
                       compiler=compiler)  # fmt: skip
    record = tmp_path / "named.rec"
    assert run_cli("record", "--omp", "-q", "-o", record, "--", program).returncode == 0
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    taken = {lock["name"]: lock["acquisitions"] for lock in results["locks"]}
    assert taken.pop("critical of_table") == taken.pop("critical of_log") == 20, taken
    assert not [name for name in taken if "critical" in name]
