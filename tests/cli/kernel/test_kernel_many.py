"""The kernel's view of very many threads and processes."""

import json

import pytest
from conftest import compile_c, run_cli
from kernel_support import needs_kernel

from syncopate.records.recordfile import Record
from syncopate.records.recordformat import FINISHED

# So many threads wait until all of them do, and the first says that they may go on.
WAITS = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static int here, wanted;
static void* waits(void* nothing) {
  pthread_mutex_lock(&lock);
  if (++here == wanted) pthread_cond_broadcast(&all);
  while (here < wanted) pthread_cond_wait(&all, &lock);
  pthread_mutex_unlock(&lock);
  return nothing;
}
int main(int count, char** words) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  wanted = count > 1 ? atoi(words[1]) : 0;
  usleep(300000);  // until its code is known
  pthread_t* threads = calloc(wanted, sizeof *threads);
  for (int i = 0; i < wanted; ++i)
    if (pthread_create(threads + i, &small, waits, 0) != 0) abort();
  for (int i = 0; i < wanted; ++i) pthread_join(threads[i], 0);
  return 0;
}
"""


@pytest.fixture(scope="module")
def waits(tmp_path_factory):
    return compile_c(WAITS, tmp_path_factory.mktemp("many") / "waits", "-O1", "-g", "-pthread")


@needs_kernel
@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.long)])
def test_each_of_many_threads_is_seen(waits, tmp_path, count):
    done = run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", waits, count)
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    woken = max(lock["waits"].get("condition", {"count": 0})["count"] for lock in found["locks"])
    assert woken == count - 1


@needs_kernel
@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_each_of_many_processes_that_end_at_once_has_its_record(waits, tmp_path, count):
    """Until the last one has begun they wait for it, at a lock of files."""
    script = tmp_path / "all.sh"
    gate = tmp_path / "gate"
    script.write_text(
        f"""exec 9>{gate}
flock 9
for i in $(seq {count}); do
  (exec 8<{gate} 9>&-; flock -s 8; exec {waits} 2) &
done
sleep 1
flock -u 9
wait
"""
    )
    done = run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", "sh", script)
    assert (done.returncode, done.stderr) == (0, "")
    headers = [Record(str(path)).header for path in tmp_path.glob("r*")]
    ran = [each for each in headers if each.executable == str(waits)]
    assert len(ran) == count
    assert all(each.flags & FINISHED for each in headers)
