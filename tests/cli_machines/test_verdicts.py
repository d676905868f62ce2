"""tests/explored_engine/verdicts: each program has its verdict with every compiler, with and
without optimization, in one process and in two; and no other search says the opposite."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from modeled import BUILD, ROOT

HERE = Path(__file__).parent
VERDICTS = HERE.parent / "explored_engine" / "verdicts"
ROW = re.compile(r"(\S+) +(\S+) +(passed|failed)(?: +(.+))?")
STATUS = {0: "passed", 1: "failed", 3: "bounded"}
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}


def rows() -> list[tuple[str, str, str, str]]:
    text = (VERDICTS / "table.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = [ROW.fullmatch(line) for line in lines]
    assert all(found)
    return [(f[1], f[2], f[3], f[4] or "") for f in found if f]


SOURCES = sorted({row[0] for row in rows()})


def compiled(source: str | Path, compiler: str, level: str, folder: Path) -> Path:
    """`source`: a path, or a name among the verdicts' programs."""
    c, cxx = COMPILERS[compiler]
    source = VERDICTS / source
    is_c = source.suffix == ".c"
    words = ["cc", f"--compiler={c}"] if is_c else ["c++", f"--compiler={cxx}", "-std=c++20"]
    folder.mkdir(exist_ok=True)
    program = folder / source.name.replace(".", "_")
    words += ["--machine=explored", level, "-pthread", str(source), "-lm", "-o", str(program)]
    subprocess.run(
        [sys.executable, "-m", "syncopate", *words],
        env={**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=300,
    )
    return program


def explored(program: Path, name: str, options: str) -> tuple[str, str]:
    done = subprocess.run(
        [program, name],
        env={**os.environ, "SYNCOPATE_EXPLORE": f"seconds=60,{options}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return STATUS[done.returncode], done.stdout


def wrong_ones(program: Path, source: str, options: str, only: str = "") -> list[str]:
    """The programs of a file that have another verdict than the table says."""
    wrong = []
    for of, name, verdict, kind in rows():
        if of != source or (only and name not in only.split()):
            continue
        got, said = explored(program, name, options)
        if got != verdict or re.search(kind, said) is None:
            wrong.append(f"{name}: {got}, in the table {verdict} {kind}: {said}")
        elif "syncopate::instrument" in said:
            wrong.append(f"{name}: a variable of the machine's own is named: {said}")
    return wrong


def test_every_program_has_a_verdict() -> None:
    listed = {
        (source.name, name)
        for source in VERDICTS.glob("*.c*")
        for name in re.findall(r'^    \{"(\w+)"', source.read_text(encoding="utf-8"), re.M)
    }
    assert listed == {(source, name) for source, name, _, _ in rows()}


@pytest.mark.long
def test_verdicts_of_programs_in_c(tmp_path: Path) -> None:
    program = compiled("posix.c", "gcc", "-O2", tmp_path)
    wrong = wrong_ones(program, "posix.c", "jobs=1")
    assert not wrong, "\n".join(wrong)


def test_memory_of_calls_and_robust_mutexes(tmp_path: Path) -> None:
    program = compiled("calls.c", "gcc", "-O0", tmp_path)
    of_each = "read_into_unlocked write_from_unlocked print_into_unlocked print print_unlocked"
    of_each += " buffer_used_again robust_repaired robust_lost_and_used stream_locked stream_kept"
    of_each += " calendar calendar_of_both dates_of_both print_anew_unlocked"
    of_each += " variables variables_unlocked unmapped_last unmapped_beside unmapped_first"
    of_each += " scan scan_into scan_unlocked scan_into_number scan_into_word scan_stream"
    of_each += " table table_unlocked commands"
    wrong = wrong_ones(program, "calls.c", "jobs=1", of_each)
    assert not wrong, "\n".join(wrong)


LIBRARY = """
#include <stdatomic.h>
static atomic_int hits;
int hit(void) { return atomic_fetch_add(&hits, 1); }
"""
USER = """
#include <assert.h>
#include <pthread.h>
int hit(void);
static void *hits(void *unused) { hit(); return unused; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, hits, 0);
  hit();
  pthread_join(thread, 0);
  assert(hit() == 2);
  return 0;
}
"""


def test_variables_of_compiled_libraries_are_put_back(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "user.c").write_text(USER)
    library, program = tmp_path / "libhit.so", tmp_path / "user"
    for words in (
        ["-fPIC", "-shared", str(tmp_path / "library.c"), "-o", str(library)],
        [str(tmp_path / "user.c"), str(library), "-pthread", "-o", str(program)],
    ):
        subprocess.run(
            [sys.executable, "-m", "syncopate", "cc", "--machine=explored", *words],
            env={**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)},
            check=True,
            timeout=300,
        )
    verdict, said = explored(program, "", "jobs=1")
    assert verdict == "passed" and " 1 executions" not in said, said


COUNTS = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int held;
static unsigned long turns[2];
static void *spins(void *mine) {
  while (atomic_exchange(&held, 1)) ++*(unsigned long *)mine;
  atomic_store(&held, 0);
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, spins, &turns[0]);
  spins(&turns[1]);
  pthread_join(thread, 0);
  return 0;
}
"""


def test_a_bounded_search_names_the_loop(tmp_path: Path) -> None:
    source = tmp_path / "counts.c"
    source.write_text(COUNTS)
    verdict, said = explored(
        compiled(source, "gcc", "-O2", tmp_path / "out"), "", "steps=200,executions=1000"
    )
    assert verdict == "bounded" and "goes round in a loop, spins at counts.c:7" in said, said


CPP_LIBRARY = """
#include <cassert>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <unistd.h>
#include <atomic>
#include <memory_resource>
#include <mutex>
#include <vector>
static std::mutex mutex;
template <class F>
static int in_both(bool locked, F does) {
  const auto one = [&] {
    std::unique_lock lock(mutex, std::defer_lock);
    if (locked) lock.lock();
    does();
  };
  std::thread other(one);
  one();
  other.join();
  return 0;
}
static int in_resource(bool locked, std::pmr::memory_resource& from) {
  std::pmr::vector<int> first(4, &from);
  return in_both(locked, [&] { std::pmr::vector<int>(2, &from).push_back(3); });
}
static int apart_or_pools(const std::string& how) {
  const bool locked = how.ends_with(" locked");
  char room[4096];
  if (how.starts_with("buffer")) {
    std::pmr::monotonic_buffer_resource from(room, sizeof room);
    return in_resource(locked, from);
  }
  if (how.starts_with("pools")) {
    std::pmr::unsynchronized_pool_resource from;
    return in_resource(locked, from);
  }
  if (how.starts_with("released")) {
    std::pmr::unsynchronized_pool_resource from;
    std::pmr::vector<int> first(4, &from);
    return in_both(locked, [&] { from.release(); });
  }
  if (how.starts_with("shared pools")) {
    std::pmr::synchronized_pool_resource from;
    return in_both(false, [&] { from.deallocate(from.allocate(8), 8); });
  }
  int number = 0;
  const bool apart = how.starts_with("apart");
  for (const bool first : {true, false})
    assert(!apart || std::ios_base::sync_with_stdio(false) == first);
  assert(std::cin >> std::hex >> number && number == 0xabcd && !(std::cin >> number));
  return in_both(locked, [&] { std::cout << std::hex << number; });
}
int main(int argc, char** argv) {
  const std::string how = argc < 2 ? "" : argv[1];
  char first = 0;
  std::string word;
  if (!how.empty()) return apart_or_pools(how);
  assert(read(0, &first, 1) == 1 && first == 'a');
  assert(std::getchar() == 'b' && std::cin >> word && word == "cd" && !(std::cin >> word));
  std::atomic<int> sum{0};
  std::thread other([&] { ++sum; });
  ++sum;
  other.join();
}
"""


OF_CPP_LIBRARY = {
    "buffer": "failed: data race",
    "buffer locked": "passed: 2 ",
    "pools": "failed: data race",
    "pools locked": "passed: 2 ",
    "released": "failed: data race",
    "released locked": "passed: 2 ",
    "shared pools": "passed",
    "apart": "failed: data race",
    "apart locked": "passed: 2 ",
    "together": "passed",
}


@pytest.fixture(scope="module")
def of_cpp_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cpp_library")
    source = folder / "cpp_library.cpp"
    source.write_text(CPP_LIBRARY)
    return compiled(source, "gcc", "-O1", folder / "out")


@pytest.mark.long
def test_what_the_cpp_library_has_compiled(of_cpp_library: Path, tmp_path: Path) -> None:
    """Memory resources, and streams with and without C's: races, and each execution's input."""
    text = tmp_path / "input.txt"
    text.write_text("abcd")
    for how, expected in OF_CPP_LIBRARY.items():
        with text.open(encoding="utf-8") as given:
            done = subprocess.run(
                [of_cpp_library, how],
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                timeout=60,
            )
        assert f"explored: {expected}" in done.stderr, f"{how}: {done.stderr}"


def test_each_execution_reads_the_same_input(of_cpp_library: Path, tmp_path: Path) -> None:
    """From a file, from a pipe that has ended before, and from one that ends later."""
    program = of_cpp_library
    text = tmp_path / "input.txt"
    text.write_text("abcd")
    ended, later = os.pipe(), os.pipe()
    os.write(ended[1], b"abcd")
    os.close(ended[1])
    with text.open(encoding="utf-8") as given:
        for file, options in [(given.fileno(), "jobs=1"), (ended[0], "jobs=2"), (later[0], "")]:
            with subprocess.Popen(
                [program],
                stdin=file,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "SYNCOPATE_EXPLORE": options},
            ) as checked:
                if file == later[0]:
                    time.sleep(0.2)
                    os.write(later[1], b"abcd")
                    os.close(later[1])
                said = checked.communicate(timeout=60)[1]
            assert "explored: passed: 2 executions" in said, said


@pytest.mark.long
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("source", SOURCES)
def test_verdicts_of_every_compiler(source: str, compiler: str, level: str, tmp_path: Path) -> None:
    program = compiled(source, compiler, level, tmp_path)
    for jobs in (1, 2):
        wrong = wrong_ones(program, source, f"jobs={jobs}")
        assert not wrong, "\n".join(wrong)


@pytest.mark.long
@pytest.mark.parametrize(
    "search",
    [
        "random=1,executions=300",
        "preemptions=1",
        "every_order,executions=3000",
        "turns=0",
        "timeouts=0,jumps=0,spurious=0",
        "any_waiter",
    ],
)
@pytest.mark.parametrize("source", SOURCES)
def test_no_search_says_the_opposite(source: str, search: str, tmp_path: Path) -> None:
    program = compiled(source, "gcc", "-O2", tmp_path)
    wrong = []
    for of, name, verdict, _ in rows():
        if of != source:
            continue
        got, said = explored(program, name, search)
        # Some fail by a wake-up without a cause, or late, which the calm environment leaves out.
        may_pass = verdict == "passed" or "spurious=0" in search
        if (got == "passed" and not may_pass) or (got == "failed" and verdict == "passed"):
            wrong.append(f"{name}: {got}, not {verdict}: {said}")
    assert not wrong, "\n".join(wrong)
