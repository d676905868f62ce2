"""Unrelated locks never share a row, and locks that are alike do: on programs recorded here."""

import json
import subprocess

import pytest
from conftest import compile_c, run_cli

from syncopate.records.difference import (
    CONSTRUCTOR,
    Way,
    holding_functions,
    up_to_holder,
    ways,
)
from syncopate.symbols.symbols import Frame

PROGRAM = r"""
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unistd.h>
#include <pthread.h>
#define NOINLINE __attribute__((noinline))
// A class of the program's own that only passes calls on, as RocksDB's port::Mutex does.
struct Mutex {
  pthread_mutex_t m;
  NOINLINE Mutex() { pthread_mutex_init(&m, nullptr); asm volatile(""); }
  NOINLINE void lock() { pthread_mutex_lock(&m); asm volatile(""); }
  NOINLINE void unlock() { pthread_mutex_unlock(&m); asm volatile(""); }
};
struct Instrumented { Mutex inner; NOINLINE Instrumented() { asm volatile(""); } };
struct Database { Instrumented lock; NOINLINE Database() { asm volatile(""); } };
struct Errors { Instrumented lock; NOINLINE Errors() { asm volatile(""); } };
// The only lock of its kind, made by a class that only passes calls on.
struct SharedLock {
  pthread_rwlock_t m;
  NOINLINE SharedLock() { pthread_rwlock_init(&m, nullptr); asm volatile(""); }
};
struct Catalog { SharedLock lock; NOINLINE Catalog() { asm volatile(""); } };
struct Shard { Mutex lock; };
struct Cache { Shard shards[64]; NOINLINE Cache() { asm volatile(""); } };
// Never created in anyone's sight.
struct Lazy {
  std::mutex m;
  NOINLINE void lock() { m.lock(); asm volatile(""); }
  NOINLINE void unlock() { m.unlock(); asm volatile(""); }
};
using Unique = std::unique_lock<std::shared_mutex>;
struct Index { std::shared_mutex m; NOINLINE void put() { Unique hold(m); usleep(300); } };
struct Log { std::shared_mutex m; NOINLINE void append() { Unique hold(m); usleep(300); } };
struct Queue { Lazy l; NOINLINE void push() { l.lock(); usleep(300); l.unlock(); } };
struct Names { Lazy l; NOINLINE void add() { l.lock(); usleep(300); l.unlock(); } };
struct Slot { std::mutex m; NOINLINE void use() { std::lock_guard hold(m); usleep(300); } };
NOINLINE void one_way(Slot& s) { s.use(); asm volatile(""); }
NOINLINE void another_way(Slot& s) { s.use(); asm volatile(""); }
// A tree whose nodes are made by a function that calls itself.
struct Node { Mutex lock; Node* left = nullptr; Node* right = nullptr; };
NOINLINE Node* grow(int depth) {
  Node* n = new Node;
  if (depth > 0) {
    n->left = grow(depth - 1);
    n->right = grow(depth - 1);
  }
  return n;
}
NOINLINE void use_all(Node* n) {
  n->lock.lock();
  n->lock.unlock();
  if (n->left != nullptr) { use_all(n->left); use_all(n->right); }
}
Database* database; Errors* errors; Cache* cache; Index* index_; Log* log_; Queue* queue;
Names* names; Slot* slots; Node* tree; Catalog* catalog;
void work(int number) {
  for (int i = 0; i < 60; ++i) {
    database->lock.inner.lock(); usleep(200); database->lock.inner.unlock();
    errors->lock.inner.lock(); usleep(200); errors->lock.inner.unlock();
    Shard& s = cache->shards[i];
    s.lock.lock(); usleep(100); s.lock.unlock();
    index_->put(); log_->append(); queue->push(); names->add();
    pthread_rwlock_rdlock(&catalog->lock.m); pthread_rwlock_unlock(&catalog->lock.m);
  }
  for (int i = 0; i < 100; ++i)
    if (number % 2) one_way(slots[i % 2]); else another_way(slots[i % 2 ^ 1]);
}
int main() {
  database = new Database; errors = new Errors; cache = new Cache; index_ = new Index;
  log_ = new Log; queue = new Queue; names = new Names; slots = new Slot[2]; tree = grow(5);
  catalog = new Catalog;
  use_all(tree);
  std::thread threads[4];
  for (int i = 0; i < 4; ++i) threads[i] = std::thread(work, i);
  for (auto& t : threads) t.join();
}
"""


def rows_of(folder, *options: str) -> list[tuple[str, int]]:
    """Of each lock of the program, compiled so, its name, and how many there are."""
    command = ["g++", "-std=c++17", "-pthread", "-fno-inline", "-x", "c++", "-", "-o"]
    subprocess.run([*command, folder / "prog", *options], input=PROGRAM, text=True, check=True)
    record = folder / "rec"
    done = run_cli("record", "-o", record, "--", folder / "prog")
    assert done.returncode == 0, done.stderr
    told = json.loads(run_cli("report", "--json", record).stdout)
    return [
        (lock["name"], lock["members"])
        for lock in told["records"][0]["locks"]
        if lock["object"] in ("mutex", "rwlock")
    ]


@pytest.fixture(scope="module", params=["-g -O1", "-g0 -O2"])
def rows(request, tmp_path_factory):
    return rows_of(tmp_path_factory.mktemp("program"), *request.param.split())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("option", ["-O1", "-O2"])
def test_without_symbols_locks_are_told_apart_as_well(tmp_path, option):
    """By where functions begin, as unwind tables have it."""
    rows = rows_of(tmp_path, option, "-s")
    assert all(name.startswith("prog+0x") for name, _ in rows), rows
    # Database's, Errors', Catalog's, Index's, Log's, Queue's, Names'; two slots, 60 shards, 63
    # nodes.
    assert sorted(members for _, members in rows) == [1] * 7 + [2, 60, 63], rows


def of(rows, word: str) -> list[int]:
    """How many locks each row has whose name begins with that function."""
    return sorted(members for name, members in rows if name.partition("(")[0] == word)


@pytest.mark.sampled(2)
def test_made_by_one_class_for_several(rows):
    for owner in ("Database::Database", "Errors::Errors"):
        assert of(rows, owner) == [1], rows


def test_what_a_constructor_makes_for_another_is_told_by_that(rows):
    assert of(rows, "Catalog::Catalog") == [1], rows


def test_shards_are_one_row(rows):
    assert of(rows, "Shard::Shard") + of(rows, "Cache::Cache") == [60], rows


def test_first_used_by_several_classes(rows):
    for user in ("Index::put", "Log::append", "Queue::push", "Names::add"):
        assert of(rows, user) == [1], rows


def test_who_calls_the_holder_does_not_matter(rows):
    assert [members for name, members in rows if "Slot::use" in name] == [2], rows


def test_a_function_that_calls_itself_makes_no_row_for_each_depth(rows):
    grown = [members for name, members in rows if "Node::Node" in name]
    assert grown == [63], rows


MANY = r"""
#include <pthread.h>
#include <stdlib.h>
#define FUNCTION __attribute__((noinline)) void
pthread_mutex_t* next;
FUNCTION make(void) { pthread_mutex_init(next++, 0); __asm__ volatile(""); }
#define ONE(n) FUNCTION made_by_##n(int depth) { \
  volatile char room[16 + 16 * (n % 50)]; \
  if (depth > 0) made_by_##n(depth - 1); else make(); \
  room[0] = 1; \
}
EACH(ONE)
int main(void) {
  pthread_mutex_t* all = next = malloc(COUNT * sizeof *next);
#define CALL(n) made_by_##n(n % 25);
  EACH(CALL)
  for (int i = 0; i < COUNT; ++i) { pthread_mutex_lock(all + i); pthread_mutex_unlock(all + i); }
}
"""


def test_who_made_hundreds_at_the_start_is_known(tmp_path):
    """Of locks on the heap only the stacks of their creation tell, each of which is new here."""
    count = 400
    each = "#define EACH(what) " + " ".join(f"what({n})" for n in range(count)) + "\n"
    command = ["gcc", "-O1", f"-DCOUNT={count}", "-pthread", "-x", "c", "-", "-o"]
    subprocess.run([*command, tmp_path / "prog"], input=each + MANY, text=True, check=True)
    assert run_cli("record", "-o", tmp_path / "rec", "--", tmp_path / "prog").returncode == 0
    told = json.loads(run_cli("report", "--json", tmp_path / "rec").stdout)["records"][0]
    names = {lock["name"] for lock in told["locks"] if lock["object"] == "mutex"}
    assert len(names) == count
    assert not [name for name in names if "not known" in name]


def frame(text: str) -> Frame:
    function, _, line = text.partition(":")
    return Frame(function, "/src/a.cpp" if line else "", int(line or 0), "/bin/a", False)


def stack(text: str) -> list[Frame]:
    return [frame(word) for word in text.split()]


def told(*texts: str) -> list[tuple[str, bool]]:
    found = ways({number: stack(text) for number, text in enumerate(texts)})
    return [
        (" ".join(f.function + (f":{f.line}" if f.file else "") for f in way.frames), way.ends)
        for _, way in sorted(found.items())
    ]


def test_one_lock_is_told_by_its_telling_frame():
    assert told("make:3 main:9") == [("make:3", False)]


def test_frames_in_which_they_differ_tell():
    assert told("m:1 a:2 main:9", "m:1 b:2 main:9", "m:1 i:5 c:1 main:9", "m:1 i:5 d:1 main:9") == [
        ("m:1 a:2", False), ("m:1 b:2", False), ("m:1 i:5 c:1", False), ("m:1 i:5 d:1", False),
    ]  # fmt: skip


def test_the_same_all_the_way_is_alike():
    assert told("m:1 a:2 main:9", "m:1 a:2 main:9") == [("m:1", False), ("m:1", False)]


def test_a_stack_that_ends_early_is_told_apart():
    assert told("m:1", "m:1 a:2", "m:1 b:2") == [
        ("m:1", True),
        ("m:1 a:2", False),
        ("m:1 b:2", False),
    ]


def test_none():
    assert ways({}) == {}
    assert ways({1: stack("m")}) == {1: Way((frame("m"),), False)}


@pytest.mark.parametrize(
    ("acquiring", "releasing", "holder"),
    [
        ("lock:1 put:5 main:9", "unlock:2 put:7 main:9", "put"),
        ("lock:1 put:5 main:9", "unlock:2 put:5 main:9", "put"),
        ("lock:1 put:5 main:9", "put:7 main:9", "put"),
        ("put:5 main:9", "put:5 main:9", "put"),
        ("lock+0x3 put+0x10 main+0x9", "unlock+0x2 put+0x30 main+0x9", "put"),
        ("lock:1 put:5 run:1", "unlock:1 get:2 walk:1", None),
    ],
)
def test_who_holds(acquiring, releasing, holder):
    found = holding_functions([(stack(acquiring), stack(releasing))])
    assert found == ({(holder, "/bin/a")} if holder else set())
    if holder:
        kept = up_to_holder(stack(acquiring), found)
        assert kept[-1].function.startswith(holder)


@pytest.mark.parametrize(
    "function",
    ["A::A()+0x2f", "n::A::A(int)", "A::A", "n::A<int>::A(n::B::B)", "A<B::C>::A<int>(int)+0x1",
     "A::A[abi:cxx11]()"],
)  # fmt: skip
def test_a_constructor_is_seen(function):
    assert CONSTRUCTOR.search(function)


@pytest.mark.parametrize(
    "function",
    ["A::~A()", "A::B()", "A()", "A::AA(int)", "f(A::A)", "AA::A()", "A::operator()(int)"],
)
def test_no_constructor(function):
    assert not CONSTRUCTOR.search(function)


ONE_OF_TWO = """
#include <pthread.h>
#include <unistd.h>
namespace { pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; }
extern "C" void hold_NAME() {
  pthread_mutex_lock(&lock);
  usleep(LONG);
  pthread_mutex_unlock(&lock);
}
"""
OF_TWO_FILES = """
#include <pthread.h>
extern "C" void hold_a();
extern "C" void hold_b();
static void* run(void*) {
  for (int i = 0; i < 40; ++i) { hold_a(); hold_b(); }
  return nullptr;
}
int main() {
  pthread_t t[3];
  for (pthread_t& each : t) pthread_create(&each, nullptr, run, nullptr);
  for (pthread_t& each : t) pthread_join(each, nullptr);
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("debug", [True, False])
def test_variables_of_one_name_in_two_files_are_two_locks(tmp_path, debug):
    """Each with its own numbers; told apart by where it is declared, else by where it lies."""
    files = [tmp_path / "main.cpp"]
    files[0].write_text(OF_TWO_FILES)
    for name, held_us in (("a", 2000), ("b", 100)):
        files.append(tmp_path / f"{name}.cpp")
        files[-1].write_text(ONE_OF_TWO.replace("NAME", name).replace("LONG", str(held_us)))
    program = tmp_path / "of_two"
    options = ["-O1", "-pthread", *["-g"] * debug]
    subprocess.run(["g++", *files, "-o", program, *options], check=True)
    record = tmp_path / "rec"
    assert run_cli("record", "-q", "-o", record, "--", program).returncode == 0
    (results,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    mutexes = [lock for lock in results["locks"] if lock["object"] == "mutex"]
    assert [(lock["members"], lock["acquisitions"]) for lock in mutexes] == [(1, 120)] * 2
    assert len({lock["name"] for lock in mutexes}) == 2
    assert {lock["site"] for lock in mutexes} == {"(anonymous namespace)::lock"}
    slow = mutexes[0]
    assert slow["hold"]["mean_ns"] > 2_000_000
    at = "a.cpp:4" if debug else "of_two+0x"
    assert slow["called"].startswith(f"(anonymous namespace)::lock at {at}")
    assert slow["declared"] == ("a.cpp:4" if debug else "")
    told = json.loads(run_cli("diff", "--json", record, record).stdout)["locks"]
    assert all(row["in"] == "both" and row["waited"]["verdict"] == "same" for row in told)


LATCHES = r"""
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#define OUT __attribute__((noinline, noclone))
typedef struct { atomic_int writer, readers; } latch;
static latch *index_latch, *page_latch;
static atomic_int reads;
static void wake(atomic_int* word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0); }
static inline void take(atomic_int* word) {
  int seen = 0;
  if (atomic_compare_exchange_strong(word, &seen, 1)) return;
  while (atomic_exchange(word, 2) != 0) syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, 0, 0, 0);
}
static inline void release(atomic_int* word) { if (atomic_exchange(word, 0) == 2) wake(word); }
// A reader's slow way: it has the writers' word for a moment.
OUT static void read_slow(latch* l) {
  take(&l->writer);
  atomic_fetch_add(&l->readers, 1);
  release(&l->writer);
  __asm__ volatile("" ::: "memory");
}
OUT static void search_index(void) { read_slow(index_latch); atomic_fetch_add(&reads, 1); }
OUT static void get_page(void) { read_slow(page_latch); atomic_fetch_add(&reads, 1); }
static inline void change(latch* l)
  { take(&l->writer); usleep(500); release(&l->writer); usleep(100); }
OUT static void* insert(void* x) { while (reads < 1600) change(index_latch); return x; }
OUT static void* flush(void* x) { while (reads < 1600) change(page_latch); return x; }
static void at_times(int i) { if (i % 8 == 0) usleep(200); }
static void* searches(void* x)
  { for (int i = 0; i < 400; i++) { at_times(i); search_index(); } return x; }
static void* gets(void* x) { for (int i = 0; i < 400; i++) { at_times(i); get_page(); } return x; }
int main(void) {
  pthread_t t[6];
  index_latch = __builtin_memset(__builtin_malloc(sizeof(latch)), 0, sizeof(latch));
  page_latch = __builtin_memset(__builtin_malloc(sizeof(latch)), 0, sizeof(latch));
  pthread_create(&t[0], 0, insert, 0);
  pthread_create(&t[1], 0, flush, 0);
  for (int i = 2; i < 6; i++) pthread_create(&t[i], 0, i % 2 ? gets : searches, 0);
  for (int i = 0; i < 6; i++) pthread_join(t[i], 0);
  return 0;
}
"""


@pytest.mark.parametrize("level", ["-O2", "-O3"])
def test_a_latch_whose_slow_way_takes_and_releases_its_word_is_told_by_who_uses_it(tmp_path, level):
    """Else all latches of a program are one row: the slow way seems to hold each of them."""
    program = compile_c(LATCHES, tmp_path / "latches", "-g", level, "-pthread")
    assert run_cli("record", "-o", tmp_path / "r", "--", program).returncode == 0
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    latches = [each for each in found["locks"] if each["object"] == "futex" and each["waited_ns"]]
    names = [each["name"] for each in latches]
    assert names and all(each["members"] == 1 for each in latches), names
