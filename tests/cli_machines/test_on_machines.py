"""`syncopate c++`, `simulate` and `check` with the modeled machines of the build."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("SYNCOPATE_NATIVE", ROOT / "build"))
SECONDS = 300

COUNTER = """\
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" void syncopate_mark(const char*, unsigned long);

struct spin_lock {
  std::atomic<int> word{0};
  void lock() {
    while (word.exchange(1, std::memory_order_acquire) != 0) {}
  }
  void unlock() { word.store(0, std::memory_order_release); }
};
alignas(64) spin_lock the_lock;
alignas(64) long the_counter;

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([] {
      for (int i = 0; i < 1000; ++i) {
        the_lock.lock();
        ++the_counter;
        the_lock.unlock();
        syncopate_mark("sections", 1);
      }
    });
  }
  for (auto& thread : all) thread.join();
  std::printf("%ld\\n", the_counter);
}
"""
RACE = """\
#include <cassert>
#include <atomic>
#include <pthread.h>

std::atomic<bool> ready{false};
int data = 0;

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, [](void*) -> void* {
    data = 1;
    ready.store(true, std::memory_order_release);
    return nullptr;
  }, nullptr);
  if (ready.load(std::memory_order_ORDER)) assert(data == 1);
  pthread_join(thread, nullptr);
}
"""


def on_machines(*arguments) -> subprocess.CompletedProcess:
    """Runs `syncopate ARGUMENTS`."""
    return subprocess.run(
        [sys.executable, "-m", "syncopate", *map(str, arguments)],
        env={**os.environ, "SYNCOPATE_NATIVE": str(BUILD), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def source(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture(scope="module", params=["g++", "clang++"])
def counter(request, tmp_path_factory):
    """A program for the simulated machine, by both compilers."""
    folder = tmp_path_factory.mktemp("counter")
    path = source(folder, "counter.cpp", COUNTER)
    program = folder / "counter"
    done = on_machines(
        "c++", "--machine=simulated", f"--compiler={request.param}", "-std=c++20", "-O2",
        path, "-o", program, "-pthread",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.sampled(2)
def test_program_is_an_ordinary_executable(counter):
    done = subprocess.run([counter, "3"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3000\n"
    assert "simulated time: " in done.stderr


def test_report_names_variables_and_is_the_same_every_time(counter, tmp_path):
    reports = []
    for name in ("first.json", "second.json"):
        path = tmp_path / name
        done = on_machines("simulate", "-m", "opteron-6272", "--json", path, counter, "4")
        assert done.returncode == 0, done.stderr
        reports.append(path.read_text())
    assert reports[0] == reports[1]
    report = json.loads(reports[0])
    assert report["machine"] == "opteron-6272"
    assert len(report["threads"]) == 5
    assert report["marks"][0]["total"] == 4000
    assert any(line["name"].startswith("the_lock") for line in report["lines"])
    assert any(line["name"].startswith("the_counter") for line in report["lines"])
    assert report["energy"]["joules"] > 0


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        ("bogus", "no lock is called 'bogus' (`syncopate list` shows the names)"),
        ("combined", "the lock 'combined' is too large for pthread's mutexes"),
        ("combined:park", "the lock 'combined:park' is too large for pthread's mutexes"),
    ],
)
def test_locks_that_mutexes_cannot_have(counter, lock, said):
    environment = {**os.environ, "SYNCOPATE_LOCK": lock}
    done = subprocess.run([counter], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"syncopate: {said}\n")


@pytest.mark.parametrize("value", ["0", "-1", "1e3", "9" * 30])
def test_numbers_are_followed_or_refused(counter, value):
    table = json.loads((BUILD / "share/syncopate/options.json").read_text())["options"]
    numbers = [each["variable"] for each in table
               if "simulated" in each["readers"] and each["form"] in ("N", "S", "US")]  # fmt: skip
    assert len(numbers) >= 5
    for name in numbers:
        environment = {**os.environ, "SYNCOPATE_FOREIGN_LOAD": "1", name: value}
        done = subprocess.run([counter], env=environment, capture_output=True, text=True)
        refused = value != "0" or name == "SYNCOPATE_LIMIT"
        assert done.returncode == (2 if refused else 0), (name, done.stderr)
        if refused:
            assert done.stderr.startswith(f"syncopate: {name}={value}: not a number from ")
            assert done.stderr.count("\n") == 1


def test_stats_are_tables_on_standard_error(counter):
    done = on_machines("simulate", "-m", "opteron-6272", "--stats", "-q", counter, "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4000\n"
    for part in ("simulated on opteron-6272 (64 processors", "energy:", "threads (", "the_lock"):
        assert part in done.stderr
    assert "simulated time:" not in done.stderr


def test_timeline_is_trace_events(counter, tmp_path):
    path = tmp_path / "timeline.json"
    done = on_machines("simulate", "-m", "opteron-6272", "--timeline", path, counter)
    assert done.returncode == 0, done.stderr
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    assert {"running", "switching"} <= {event["name"] for event in events}


def test_sweep_prints_a_row_for_each_value_however_many_run_at_a_time(counter):
    swept = ("-m", "opteron-6272", "--sweep", "threads=1,4", "--plot")
    done = on_machines("simulate", *swept, counter, "{threads}")
    assert done.returncode == 0, done.stderr
    together = on_machines("simulate", *swept, "--jobs", "2", counter, "{threads}")
    assert (together.returncode, together.stdout) == (0, done.stdout)
    rows = [line.split() for line in done.stdout.splitlines() if line.split()[:1] in (["1"], ["4"])]
    assert len(rows) == 4
    assert set(rows[2][1]) in ({"█"}, {"#"})  # as the locale is


@pytest.mark.sampled(2)
def test_sweep_draws_a_figure(counter, tmp_path):
    path = tmp_path / "counter.svg"
    sweep = ("--sweep", "threads=1,2,4", "--figure", path, counter, "{threads}")
    done = on_machines("simulate", "-m", "opteron-6272", *sweep)
    assert done.returncode == 0, done.stderr
    drawn = path.read_text()
    assert "<svg" in drawn
    assert drawn.count("<!-- ") >= 3  # the texts that matplotlib turned into outlines
    assert "<!-- threads -->" in drawn
    assert "opteron-6272" in drawn


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--figure", "x.svg"), "--figure needs --sweep"),
        (("--sweep", "n=1", "--jobs", "0"), "--jobs 0: needs a whole number"),
        (("--sweep", "n=1", "--figure", "x.txt"), "give the file a name in .svg, .png, .pdf"),
        (("--sweep", "n=1", "--figure", "no/folder/x.svg"), "no/folder/x.svg cannot be written"),
    ],
)
def test_bad_sweeps_are_one_line(counter, given, said):
    done = on_machines("simulate", *given, counter)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_source_is_compiled_first(tmp_path):
    path = source(tmp_path, "status.cpp", "int main() { return 7; }\n")
    done = on_machines("simulate", "-q", path)
    assert done.returncode == 7
    assert os.listdir(tmp_path) == ["status.cpp"]


def test_c_programs_run_too(tmp_path):
    path = source(tmp_path, "a.c", "int main(void) { return 3; }\n")
    assert on_machines("simulate", "-q", path).returncode == 3


C_COUNTER = """\
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void* add(void* unused) {
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&guard);
    ++counter;
    pthread_mutex_unlock(&guard);
  }
  return unused;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, add, NULL);
  add(NULL);
  pthread_join(other, NULL);
  printf("%d\\n", counter);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_cc_compiles_and_links_in_steps(tmp_path, compiler):
    path = source(tmp_path, "counter.c", C_COUNTER)
    cc = ("cc", "--machine=simulated", f"--compiler={compiler}", "-std=c11", "-O2")
    objects, program = tmp_path / "counter.o", tmp_path / "counter"
    for step in (("-c", path, "-o", objects), (objects, "-o", program, "-pthread")):
        done = on_machines(*cc, *step)
        assert done.returncode == 0, done.stderr
    report = tmp_path / "report.json"
    environ = {**os.environ, "SYNCOPATE_MACHINE": "haswell-4c8t", "SYNCOPATE_STATS": str(report)}
    environ["SYNCOPATE_MACHINES"] = str(ROOT / "machines")
    done = subprocess.run(
        [program], env=environ, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.stdout == "200\n"
    assert "simulated time: " in done.stderr
    told = json.loads(report.read_text())
    assert told["machine"] == "haswell-4c8t"
    assert any("counter" in line["name"] for line in told["lines"])


def test_program_for_the_other_machine_is_refused(counter):
    done = on_machines("check", counter)
    assert done.returncode == 2
    assert "was compiled for the simulated machine, not the explored" in done.stderr


@pytest.mark.parametrize(("order", "status"), [("acquire", 0), ("relaxed", 1)])
def test_check_of_a_program(tmp_path, order, status):
    path = source(tmp_path, "message.cpp", RACE.replace("ORDER", order))
    done = on_machines("check", path)
    assert done.returncode == status, done.stderr
    if status == 1:
        assert "message.cpp" in done.stderr


def test_the_verdict_of_a_program_with_a_closed_descriptor(tmp_path):
    path = source(tmp_path, "message.cpp", RACE.replace("ORDER", "relaxed"))
    program = str(tmp_path / "message")
    compiled = on_machines("c++", "--machine=explored", path, "-o", program)
    assert compiled.returncode == 0, compiled.stderr
    for closed in range(3):
        command = ["sh", "-c", f'exec "$1" {closed}>&-', "sh", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1, closed
        assert ("explored: failed" in done.stderr) == (closed != 2), closed


def test_check_as_json(tmp_path):
    path = source(tmp_path, "message.cpp", RACE.replace("ORDER", "relaxed"))
    done = on_machines("check", "--json", path)
    assert done.returncode == 1
    (result,) = json.loads(done.stdout)["results"]
    assert result["verdict"] == "failed"


def test_mutation_of_a_program(tmp_path):
    path = source(tmp_path, "message.cpp", RACE.replace("ORDER", "acquire"))
    done = on_machines("check", "--mutate", "--json", path)
    mutants = json.loads(done.stdout)["mutants"]
    found = {mutant["operation"]: mutant for mutant in mutants}
    for operation, order in (("store", "release"), ("load", "acquire")):
        assert found[operation]["order"] == order
        assert found[operation]["verdict"] == "caught"
        assert found[operation]["by"] == "message.cpp"
    survived = any(mutant["verdict"] == "survived" for mutant in mutants)
    assert done.returncode == (1 if survived else 0)


@pytest.mark.long
def test_check_of_a_loop_without_accesses(tmp_path):
    text = """#include <atomic>
std::atomic<int> stored{3};
int main() {
  unsigned x = stored.load();
  while (x != 0) asm volatile("" : "+r"(x));
}
"""
    done = on_machines("check", "--seconds", "1", source(tmp_path, "register.cpp", text))
    assert done.returncode == 3
    said = done.stdout + done.stderr
    assert "without an access to memory, in main at register.cpp:5" in said


# What loops that have given up keep on their stack may be anything where the program is optimized.
@pytest.mark.parametrize("name", ["wait", pytest.param("elided_auto", marks=pytest.mark.long)])
def test_check_of_a_shipped_test(name):
    done = on_machines("check", "--seconds", "1", name)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    verdicts = {line.split()[0] for line in done.stdout.splitlines()[:-1]}
    assert verdicts <= {"passed", "bounded"}
    assert verdicts


def test_check_of_nothing_known():
    done = on_machines("check", "conditoin")
    assert done.returncode == 2
    assert "did you mean condition" in done.stderr


OF_EVERY_KIND = """\
#include <barrier>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::shared_mutex shared;
static std::condition_variable condition;
static std::barrier barrier(4);
static std::latch latch(4);
static std::counting_semaphore<8> semaphore(1);
static bool go;
static thread_local int own;

int main() {
  std::vector<std::thread> all;
  for (int n = 0; n < 4; ++n)
    all.emplace_back([n] {
      {
        std::unique_lock lock(mutex);
        condition.wait(lock, [] { return go; });
      }
      for (int i = 0; i < 50; ++i) {
        if (i % 4 == n) std::lock_guard write(shared);
        else std::shared_lock read(shared);
        semaphore.acquire();
        ++own;
        semaphore.release();
        barrier.arrive_and_wait();
      }
      latch.arrive_and_wait();
    });
  std::this_thread::sleep_for(std::chrono::microseconds(20));
  {
    std::lock_guard lock(mutex);
    go = true;
  }
  condition.notify_all();
  for (std::thread& each : all) each.join();
}
"""


@pytest.mark.sampled(2)
@pytest.mark.crossed("level", "compiler")
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("level", ["-O1", "-O3"])
def test_reports_name_nothing_of_the_machines_own(tmp_path, compiler, level):
    """Waits, lines and threads are the program's; joins are what they are for who reads."""
    program = tmp_path / "every"
    options = ["-std=c++20", level, source(tmp_path, "every.cpp", OF_EVERY_KIND), "-o", program]
    built = on_machines("c++", "--machine=simulated", f"--compiler={compiler}", *options)
    assert built.returncode == 0, built.stderr
    done = on_machines("simulate", "-m", "haswell-4c8t", "--stats", "-q", program)
    assert done.returncode == 0, done.stderr
    assert "end of a thread, record " in done.stderr
    assert not re.findall(r".*syncopate::(?:instrument|simulated).*", done.stderr)
