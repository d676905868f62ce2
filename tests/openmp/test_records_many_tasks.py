"""`record --omp` of programs whose tasks have more functions than the recorder can tell apart: the
report says that waits for tasks are missing then, and counts no task's time as waiting."""

import json

import pytest
from openmp_runs import compiled, run_cli, source

# Thread 0 alone runs all tasks, the last of them, which is long, at the end of a group; the other
# thread comes when that is done. What tasks are left over is few enough to be deferred.
SOURCE = """\
#include <stdatomic.h>
#include <unistd.h>
#include <omp.h>
static atomic_int ran, done;
__attribute__((noinline)) static void all(void) {{
{tasks}
#pragma omp task
  {{ usleep(300000); atomic_store(&done, 1); }}
}}
int main(void) {{
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {{
#pragma omp taskgroup
    {{
#pragma omp task
      all();
    }}
  }} else {{
    while (!atomic_load(&done)) usleep(1000);
  }}
  return atomic_load(&ran) == {count} ? 0 : 1;
}}
"""
TASK = "#pragma omp task\n  atomic_fetch_add(&ran, 1);"
MS = 1_000_000
UNTOLD = "more functions than the recorder can tell apart"
HOW = [("gcc", []), ("gcc", ["--omp-barrier", "runtime"]), ("clang", []),
       ("clang", ["--omp-barrier", "runtime"])]  # fmt: skip


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("compiler", "options"), HOW)
@pytest.mark.parametrize(("count", "is_told"), [(100, True), (700, False)])
def test_waits_for_tasks_of_too_many_functions_are_said_to_be_missing(
    tmp_path, compiler, options, count, is_told
):
    tasks = "\n".join([*[TASK] * 50, "#pragma omp taskwait"] * (count // 50))
    text = SOURCE.format(tasks=tasks, count=count)
    path = source(tmp_path, "many.c", text)
    program = compiled(tmp_path / "many", path, compiler=compiler)
    record = tmp_path / "many.rec"
    done = run_cli("record", "--omp", *options, "-q", "-o", record, "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    waited = results["account"]["parts"].get("barrier", 0)
    # Beside others a thread comes late, and is waited for: never while the long task ran.
    assert waited < results["process"]["duration_ns"] - 250 * MS, results["account"]
    assert any(UNTOLD in each for each in results["notes"]) != is_told, results["notes"]
    assert (UNTOLD in " ".join(run_cli("report", record).stdout.split())) != is_told
