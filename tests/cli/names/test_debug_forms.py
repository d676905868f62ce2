"""Names of locks from debug information in all forms that compilers and packages give it."""

import json
import shutil
import subprocess

import pytest
from conftest import compile_c, run_cli

from syncopate.base import paths
from syncopate.symbols.machinecode import Program, plain_symbol
from syncopate.symbols.names import Names
from syncopate.symbols.symboltable import SymbolTable

pytestmark = pytest.mark.skipif(
    not (paths.find(paths.NAMES_TOOL) and shutil.which("objdump")),
    reason="syncopate-names or objdump is not there",
)
SOURCE = r"""
#include <array>
#include <mutex>
#include <thread>
#include <vector>
#include <unistd.h>
namespace db {
class Mutex {
 public:
  [[gnu::noinline]] void Lock() { mu_.lock(); asm volatile(""); }
  [[gnu::noinline]] void Unlock() { mu_.unlock(); asm volatile(""); }
 private:
  std::mutex mu_;
};
class Table {
 public:
  [[gnu::noinline]] void add(long x) {
    table_mutex_.Lock();
    sum_ += x;
    usleep(1000);  // the others wait meanwhile
    table_mutex_.Unlock();
    asm volatile("");  // no jump in place of that call
  }
 private:
  volatile long sum_ = 0;
  Mutex table_mutex_;
};
struct Shard { long hits; std::mutex guard; char more[60]; };
std::array<Shard, 4> shards;
}
template <class F> void by_threads(F f) {
  std::vector<std::thread> all;
  for (int t = 0; t < 3; t++) all.emplace_back([f] { for (int i = 0; i < 20; i++) f(i); });
  for (auto& each : all) each.join();
}
int main() {
  auto* table = new db::Table;
  by_threads([table](int i) { table->add(i); });
  by_threads([](int) { std::lock_guard<std::mutex> held(db::shards[2].guard); usleep(1000); });
}
"""
MEMBERS = {"db::Table::table_mutex_", "db::shards[2].guard"}


def separate(program) -> None:
    """As packages -dbgsym have it: all symbols in a file beside the program."""
    debug = program.with_suffix(".debug")
    for command in (
        ["objcopy", "--only-keep-debug", "--compress-debug-sections", program, debug],
        ["strip", program],
        ["objcopy", f"--add-gnu-debuglink={debug}", program],
    ):
        subprocess.run(command, check=True)


def built(folder, compiler, *flags, source=SOURCE):
    (folder / "table.cpp").write_text(source)
    options = ["-O2", "-g", "-std=c++20", "-pthread", *flags]
    subprocess.run([compiler, *options, "-c", "table.cpp"], cwd=folder, check=True)
    program = folder / "table"
    subprocess.run([compiler, *options, "table.o", "-o", program], cwd=folder, check=True)
    return program


def report(program) -> dict:
    record = program.with_suffix(".record")
    assert run_cli("record", "-o", record, "--", program).returncode == 0
    (found,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    return found


@pytest.mark.sampled(8)
@pytest.mark.crossed("compiler", "flags")
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize(
    "flags",
    [(), ("-gdwarf-4",), ("-gz",), ("-gsplit-dwarf",), ("-gsplit-dwarf", "-gdwarf-4"),
     ("-fdebug-types-section",), ("-fdebug-types-section", "-gdwarf-4"),
     ("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"), "separate"],
    ids=str,
)  # fmt: skip
def test_members_are_named_from_every_form(tmp_path, compiler, flags):
    program = built(tmp_path, compiler, *(() if flags == "separate" else flags))
    if flags == "separate":
        separate(program)
    found = report(program)
    mutexes = [lock for lock in found["locks"] if lock["object"] == "mutex" and lock["waited_ns"]]
    assert {lock["member"] for lock in mutexes} == MEMBERS
    (table,) = (lock for lock in mutexes if lock["member"] == "db::Table::table_mutex_")
    line = SOURCE.splitlines().index("  Mutex table_mutex_;") + 1
    assert table["declared"] == f"table.cpp:{line}"
    assert table["called"].startswith("db::Table::table_mutex_ at ")
    assert not found["notes"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_split_debug_information_that_is_gone_is_said_to_be(tmp_path, compiler):
    program = built(tmp_path, compiler, "-gsplit-dwarf")
    (tmp_path / "table.dwo").unlink()
    found = report(program)
    (note,) = (note for note in found["notes"] if "-gsplit-dwarf" in note)
    assert "most debug information of table is in files of its own" in note
    assert "table.dwo is not there" in note
    # What is still there is told, and nothing else.
    names = {lock["name"] for lock in found["locks"] if lock["waited_ns"]}
    assert any(name.startswith("db::shards+0x") for name in names)


CALLS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile long sum;
__attribute__((noinline, noclone)) static void adds(long n) { while (n--) sum += n; }
__attribute__((noinline, noclone)) void section(long n)
  { pthread_mutex_lock(&lock); adds(n); usleep(n); pthread_mutex_unlock(&lock); sum = n; }
__attribute__((noinline, noclone)) void after(long n) { while (n--) sum -= n; }
__attribute__((noinline, noclone)) void stops(long n) { sum = n; abort(); }
int main(int argc, char** argv)
  { section(argc); after(argc); (void)argv; if (argc > 9) stops(argc); return 0; }
"""


@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_calls_of_a_stripped_program_are_of_the_functions_that_they_enter(tmp_path, level):
    """The tool calls a function that has no symbol in the file by an offset from another one, as
    usleep@plt+0x1d6, and does not see where it ends."""
    program = compile_c(CALLS, tmp_path / "program", level, "-g", "-pthread")
    separate(program)
    ((start, size),) = SymbolTable(str(program)).functions("section")
    by_tool = Program(str(program)).function(start)
    assert max(by_tool.at) >= start + size, "the tool sees its end: this shows nothing"
    names = Names()
    function = names.program(str(program)).function(start)
    assert function.name == "section"
    assert max(function.at) < start + size + 16  # what fills up may follow
    called = [plain_symbol(each.symbol) for each in function.at.values() if each.is_call]
    assert called == ["pthread_mutex_lock", "adds", "usleep", "pthread_mutex_unlock"]


def test_who_holds_it_is_told_not_what_releases_it_for_others(tmp_path):
    """A class Mutex of the program's own is innermost in what takes and releases its locks."""
    found = report(built(tmp_path, "g++"))
    findings = {each["member"]: each for each in found["findings"]}
    (where,) = (
        why for why in findings["db::Table::table_mutex_"]["why"] if "it is held until" in why
    )
    assert where.startswith("it is held until db::Table::add"), where


INLINED = r"""
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
namespace {
struct Queue {
  std::mutex m;
  std::condition_variable filled;
  int items = 0;
  void take() {
    std::unique_lock<std::mutex> held(m);
    filled.wait(held, [this] { return items > 0; });
    items--;
  }
  void give() {
    std::lock_guard<std::mutex> held(m);
    items++;
    filled.notify_one();
  }
};
void consume(Queue* queue) {
  for (int i = 0; i < 20; i++) queue->take();
}
}
int main() {
  auto* queue = new Queue;
  std::thread taker([queue] { consume(queue); });
  for (int i = 0; i < 20; i++) { usleep(500); queue->give(); }
  taker.join();
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_inlined_functions_are_named_with_their_scopes(tmp_path, compiler):
    """They have no symbol that says them: without, a wait of the C++ library's seems to be the
    program's own."""
    found = report(built(tmp_path, compiler, source=INLINED))
    (condition,) = (each for each in found["locks"] if each["object"] == "condition")
    assert not condition["name"].startswith("wait"), condition["name"]
    functions = [frame["function"] for frame in condition["waiters"][0]["frames"]]
    assert any("std::condition_variable::wait<" in name for name in functions)
    assert any("(anonymous namespace)::Queue::take" in name for name in functions), functions


def test_the_file_that_a_stripped_program_misses_is_named(tmp_path):
    """Put where the report says, it brings the names."""
    program = built(tmp_path, "g++")
    separate(program)
    debug = program.with_suffix(".debug")
    elsewhere = debug.rename(tmp_path / "elsewhere")
    found = report(program)
    (note,) = (note for note in found["notes"] if "no symbols of table" in note)
    assert note == (
        "no symbols of table: put table.debug beside that, or build with -g and do not strip"
    )
    elsewhere.rename(debug)
    found = json.loads(run_cli("report", "--json", program.with_suffix(".record")).stdout)
    assert {lock["member"] for lock in found["records"][0]["locks"]} >= MEMBERS


@pytest.mark.crossed("flags", "is_stripped")
@pytest.mark.parametrize("flags", [(), ("-fno-plt",), ("-Wl,-z,now",), ("-static-pie",)], ids=str)
@pytest.mark.parametrize("is_stripped", [False, True])
def test_a_piece_of_code_says_what_the_whole_file_does(tmp_path, flags, is_stripped):
    """Read by itself, since the tool reads all of a large file each time that it is started."""
    program = compile_c(CALLS, tmp_path / "program", "-O1", "-g", "-pthread", *flags)
    if is_stripped:
        separate(program)
    names = Names()
    path = str(program)
    piecewise, whole = names.program(path), Program(path, lambda: names.program(path)._symbols())
    for function in ("section", "adds", "after", "stops", "main"):
        start = start_of(path, function)
        pieces, file = piecewise.function(start), whole.function(start)
        assert pieces.name == file.name == function
        known = [each[:4] for each in told_of(pieces)]
        assert known == [each[:4] for each in told_of(file)][: len(known)]
        assert max(file.at) - max(pieces.at) < 16  # of the padding that follows the file has more
    ((start, size),) = SymbolTable(path).functions("stops")
    last = piecewise.function(start).order()[0][-1]  # to which no call returns
    assert (plain_symbol(last.symbol), last.following) == ("abort", start + size)
    section = piecewise.function(start_of(path, "section"))
    called = [plain_symbol(each.symbol) for each in section.at.values() if each.is_call]
    assert called == ["pthread_mutex_lock", "adds", "usleep", "pthread_mutex_unlock"]


def start_of(path: str, function: str) -> int:
    ((start, _),) = SymbolTable(path).functions(function)
    return start


def told_of(function) -> list:
    """Its instructions; operands that name a target are the target alone."""
    return [
        each._replace(operands="") if each.target is not None else each
        for _, each in sorted(function.at.items())
    ]
