"""Policies in the preload library: which lock each mutex gets, told by the library itself."""

import re
from pathlib import Path

import pytest
from conftest import compile_program, policy_of, syncopate

from syncopate.base import paths
from syncopate.symbols.names import MISSING

SUBJECT = r"""
#include <pthread.h>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
static pthread_mutex_t named = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct { long before; pthread_mutex_t inside; } whole = {0, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t row[5];
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int arrived;
struct table { std::mutex lock; long n = 0; };
static long counts[6];
#define NOINLINE __attribute__((noinline))
NOINLINE pthread_mutex_t* make_one() {
  auto* m = new pthread_mutex_t;
  pthread_mutex_init(m, nullptr);
  return m;
}
NOINLINE void use_table(table& t) { std::lock_guard<std::mutex> hold(t.lock); t.n++; }
static void add(pthread_mutex_t& m, long& n) {
  if (pthread_mutex_trylock(&m) != 0) pthread_mutex_lock(&m);
  n++;
  pthread_mutex_unlock(&m);
}
static void meet() {
  pthread_mutex_lock(&named);
  if (++arrived == 4) pthread_cond_broadcast(&ready);
  while (arrived < 4) pthread_cond_wait(&ready, &named);
  pthread_mutex_unlock(&named);
}
int main() {
  auto* made = make_one();
  auto shared = std::make_unique<table>();
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; k++)
    threads.emplace_back([&, k] {
      meet();
      for (int i = 0; i < 3000; i++) {
        add(named, counts[0]);
        add(whole.inside, counts[1]);
        add(*made, counts[2]);
        add(other, counts[3]);
        pthread_mutex_lock(&recursive);
        add(recursive, counts[4]);
        pthread_mutex_unlock(&recursive);
        add(row[i % 5], counts[5 * (k > 9)]);
        use_table(*shared);
      }
    });
  for (auto& thread : threads) thread.join();
  pthread_mutex_destroy(made);
  std::printf("%ld %ld %ld %ld %ld\n", counts[1], counts[2], counts[3], counts[4], shared->n);
}
"""
PRINTED = "12000 12000 12000 12000 12000\n"

POLICY = """
[default]
lock = "auto"
reason = "a test"
[[lock]]
variable = "named"
lock = "ticket:park"
reason = "a test"
gain = "1.2x"
[[lock]]
variable = "whole+0x8"
lock = "mcs"
[[lock]]
variable = "row"
lock = "clh"
[[lock]]
variable = "recursive"
lock = "futex"
[[lock]]
created = "make_one"
lock = "mcs:park"
[[lock]]
used = "use_table"
lock = "tatas:yield"
elide = "off"
"""

FOUND = {
    "variable named": ("1", "ticket:park"),
    "variable whole+0x8": ("1", "mcs:spin_then_park"),
    "variable row": ("5", "clh:spin_then_park"),
    "variable recursive": ("1", "futex"),
    "created make_one": ("1", "mcs:park"),
    "used use_table": ("1", "tatas:yield; elide off"),
}


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def subject(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("subject")
    return compile_program(SUBJECT, folder / "subject", "g++", "-std=c++17", request.param)


def found(said: str) -> dict[str, tuple[str, str]]:
    lines = re.findall(r"^syncopate: policy: (.+): locks: (\d+), each (.+)$", said, re.MULTILINE)
    return {label: (count, lock) for label, count, lock in lines}


def run(subject, folder, policy, *options, environ=None):
    path = folder / "policy.toml"
    path.write_text(policy_of(policy))
    return syncopate("run", "-v", *options, "--policy", path, subject, environ=environ)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("default", ["auto", "futex", "tatas:spin", "mcs"])
def test_each_lock_has_what_the_policy_says(subject, tmp_path, default):
    done = run(subject, tmp_path, POLICY, "--lock", default)
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr
    assert found(done.stderr) == FOUND
    assert f"locks of this program: {default.partition(':')[0]}" in done.stderr


RWLOCKS = r"""
#include <pthread.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <thread>
static pthread_rwlock_t named = PTHREAD_RWLOCK_INITIALIZER, other = PTHREAD_RWLOCK_INITIALIZER;
static bool sleeps(int thread) {
  char path[64], state = 0;
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  std::FILE* file = std::fopen(path, "r");
  if (std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
  std::fclose(file);
  return state == 'S';
}
// Whether a reader gets in beside a reader while a writer waits.
static bool readers_pass(pthread_rwlock_t& l) {
  pthread_rwlock_rdlock(&l);
  std::atomic<int> id{0};
  std::thread writer([&] {
    id = gettid();
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
  });
  while (id == 0 || !sleeps(id)) usleep(1000);
  const bool passed = pthread_rwlock_tryrdlock(&l) == 0;
  if (passed) pthread_rwlock_unlock(&l);
  pthread_rwlock_unlock(&l);
  writer.join();
  return passed;
}
int main() { std::printf("%d %d\n", readers_pass(named), readers_pass(other)); }
"""


@pytest.mark.parametrize("side", ["readers", "writers"])
def test_reader_writer_locks_prefer_whom_the_policy_says(tmp_path, side):
    program = compile_program(RWLOCKS, tmp_path / "rwlocks", "g++", "-std=c++17")
    done = run(program, tmp_path, f'[[lock]]\nvariable = "named"\nprefer = "{side}"\n')
    assert (done.returncode, done.stdout) == (0, f"{int(side == 'readers')} 1\n"), done.stderr
    assert found(done.stderr) == {"variable named": ("1", f"prefer {side}")}


BARRIERS = r"""
#include <pthread.h>
#include <cstdio>
#include <thread>
#include <vector>
static pthread_barrier_t made, other;
static int serials[2], arrivals[2];
__attribute__((noinline)) void make(pthread_barrier_t* b) { pthread_barrier_init(b, nullptr, 3); }
int main() {
  make(&made);
  pthread_barrier_init(&other, nullptr, 3);
  std::vector<std::thread> threads;
  for (int k = 0; k < 6; k++)  // more threads than it counts: any three go on
    threads.emplace_back([] {
      pthread_barrier_t* both[2] = {&made, &other};
      for (int b = 0; b < 2; b++)
        while (__atomic_fetch_add(&arrivals[b], 1, __ATOMIC_RELAXED) < 1200)
          if (pthread_barrier_wait(both[b]) == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serials[b], 1, __ATOMIC_RELAXED);
    });
  for (auto& thread : threads) thread.join();
  pthread_barrier_destroy(&made);
  pthread_barrier_destroy(&other);
  std::printf("%d %d\n", serials[0], serials[1]);
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("wait", ["park", "spin_then_park", "yield", "spin"])
def test_barriers_wait_as_the_policy_says(tmp_path, wait):
    program = compile_program(BARRIERS, tmp_path / "barriers", "g++", "-std=c++17", "-O1")
    done = run(program, tmp_path, f'[[lock]]\ncreated = "make"\nbarrier = "{wait}"\n')
    assert (done.returncode, done.stdout) == (0, "400 400\n"), done.stderr
    assert f"policy: created make: barriers: 1, each waits by {wait}" in done.stderr


# A function that makes one of each.
ONE_PLACE = r"""
#include <pthread.h>
pthread_mutex_t mutex;
pthread_rwlock_t rwlock;
pthread_barrier_t barrier;
int main() {
  pthread_barrier_init(&barrier, nullptr, 1);
  pthread_rwlock_init(&rwlock, nullptr);
  pthread_mutex_init(&mutex, nullptr);
  pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex);
  pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock);
  pthread_barrier_wait(&barrier);
}
"""


def said_of_policy(program, folder, *words) -> list[str]:
    """What is said where each of the words is an entry for what `main` creates."""
    entries = [f'[[lock]]\ncreated = "main"\n{each}\n' for each in words]
    done = run(program, folder, "".join(entries))
    assert done.returncode == 0, done.stderr
    return re.findall(r"^syncopate: policy: (.*)$", done.stderr, re.M)


def test_entries_of_one_place_are_each_for_their_kind(tmp_path):
    program = compile_program(ONE_PLACE, tmp_path / "place", "g++", "-O1")
    said = {
        'barrier = "park"': "barriers: 1, each waits by park",
        'prefer = "writers"': "locks: 1, each prefer writers",
        'lock = "mcs:park"': "locks: 1, each mcs:park",
    }
    for words in [[each] for each in said] + [[*said], [*reversed(said)]]:
        told = said_of_policy(program, tmp_path, *words)
        assert sorted(told) == sorted(f"created main: {said[each]}" for each in words)
        # What is said of elision alone goes for both kinds of locks, wherever it stands.
        for all_words in (["elide = 'off'", *words], [*words, "elide = 'off'"]):
            told = said_of_policy(program, tmp_path, *all_words)
            for each in words:
                also = "" if "barrier" in each else "; elide off"
                assert f"created main: {said[each]}{also}" in told


def test_entries_of_elision_alone_tell_what_they_find_on_every_machine(tmp_path):
    """Also where no transaction commits, so that nothing is elided anyway."""
    program = compile_program(ONE_PLACE, tmp_path / "place", "g++", "-O1")
    for mode in ("off", "always"):
        said = f"created main: locks: 2, each auto; elide {mode}"
        assert said_of_policy(program, tmp_path, f"elide = '{mode}'") == [said]


def test_of_two_entries_for_the_same_the_first_counts(tmp_path):
    program = compile_program(ONE_PLACE, tmp_path / "place", "g++", "-O1")
    told = said_of_policy(program, tmp_path, 'lock = "mcs"', 'lock = "clh"', 'lock = "mcs"')
    assert told == [
        "created main stands there twice; lock = mcs counts",
        "created main: locks: 1, each mcs:spin_then_park",
    ]


def test_policies_and_recording_agree(subject, tmp_path):
    record = tmp_path / "with.rec"
    done = run(subject, tmp_path, POLICY, environ={"SYNCOPATE_RECORD": str(record)})
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr
    assert found(done.stderr) == FOUND
    report = syncopate("report", "--json", record)
    assert report.returncode == 0, report.stderr
    assert '"named"' in report.stdout


def test_the_default_of_a_policy_is_an_option_that_options_override(subject, tmp_path):
    policy = '[default]\nlock = "mcs:park"\n'
    assert "this program: mcs:park" in run(subject, tmp_path, policy).stderr
    assert "this program: clh:park" in run(subject, tmp_path, policy, "-l", "clh:park").stderr


def test_sites_that_are_gone_are_named_and_harmless(subject, tmp_path):
    policy = """
[[lock]]
variable = "no_such_lock"
lock = "mcs"
[[lock]]
created = "make_nothing"
lock = "mcs"
[[lock]]
variable = "named"
module = "/nonexistent/libold.so"
lock = "mcs"
[[lock]]
used = "subject+0x1234"
build_id = "00ff"
lock = "mcs"
"""
    done = run(subject, tmp_path, policy)
    assert (done.returncode, done.stdout) == (0, PRINTED)
    said = [line for line in done.stderr.splitlines() if "syncopate: policy: " in line]
    assert len(said) == 4
    for text in ("has no variable no_such_lock", "has no function make_nothing",
                 "there is no file /nonexistent/libold.so, so variable named is left out",
                 "is another build"):  # fmt: skip
        assert any(text in line for line in said), text


def test_without_the_tool_that_knows_names_it_is_not_said_that_they_are_gone(subject, tmp_path):
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    for part in ("lib", "share"):
        (prefix / part).symlink_to(Path(paths.require(paths.LOCKS)).parents[2] / part)
    policy = """
[[lock]]
variable = "named"
lock = "mcs"
[[lock]]
used = "subject+0x1234"
build_id = "00ff"
lock = "mcs"
[[lock]]
used = "subject+0x1234"
lock = "mcs"
"""
    done = run(subject, tmp_path, policy, environ={"SYNCOPATE_NATIVE": str(prefix)})
    assert (done.returncode, done.stdout) == (0, PRINTED)
    assert f"syncopate: policy: {MISSING}: 2 of its entries are left out\n" in done.stderr
    assert found(done.stderr) == {"used subject+0x1234": ("0", "mcs:spin_then_park")}


def test_a_policy_for_locks_that_the_program_never_uses(subject, tmp_path):
    done = run(subject, tmp_path, '[[lock]]\nvariable = "counts"\nlock = "mcs"\n')
    assert (done.returncode, done.stdout) == (0, PRINTED)
    assert found(done.stderr) == {"variable counts": ("0", "mcs:spin_then_park")}


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("[[lock]]\nvariable = 'a'\nlock = 'mcss'\n", "did you mean mcs"),
        ("[[lock]]\nvariable = 'a'\nlock = 'mcs:spinn'\n", "does not wait by 'spinn'"),
        ("[[lock]]\nvariable = 'a'\nlock = 'glibc'\n", "all locks or none"),
        ("[[lock]]\nvariable = 'a'\nused = 'b'\nlock = 'mcs'\n", "give either"),
        ("[default]\nlok = 'mcs'\n", "default: unknown key lok"),
        ("lock = 3\n", "write [[lock]]"),
        ("[default]\nelide = 'never'\n", "default: elide"),
        ("[[lock]]\nvariable = 'a'\nprefer = 'nobody'\n", "there are readers, writers"),
        (
            "[[lock]]\nvariable = 'a'\nthrough = 'b'\nlock = 'mcs'\n",
            "through goes with created or used",
        ),
        ("[[lock]]\nvariable = 'a'\nprefer = 'readers'\nlock = 'mcs'\n", "is for mutexes"),
        (
            "[[lock]]\nvariable = 'a'\nbarrier = 'sleep'\n",
            "there are park, spin_then_park, yield, spin",
        ),
        ("[[lock]]\nused = 'a'\nbarrier = 'park'\n", "barriers are always created"),
        ("[default]\nprefer = 'readers'\n", "default: unknown key prefer"),
        ("[default]\nomp_wait = 'bogus'\n", 'default: omp_wait = "bogus"; there are adaptive'),
        ("[default]\nomp_barrier = 'bogus'\n", "the policy's default: no barrier is named"),
        ("[default]\nomp_wait = 'spin'\n", "the policy's default: --wait spin: neither"),
    ],
)
def test_bad_policies_are_one_line(tmp_path, policy, said):
    path = tmp_path / "policy.toml"
    path.write_text(policy_of(policy))
    done = syncopate("run", "--policy", path, "true")
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("items", ["v,1,lock=mcs", "u,0,7fffffff,lock=mcs+lock=clh,x"])
def test_a_damaged_variable_is_said_and_changes_nothing(subject, items):
    done = syncopate("run", subject, environ={"SYNCOPATE_SITES": f"m,{subject};{items}"})
    assert (done.returncode, done.stdout) == (0, PRINTED)
    assert "SYNCOPATE_SITES cannot be read" in done.stderr


def test_sites_beyond_the_room_are_said(subject):
    items = ";".join(f"u,0,1,lock=mcs,{number}" for number in range(257))
    done = syncopate("run", subject, environ={"SYNCOPATE_SITES": f"m,{subject};{items}"})
    assert (done.returncode, done.stdout) == (0, PRINTED)
    assert done.stderr.count("more than 256 functions and variables") == 1


def test_child_processes_have_the_policy_too(subject, tmp_path):
    where = f'module = "{subject}"\n'
    policy = re.sub(r"^(variable|created|used)", where + r"\1", POLICY, flags=re.MULTILINE)
    path = tmp_path / "policy.toml"
    path.write_text(policy_of(policy))
    done = syncopate("run", "-v", "--policy", path, "sh", "-c", f"{subject}; {subject}")
    assert (done.returncode, done.stdout) == (0, PRINTED * 2)
    for label, (count, lock) in FOUND.items():
        assert done.stderr.count(f"policy: {label}: locks: {count}, each {lock}\n") == 2


OWNERS = r"""
#include <pthread.h>
#define NOINLINE __attribute__((noinline))
struct Mutex {
  pthread_mutex_t m;
  NOINLINE Mutex() { pthread_mutex_init(&m, nullptr); asm volatile(""); }
  NOINLINE void lock() { pthread_mutex_lock(&m); asm volatile(""); }
  NOINLINE void unlock() { pthread_mutex_unlock(&m); asm volatile(""); }
};
struct Cache { Mutex lock; NOINLINE Cache() { asm volatile(""); } };
struct Journal { Mutex lock; NOINLINE Journal() { asm volatile(""); } };
int main() {
  Cache caches[3];
  Journal journal;
  for (Cache& cache : caches) { cache.lock.lock(); cache.lock.unlock(); }
  journal.lock.lock();
  journal.lock.unlock();
}
"""


@pytest.mark.parametrize(
    ("entry", "locks"),
    [
        ("created = 'Mutex::Mutex'", 4),
        ("created = 'Cache::Cache'", 0),
        ("created = 'Cache::Cache'\nthrough = 'Mutex::Mutex'", 3),
        ("created = 'Journal::Journal'\nthrough = 'Mutex::Mutex'", 1),
    ],
)
def test_locks_that_one_class_makes_for_several(tmp_path, entry, locks):
    program = compile_program(OWNERS, tmp_path / "owners", "g++", "-O1")
    policy = tmp_path / "p.toml"
    policy.write_text(policy_of(f"[[lock]]\n{entry}\nlock = 'mcs'\n"))
    done = syncopate("run", "-v", "--policy", policy, "--", program)
    assert done.returncode == 0, done.stderr
    assert re.search(rf"created \S+: locks: {locks}, each mcs", done.stderr), done.stderr


def test_functions_to_look_through_that_are_gone_are_named(tmp_path):
    program = compile_program(OWNERS, tmp_path / "owners", "g++", "-O1")
    text = "[[lock]]\ncreated = 'Cache::Cache'\nthrough = 'Mutex::Gone'\nlock = 'mcs'\n"
    (tmp_path / "p.toml").write_text(policy_of(text))
    done = syncopate("run", "--policy", tmp_path / "p.toml", "--", program)
    assert (done.returncode, done.stderr.count("has no function Mutex::Gone\n")) == (0, 1)
