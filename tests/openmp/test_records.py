"""`syncopate record --omp`: time lost per source line, and who came last."""

import json
import re
import subprocess
from types import SimpleNamespace

import pytest
from openmp_runs import compiled, run_cli

from syncopate.records.naming import BARRIER, REGION, REGION_OF_GNU
from syncopate.records.notes import Notes
from syncopate.records.recordformat import ROW_HISTOGRAM
from syncopate.records.waitsums import Kind

SOURCE = """\
#include <omp.h>
#include <unistd.h>
static long shared_sum;
int main(void) {
#pragma omp parallel num_threads(3)
  for (int r = 0; r < 30; ++r) {
    if (omp_get_thread_num() == 2) usleep(5000);
#pragma omp barrier  // line 8
#pragma omp critical(totals)
    { ++shared_sum; usleep(100); }
#pragma omp barrier  // line 11
  }
  return 0;
}
"""
LATE, OTHER = "slow.c:8", "slow.c:11"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record")
    (folder / "slow.c").write_text(SOURCE)
    program = compiled(folder / "slow", folder / "slow.c")
    record = folder / "slow.rec"
    done = run_cli("record", "--omp", "-q", "-o", record, "--", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run_cli("report", "--json", record)
    assert done.returncode == 0, done.stderr
    shown = run_cli("report", record).stdout
    (results,) = json.loads(done.stdout)["records"]
    return results, shown


COUNTED = """\
#include <omp.h>
int main(void) {
  int inside = 0, locked = 0, tried = 0;
  omp_lock_t plain;
  omp_init_lock(&plain);
#pragma omp parallel num_threads(4)
  for (int i = 0; i < 300; ++i) {
#pragma omp critical(totals)
    ++inside;
    omp_set_lock(&plain);
    ++locked;
    omp_unset_lock(&plain);
  }
  for (int i = 0; i < 100; ++i)
    if (omp_test_lock(&plain)) ++tried, omp_unset_lock(&plain);
  return inside == 1200 && locked == 1200 && tried == 100 ? 0 : 1;
}
"""


@pytest.mark.crossed("compiler", "lock")
@pytest.mark.parametrize("lock", ["asymmetric", "ticket", "mcs"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_how_often_locks_are_taken(tmp_path, compiler, lock):
    (tmp_path / "counted.c").write_text(COUNTED)
    program = compiled(tmp_path / "counted", tmp_path / "counted.c", compiler=compiler)
    record = tmp_path / "counted.rec"
    done = run_cli("record", "--omp", "--omp-lock", lock, "-q", "-o", record, "--", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    locks = [each for each in results["locks"] if each["object"] == "mutex"]
    assert sorted(each["acquisitions"] for each in locks) == [1200, 1300]
    assert all(each["contended"] <= each["acquisitions"] for each in locks)


def barrier_at(results, place):
    named = [lock for lock in results["locks"] if place in lock["name"]]
    (found,) = (lock for lock in named if not lock["name"].startswith("end of "))
    assert found["object"] == "barrier"
    return found


def test_barriers_have_source_lines(report):
    results, _ = report
    assert barrier_at(results, LATE)["waits"]["barrier"]["count"] == 60  # all but the last
    assert barrier_at(results, OTHER)["waits"]["barrier"]["count"] == 60


def test_the_late_thread_is_named(report):
    results, shown = report
    arrivals = barrier_at(results, LATE)["arrivals"]
    assert sum(each["last"] for each in arrivals) == 30
    assert arrivals[0]["last"] >= 20  # the one that sleeps; a busy machine may delay another
    assert arrivals[0]["waited_ns"] < arrivals[1]["waited_ns"]
    assert "Who came last at a barrier" in shown


def test_critical_section_is_a_lock(report):
    results, _ = report
    (critical,) = [lock for lock in results["locks"] if "totals" in lock["name"]]
    assert critical["object"] == "mutex"
    assert critical["contended"] > 0 and critical["lost_ns"] > 0


def test_regions_have_source_lines_and_no_late_ones(report):
    results, shown = report
    region = barrier_at(results, "region in main at slow.c:")  # 4 or 5, as GCC has it
    assert region["waits"]["barrier"]["count"] == 2  # its start and its end
    assert not region["arrivals"]
    assert "--omp-regions" not in shown


SPLIT = """\
#include <omp.h>
#include <unistd.h>
static inline void work(void) { usleep(2000); }
static void odd(int r) { if (r % 2 && omp_get_thread_num()) usleep(9000); }
int main(void) {
#pragma omp parallel num_threads(3)  // line 6: who does it comes first or last
  for (int r = 0; r < 10; ++r) {
    odd(r);
#pragma omp single
    work();
  }
#pragma omp parallel num_threads(3)  // line 12
  for (int r = 0; r < 10; ++r) {
#pragma omp master
    work();
#pragma omp barrier
  }
#pragma omp parallel num_threads(3)  // line 18
#pragma omp sections
  {
#pragma omp section
    work();
#pragma omp section
    work();
  }
  return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_one_barrier_or_several_regions_share_in_their_code(tmp_path, compiler):
    """GCC calls the barrier at the end of `single` at two places, and starts all three regions by
    one call: a barrier is one all the same, and each region is at its own line."""
    (tmp_path / "split.c").write_text(SPLIT)
    program = compiled(tmp_path / "split", tmp_path / "split.c", "-O2", compiler=compiler)
    assert run_cli("record", "--omp", "-q", "-o", tmp_path / "r", "--", program).returncode == 0
    (results,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    barriers = [each for each in results["locks"] if each["object"] == "barrier"]
    names = {each["name"] for each in barriers}
    for line in (6, 12, 18):  # where others wait at the end has that name, too
        assert {f"{of}region in main at split.c:{line}" for of in ("", "end of ")} <= names
    met = [each for each in barriers if "region in main at " not in each["name"]]
    lasts = sorted(sum(thread["last"] for thread in each["arrivals"]) for each in met)
    sections = compiler == "clang"  # GCC leaves their barrier to the end of the region
    assert lasts == [1] * sections + [10, 10], [each["name"] for each in met]
    waits = sorted(each["waits"]["barrier"]["count"] for each in met)
    assert waits == [2] * sections + [20, 20]


UNEVEN = """\
#include <omp.h>
#include <stdatomic.h>
#include <unistd.h>
int main(void) {
  atomic_int begun = 0;  // of the others: however late they begin, the slow one is slower
#pragma GCC unroll 1
  for (int r = 0; r < 5; ++r)
#pragma omp parallel num_threads(3)
    if (omp_get_thread_num() != 0)
      ++begun;
    else {
      while (begun < 2 * (r + 1)) usleep(100);
      usleep(20000);
    }
  return 0;
}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("compiler", "kept"), [("gcc", ()), ("clang", ()), ("gcc", ("kept",))])
def test_who_is_last_at_the_end_of_a_region_and_how_long_others_wait(tmp_path, compiler, kept):
    """The slowest thread is the one that starts it: the others wait, which are the run-time's, or
    ours where their team is kept."""
    (tmp_path / "uneven.c").write_text(UNEVEN)
    program = compiled(tmp_path / "uneven", tmp_path / "uneven.c", compiler=compiler)
    options = ["--omp-regions", *kept] if kept else []
    command = ["record", "--omp", *options, "-q", "-o", tmp_path / "r", "--", program]
    assert run_cli(*command).returncode == 0
    (results,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    (region,) = (each for each in results["locks"] if each["region_ends"])
    assert region["waits"]["barrier"]["count"] == 10  # the start and the end of each
    (end,) = (each for each in results["locks"] if not each["region_ends"])
    assert end["name"] == "end of " + region["name"]
    times = 5  # Each of both threads waits for the slow one.
    assert end["waits"]["barrier"]["count"] == 2 * times
    duration = results["process"]["duration_ns"]
    # Half, as a thread may lose its processor between its last step and its wait.
    assert times * 2 * 10_000_000 < end["waited_ns"] < 2 * duration
    (last,) = region["region_ends"]
    assert last["thread"] == f"uneven/{results['process']['id']}" and last["last"] == 5
    # Those of the others that begin late, on a busy machine, wait for less.
    assert last["others_waited_ns"] > 20_000_000
    assert region["waited_ns"] < last["others_waited_ns"] and region["arrivals"] == []
    (limits,) = (note for note in results["notes"] if "OpenMP's waits alone" in note)
    assert "other threads and waits are not in here" in limits
    (found,) = results["findings"]
    assert found["causes"] == ["imbalance"] and last["thread"] in found["why"][0]
    assert "schedule(dynamic)" in found["do"][0] and "nowait" not in found["do"][0]
    shown = run_cli("report", tmp_path / "r").stdout
    assert re.search(r"Who came last at the end of a region\nregion .*\nregion in main at", shown)


JUMPS = """\
#include <omp.h>
#include <unistd.h>
void late(void) { if (omp_get_thread_num() == 2) usleep(2000); }
__attribute__((noinline)) void one(void) {
#pragma omp parallel num_threads(3)
  {
    late();
#pragma omp barrier
  }
}
__attribute__((noinline)) void meet(void) {
#pragma omp barrier
}
__attribute__((noinline)) void two(void) {
#pragma omp parallel num_threads(3)
  {
    late();
    meet();
    late();
  }
}
int main(void) {
  for (int r = 0; r < 12; ++r) {
    one();
    two();
  }
  return 0;
}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("compiler", "regions"), [("gcc", ""), ("gcc", "kept"), ("clang", "")])
def test_what_ends_its_function_is_named_by_that_function(tmp_path, compiler, regions):
    """The compiler makes the last call a jump: the return address is another function's."""
    path = tmp_path / "jumps.c"
    path.write_text(JUMPS)
    program = compiled(tmp_path / "jumps", "-O2", path, compiler=compiler)
    record = tmp_path / "jumps.rec"
    how = ["--omp-regions", regions] if regions else []
    done = run_cli("record", "--omp", *how, "-q", "-o", record, "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    barriers = {lock["name"]: lock for lock in results["locks"] if lock["object"] == "barrier"}
    regions = {name for name in barriers if "region in " in name}
    met = {name: lock["waits"]["barrier"]["count"] for name, lock in barriers.items()
           if name not in regions}  # fmt: skip
    assert sorted(met.values()) == [24, 24], met
    (helper,) = (name for name in met if name.startswith("meet at jumps.c:"))
    (own,) = met.keys() - {helper}
    line = int(re.fullmatch(r"(?:one\._omp_fn\.\d|\.omp_outlined\S*) at jumps\.c:(\d+)", own)[1])
    assert 5 <= line <= 9
    if compiler == "gcc":
        places = {re.sub(r":\d+$", "", name).removeprefix("end of ") for name in regions}
        assert places == {"region in one at jumps.c", "region in two at jumps.c"}


MODULE = """
long work(void) {
  long n = 0;
#pragma omp parallel num_threads(3)
  for (int i = 0; i < 20; ++i) {
#pragma omp critical(NAME)
    ++n;
#pragma omp barrier
  }
  return n;
}
"""
OPENER = """
#include <dlfcn.h>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* const module = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (module == 0 || ((long (*)(void))dlsym(module, "work"))() != 60) return 1;
    dlclose(module);
  }
  return 0;
}
"""


def test_a_module_that_was_closed_is_not_taken_for_the_next(tmp_path):
    """Else both lie at the same addresses, by which the record knows its places."""
    modules = []
    for name in ("one", "two"):
        text = MODULE.replace("NAME", f"of_{name}")
        (tmp_path / f"{name}.c").write_text(text)
        module = compiled(tmp_path / f"{name}.so", "-fPIC", "-shared", tmp_path / f"{name}.c")
        modules.append(module)
    opener = tmp_path / "opener"
    (tmp_path / "opener.c").write_text(OPENER)
    subprocess.run(["gcc", tmp_path / "opener.c", "-o", opener], check=True)
    record = tmp_path / "modules.rec"
    done = run_cli("record", "--omp", "-q", "-o", record, "--", opener, *modules, *modules)
    assert (done.returncode, done.stderr) == (0, "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    for name in ("one", "two"):
        assert barrier_at(results, f"fn.0 at {name}.c:8")["waits"]["barrier"]["count"] == 80
        (critical,) = [lock for lock in results["locks"] if f"of_{name}" in lock["name"]]
        assert critical["acquisitions"] == 120


def notes_for(kind, count, ticks_each, passed=1_000_000_000, threads=1):
    """What is said of so many starts and ends of regions; a tick is a nanosecond."""
    waits = Kind()
    of_thread = [count - threads + 1] + [1] * (threads - 1)
    bucket = 2 * (ticks_each.bit_length() - 1) - 12
    lengths = [[each * (place == bucket) for place in range(64)] for each in of_thread]
    waits.add_rows(
        range(threads),
        of_thread,
        [each * ticks_each for each in of_thread],
        [ticks_each] * threads,
        [ROW_HISTOGRAM.pack(*counts) for counts in lengths],
    )
    lock = SimpleNamespace(object=BARRIER, type=kind)
    of = SimpleNamespace(
        groups=[SimpleNamespace(locks=[lock], kinds={"barrier": waits})],
        life=lambda thread: passed,
        ns=lambda ticks: ticks,
    )
    return Notes(of)._regions()


def test_keeping_regions_is_advised_where_their_starts_and_ends_take_the_time():
    (note,) = notes_for(REGION_OF_GNU, 100_000, 2048)
    assert note.startswith("20% of the time passed where 50,000 parallel regions start and end")
    assert "--omp-regions kept" in note
    # Several threads may start regions of their own, at one time.
    (note,) = notes_for(REGION_OF_GNU, 8 * 200_000, 4096, threads=8)
    assert note.startswith("82% of the time of the 8 threads that start them passed where 800,000")
    assert not notes_for(REGION, 100_000, 2048)  # libomp's cannot be kept
    assert not notes_for(REGION_OF_GNU, 100_000, 256)  # 2.6 % of the time
    assert not notes_for(REGION_OF_GNU, 1000, 65536)  # few
    assert not notes_for(REGION_OF_GNU, 5000, 131072)  # they wait for work


@pytest.mark.parametrize("linked_in", [False, True])
def test_a_program_that_calls_no_loaded_runtime_is_said_to_be_one(tmp_path, linked_in):
    program = "true"
    if linked_in:
        (tmp_path / "region.c").write_text("int main(void) {\n#pragma omp parallel\n  ;\n}\n")
        code = compiled(tmp_path / "region.o", "-c", tmp_path / "region.c")
        asked = ["gcc", "-print-file-name=libgomp.a"]
        runtime = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        program = tmp_path / "region"
        subprocess.run(["gcc", code, runtime, "-o", program], check=True)
    done = run_cli("record", "--omp", "-o", tmp_path / "none.rec", "--", program)
    assert done.returncode == 0
    assert done.stderr.endswith("environment, or calls no OpenMP runtime that it has loaded\n")


OTHERS = """\
#define APART __attribute__((noinline))
APART void limited(void) {
#pragma omp parallel num_threads(8)
  {
#pragma omp barrier
  }
}
APART int reduced(void) {
  int n = 0;
#pragma omp parallel num_threads(3) reduction(task, + : n)
  {
#pragma omp task in_reduction(+ : n)
    ++n;
#pragma omp barrier
  }
  return n;
}
APART void ours(void) {
#pragma omp parallel num_threads(3)
  {
#pragma omp barrier
  }
}
int main(void) {
  limited();
  const int n = reduced();
  for (int i = 0; i < 5; ++i) ours();
  return n == 3 ? 0 : 1;
}
"""


@pytest.mark.parametrize("regions", ["runtime", "kept"])
def test_regions_that_stay_the_runtimes(tmp_path, regions):
    """Task reductions, and another number of threads than was asked for: docs/openmp.md."""
    (tmp_path / "others.c").write_text(OTHERS)
    program = compiled(tmp_path / "others", tmp_path / "others.c")
    record = tmp_path / "others.rec"
    command = ["record", "--omp", "--omp-regions", regions, "-q", "-o", record, "--", program]
    done = run_cli(*command, OMP_THREAD_LIMIT="3", OMP_DYNAMIC="false")
    assert (done.returncode, done.stderr) == (0, "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    barriers = [lock for lock in results["locks"] if lock["object"] == "barrier"]
    ours = [lock["called"] for lock in barriers if lock["arrivals"]]
    assert ours and all("ours" in name for name in ours), ours
    # Who waits at the runtime's barriers is recorded all the same.
    for name in "limited", "reduced":
        (met,) = (lock for lock in barriers if lock["name"].startswith(f"{name}._omp_fn.0 at "))
        assert met["waits"]["barrier"]["count"] >= 3
    assert any(lock["name"].startswith("end of region in limited") for lock in barriers)


UNSEEN = """\
int main(void) {
  long sum = 0;
  for (int r = 0; r < 20; ++r) {
#pragma omp parallel for num_threads(4) reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
  }
  return sum != 20 * 499500L;
}
"""


@pytest.mark.sampled(2)
@pytest.mark.crossed("cancel", "barrier")
@pytest.mark.parametrize("barrier", ["auto", "runtime"])
@pytest.mark.parametrize("cancel", ["false", "true"])
def test_threads_that_wait_where_the_runtime_alone_sees_it_are_seen(tmp_path, barrier, cancel):
    """Of a loop in a region, three of the four: that they have come to its end is seen."""
    (tmp_path / "unseen.c").write_text(UNSEEN)
    program = compiled(tmp_path / "unseen", tmp_path / "unseen.c")
    for kind, only_openmp in (["--omp", "--omp-barrier", barrier], True), ([], False):
        record = tmp_path / f"unseen{len(kind)}.rec"
        command = ["record", *kind, "-q", "-o", record, "--", program]
        done = run_cli(*command, OMP_CANCELLATION=cancel)
        assert (done.returncode, done.stderr) == (0, "")
        (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
        shown = run_cli("report", record).stdout
        assert results["process"]["only_openmp"] == only_openmp
        if only_openmp:
            assert re.search(r", 4 threads that met OpenMP's calls on \d", shown)
            assert re.search(r"^Lost to locks: .* of these threads' time", shown, re.M)
            assert any("alone are recorded" in note for note in results["notes"])
            none = "No thread waited for a lock of OpenMP's; others are not recorded."
            assert none in " ".join(shown.split())
        else:
            assert re.search(r", 4 threads on \d", shown)
            assert re.search(r"^Lost to locks: .* of all thread time", shown, re.M)


ENDING = """\
#include <pthread.h>
#include <unistd.h>
static void* team(void* unused) {
#pragma omp parallel num_threads(2)
  for (int r = 0; r < 20; ++r) {
#pragma omp barrier
  }
  return unused;
}
int main(void) {
  for (int n = 0; n < 3; ++n) {
    pthread_t thread;
    pthread_create(&thread, 0, team, 0);
    pthread_join(thread, 0);
  }
  usleep(500000);
  return 0;
}
"""


@pytest.mark.parametrize("regions", ["runtime", "kept"])
def test_threads_that_end_before_the_process_have_their_end(tmp_path, regions):
    """Those that libgomp has started for a thread's teams, too, which end with that thread."""
    (tmp_path / "ending.c").write_text(ENDING)
    program = compiled(tmp_path / "ending", tmp_path / "ending.c")
    record = tmp_path / "ending.rec"
    done = run_cli("record", "--omp", "--omp-regions", regions, "-qo", record, "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    threads = results["threads"]
    assert len(threads) == 6
    assert all(thread["end_ns"] is not None for thread in threads)
    assert all(thread["runnable_ns"] is not None for thread in threads)
    assert results["account"]["parts"].get("unexplained", 0) < 0.05 * results["thread_time_ns"]
    assert results["account"]["why_unexplained"] is None
