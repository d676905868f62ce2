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


ELEMENT = """
#include <pthread.h>
static void *write_one(void *values) { ((int *)values)[1] = 1; return 0; }
int main() {
  int values[2] = {0, 0};
  pthread_t thread;
  pthread_create(&thread, 0, write_one, values);
  values[1] = 2;
  pthread_join(thread, 0);
  return values[1] == 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_races_on_elements_of_locals(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "element.c"
    source.write_text(ELEMENT)
    verdict, said = explored(compiled(source, compiler, "-O2", tmp_path / "out"), "", "jobs=1")
    assert verdict == "failed" and "data race" in said, said


# What compilers show in ways of their own: what a compare-exchange expects, which ones are weak,
# atomic structs, and a loop that goes from node to node with its registers as they were.
SHOWN = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
struct node { _Atomic(struct node*) next; int value; };
struct pair { int first, second; };
static struct node last, middle = {&last, 1}, top = {&middle, 1};
static atomic_int word;
static int expected;
static struct { _Alignas(8) _Atomic struct pair pair; } both;
static void *exchanges(void *to) {
  atomic_compare_exchange_strong_explicit(&word, &expected, to != 0, memory_order_relaxed,
                                          memory_order_relaxed);
  return 0;
}
static void *adds(void *unused) {
  struct pair p = atomic_load(&both.pair);
  ++p.first;
  atomic_store(&both.pair, p);
  return unused;
}
static void *walks(void *unused) {
  int sum = 0;
  for (struct node *n = &top; n != 0; n = atomic_load(&n->next)) sum += n->value;
  assert(sum == 2);
  return unused;
}
int main(int argc, char **argv) {
  int none = 0;
  const char which = argc < 2 ? 0 : argv[1][0];
  void *(*does)(void *) = which == 'e' ? exchanges : which == 'a' ? adds : walks;
  if (which == 'o') {
    assert(atomic_compare_exchange_weak(&word, &none, 1));
    return 0;
  }
  word = does == exchanges;
  pthread_t thread;
  pthread_create(&thread, 0, does, 0);
  does(&none);
  pthread_join(thread, 0);
  struct pair sum = atomic_load(&both.pair);
  assert(does != adds || sum.first == 2);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_compilers_show(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "shown.c"
    source.write_text(SHOWN)
    program = compiled(source, compiler, "-O2", tmp_path / "out")
    for name, how in [
        ("expected", "failed: data race"),
        ("one weak attempt", "failed: failed check"),
        ("atomic", "failed: failed check"),
        ("walks", "passed"),
    ]:
        _, said = explored(program, name, "jobs=1")
        assert f"explored: {how}" in said, f"{name}: {said}"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "source", ["structs.cpp", "by_value.c", "out_arguments.c", "kept_results.c"]
)
def test_structs_and_results_of_calls(source: str, compiler: str, tmp_path: Path) -> None:
    program = compiled(source, compiler, "-O2", tmp_path)
    wrong = wrong_ones(program, source, "jobs=1")
    assert not wrong, "\n".join(wrong)


ASSEMBLY = """
#include "pauses.h"
static int word;
static void set(void) { __asm__ volatile("movl $1, %0" : "=m"(word)); }
int main(void) {
  int result;
  __asm__ volatile("" ::: "memory");
  __asm__ volatile("pause");
  __asm__ volatile("rep; nop" ::: "memory");
  fences();
  set();
  __asm__("movl $0, %0" : "=r"(result));
  __asm__ volatile("movl $0, (%0)" ::"r"(&word));
  return result;
}
"""
FENCES = """static inline void fences(void) {
  __asm__ volatile("mfence" ::: "memory");
  __asm__ volatile("sfence" ::: "memory");
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_assembly_that_may_touch_memory_is_named(compiler: str, level: str, tmp_path: Path) -> None:
    (tmp_path / "pauses.h").write_text(FENCES)
    source = tmp_path / "assembly.c"
    source.write_text(ASSEMBLY)
    _, said = explored(compiled(source, compiler, level, tmp_path / "out"), "", "jobs=1")
    places = "assembly.c:4, assembly.c:13, pauses.h:3"
    assert said.endswith(f", 1 threads, not seen: inline assembly at {places}\n"), said


RARE = """
#include <monetary.h>
#include <sys/msg.h>
int main(int count, char** names) {
  char text[64];
  if (count > 1) return msgctl(atoi(names[1]), IPC_STAT, 0) + (int)strfmon(text, 64, "%n", 1.0);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_calls_whose_writes_nobody_knows_are_named(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "rare.c"
    source.write_text("#include <stdlib.h>" + RARE)
    _, said = explored(compiled(source, compiler, "-O1", tmp_path / "out"), "", "jobs=1")
    assert said.endswith(", 1 threads, not seen: what these write: msgctl, strfmon\n"), said


# Each thread writes its own word and reads the other's: both cannot find nothing behind a fence.
STORE_BUFFERING = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int words[2];
static int found[2];
static void* writes(void* which) {
  const int me = which != 0;
  atomic_store_explicit(&words[me], 1, memory_order_relaxed);
  __asm__ volatile(FENCE);
  found[me] = atomic_load_explicit(&words[1 - me], memory_order_relaxed);
  return 0;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, writes, words);
  writes(0);
  pthread_join(other, 0);
  assert(found[0] || found[1]);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    ("assembly", "how"),
    [
        ('"mfence" ::: "memory"', "passed"),
        ('"lock; addl $0,-4(%%rsp)" ::: "memory", "cc"', "passed"),
        ('"lock orq $0x0, (%%rsp)" ::: "memory"', "passed"),
        ('"mfence"', "failed"),  # the compiler may move what stands around it
        ('"" ::: "memory"', "failed"),
        ('"sfence" ::: "memory"', "failed"),
        ('"rep; nop" ::: "memory"', "failed"),
    ],
)
def test_fences_in_assembly(
    assembly: str, how: str, compiler: str, level: str, tmp_path: Path
) -> None:
    source = tmp_path / "fence.c"
    source.write_text(STORE_BUFFERING.replace("FENCE", assembly))
    _, said = explored(compiled(source, compiler, level, tmp_path / "out"), "", "jobs=1")
    assert f"explored: {how}: " in said, said


SIGNALS = """
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void handler(int signal) {
  if (signal != SIGUSR1) return;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
static void* locks(void* argument) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return argument;
}
int main(void) {
  pthread_t other;
  signal(SIGUSR1, HANDLER);
  pthread_create(&other, 0, locks, 0);
  SEND;
  return pthread_join(other, 0);
}
"""


@pytest.mark.parametrize("send", ["pthread_kill(other, SIGUSR1)", "kill(getpid(), SIGUSR1)"])
def test_signals_that_come_as_they_like_are_said(send: str, tmp_path: Path) -> None:
    def said(handler: str, send: str) -> str:
        source = tmp_path / "signals.c"
        source.write_text(SIGNALS.replace("HANDLER", handler).replace("SEND", send))
        return explored(compiled(source, "gcc", "-O0", tmp_path / "out"), "", "jobs=1")[1]

    words = "not modeled: when and where signals come"
    assert words in said("handler", send)
    assert words not in said("SIG_IGN", send)
    assert words not in said("handler", "raise(SIGUSR1)")


def test_what_no_plugin_shows_is_said(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int main(void) { return 0; }\n")
    with_plugin = compiled(source, "gcc", "-O0", tmp_path / "with")
    assert "not seen" not in explored(with_plugin, "", "jobs=1")[1]
    native = tmp_path / "native"
    (native / "lib").mkdir(parents=True)
    for library in (Path(BUILD) / "lib").glob("libsyncopate-explored*"):
        (native / "lib" / library.name).symlink_to(library)
    program = tmp_path / "without"
    subprocess.run(
        [sys.executable, "-m", "syncopate", "cc", "--machine=explored", source, "-o", program],
        env={**os.environ, "SYNCOPATE_NATIVE": str(native), "PYTHONPATH": str(ROOT), "CC": "gcc"},
        check=True,
        timeout=60,
    )
    said = explored(program, "", "jobs=1")[1]
    assert said.endswith("not seen: structs that calls take or return by value\n"), said


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
