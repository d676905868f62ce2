"""Every kind of wait is in the report, in its place, with its holder; and what is not recorded is
not reported as nothing."""

import json
import os
import subprocess
import threading
import time

import pytest
from conftest import HERE, PYTHONS_LOCK, compile_c, run_cli
from make_record import RecordBuilder

from syncopate.records import openwaits
from syncopate.records.recordformat import SEMAPHORE, WaitKind

LOST = {
    "mutex", "mutex_relock", "read", "write", "spinlock", "trylock", "semaphore_lock", "futex_lock",
}  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    target = tmp_path_factory.mktemp("program") / "every_wait"
    source = HERE / "every_wait.c"
    subprocess.run(
        ["gcc", "-g", "-O1", "-pthread", "-Wall", "-Wextra", source, "-o", target], check=True
    )
    return target


def recorded(command: list, record) -> tuple[dict, str]:
    """What the report says of a program: as data, and as text."""
    done = run_cli("record", "-q", "-o", record, "--", *command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = json.loads(run_cli("report", "--json", record).stdout)["records"][0]
    return found, run_cli("report", record, environ={"COLUMNS": "200"}).stdout


def waits_of(found: dict) -> dict[str, dict]:
    """By kind of wait; of each there is one lock."""
    return {kind: {"lock": lock, **waits}
            for lock in found["locks"] for kind, waits in lock["waits"].items()}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("plan", "kind", "lock", "section"),
    [
        ("semaphore_lock", "semaphore_lock", "sem", "Semaphores used as locks"),
        ("timed_semaphore_lock", "semaphore_lock", "sem", "Semaphores used as locks"),
        ("pool", "semaphore_lock", "sem", "Semaphores used as locks"),
        ("semaphore", "semaphore", "sem", "Semaphores that other threads post"),
        ("named_semaphore", "semaphore", "wait_only at ", "Semaphores that other threads post"),
        ("trylock", "trylock", "mutex", "Mutexes"),
        ("tryrdlock", "trylock", "rwlock", "Reader-writer locks"),
        ("futex", "futex", "word", "The program's own futexes"),
        ("futex_lock", "futex_lock", "word", "Locks of the program's own"),
        ("futex_lock_all", "futex_lock", "word", "Locks of the program's own"),
        ("futex_barrier", "futex", "word", "The program's own futexes"),
        ("join", "join", "main at ", "Threads that others waited for"),
        ("yield", "yield", "yield_lock at ", "Calls of sched_yield"),
        ("shared_mutex", "mutex", "mutex", "Mutexes"),
        ("shared_read", "read", "rwlock", "Reader-writer locks"),
        ("shared_write", "write", "rwlock", "Reader-writer locks"),
        ("shared_read_held", "write", "rwlock", "Reader-writer locks"),
        ("shared_condition", "condition", "condition", "Condition variables"),
        ("shared_condition_alone", "condition", "condition", "Condition variables"),
    ],
)
def test_each_wait_has_its_place(program, tmp_path, plan, kind, lock, section):
    found, text = recorded([program, plan], tmp_path / "r")
    waits = waits_of(found)
    told = waits[kind]
    assert told["lock"]["name"].startswith(lock)
    assert told["count"] >= 1 and told["total_ns"] > 0
    lost = sum(each["total_ns"] for name, each in waits.items() if name in LOST)
    assert found["lost_ns"] == pytest.approx(lost, abs=len(waits))
    assert (kind in LOST) == (told["lock"]["lost_ns"] > 0)
    assert section in text
    parts = found["account"]["parts"]
    assert parts["locks" if kind in LOST else kind] > 0
    total = found["account"]["total_ns"]
    assert sum(parts.values()) == pytest.approx(total + found["account"]["too_much_ns"], rel=0.01)


def test_a_semaphore_lock_has_a_holder(program, tmp_path):
    found, _ = recorded([program, "semaphore_lock"], tmp_path / "r")
    told = waits_of(found)["semaphore_lock"]
    main = found["threads"][0]["label"]
    assert (told["count"], told["lock"]["acquisitions"]) == (1, 2)
    # Nobody holds it while who is to have it lacks a processor.
    blocks = {(block["holder"], block["lock"]) for block in found["blocks"]}
    assert blocks - {("unknown", "sem")} == {(main, "sem")}
    # The stacks: who waited, and who held it.
    assert any(frame["function"] == "take" for frame in told["lock"]["waiters"][0]["frames"])


def test_a_semaphore_that_its_taker_waits_for_is_a_signal(program, tmp_path):
    """Whoever posts it: idle threads of a pool are not lost to a lock."""
    found, _ = recorded([program, "passed_on"], tmp_path / "r")
    assert sorted(waits_of(found)) == ["join", "semaphore"]
    assert found["lost_ns"] == 0


def test_a_semaphore_that_processes_share_may_be_a_lock(program, tmp_path):
    """Who took it stands nowhere; that its takers post it is seen in each process."""
    done = run_cli("record", "-q", "-o", tmp_path / "r", "--", program, "shared_semaphore_lock")
    assert (done.returncode, done.stderr) == (0, "")
    records = sorted(tmp_path.glob("r*"))
    assert len(records) == 2
    found = json.loads(run_cli("report", "--json", *records).stdout)
    waits = [waits_of(record) for record in found["records"]]
    assert all(list(each) == ["semaphore_lock"] for each in waits if each)
    assert found["processes"]["lost_ns"] >= 20_000_000
    names = {each["lock"]["name"] for told in waits for each in told.values()}
    assert all(name.startswith("shared_semaphore_lock at every_wait.c:") for name in names)
    assert "Semaphores used as locks" in run_cli("report", *records).stdout


def test_who_waits_alone_may_wait_for_another_process(tmp_path):
    """No record of one process knows what another one's posts are."""
    builder = RecordBuilder()
    thread = builder.thread(11)
    builder.row(thread, builder.lock(0x7000, SEMAPHORE), WaitKind.SEMAPHORE, [800_000])
    said = run_cli("report", builder.write(tmp_path / "r")).stdout
    assert "No thread waited for a lock that is recorded. Locks of the program's own" in said
    assert "and perhaps to locks of its own: up to 80.0 %" in " ".join(said.split())


def test_a_futex_that_is_a_lock_is_told_as_one(program, tmp_path):
    """Also its first waits, before that was known: in the headline, in the first row, in sentences;
    with who let go of it. How often it was taken is not made up."""
    found, text = recorded([program, "futex_lock"], tmp_path / "r")
    (kinds,) = [lock["waits"] for lock in found["locks"] if lock["object"] == "futex"]
    assert list(kinds) == ["futex_lock"]
    lock = found["locks"][0]
    assert (lock["name"], lock["counted"], lock["hold"]) == ("word", False, None)
    assert found["findings"][0]["lock"] == "word"
    assert found["lost_ns"] == lock["lost_ns"] > found["account"]["total_ns"] / 10
    inner = {stack["frames"][0]["function"] for stack in lock["holders"] if stack["frames"]}
    assert inner == {"own_unlock"}
    assert "perhaps to locks of its own" not in text


@pytest.mark.parametrize("what, kind", [("futex_barging", "futex_lock"), ("futex_signal", "futex")])
def test_a_lock_is_told_from_a_signal_also_where_its_holder_barges(program, tmp_path, what, kind):
    """20 wakes by who has never waited there; beside them 11 by one who has, or 4."""
    found, _ = recorded([program, what], tmp_path / "r")
    (kinds,) = [lock["waits"] for lock in found["locks"] if lock["object"] == "futex"]
    assert list(kinds) == [kind]


ENDS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t merged = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static sem_t begun;
static int ids[8], count;
static void until_asleep(int thread) {
  char path[64], line[256], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  while (state != 'S') {
    FILE* file = fopen(path, "r");
    if (fgets(line, sizeof line, file)) state = strrchr(line, ')')[2];
    fclose(file);
    usleep(1000);
  }
}
static void merge(void* data) {
  ids[__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST)] = gettid();
  sem_post(&begun);
  pthread_mutex_lock(&merged);
  pthread_mutex_unlock(&merged);
  (void)data;
}
static void* work(void* data) {
  pthread_setspecific(key, data);
  return 0;
}
int main(void) {
  pthread_t threads[8];
  pthread_key_create(&key, merge);
  sem_init(&begun, 0, 0);
  pthread_mutex_lock(&merged);
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], 0, work, &key);
  for (int i = 0; i < 8; i++) sem_wait(&begun);
  for (int i = 0; i < 8; i++) until_asleep(ids[i]);
  pthread_mutex_unlock(&merged);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
  return 0;
}
"""


def test_what_threads_wait_for_as_they_end_is_seen(tmp_path):
    """In the destructors of their own data, whose keys are younger than the recorder's."""
    program = compile_c(ENDS, tmp_path / "ends", "-O2", "-g", "-pthread")
    found, _ = recorded([program], tmp_path / "r")
    (lock,) = [lock for lock in found["locks"] if lock["called"] == "merged"]
    assert (lock["acquisitions"], lock["waits"]["mutex"]["count"]) == (9, 8)
    assert all(thread["end_ns"] for thread in found["threads"][1:])


LEFT_BEHIND = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t robust;
static unsigned word;
static volatile int held, stop;
static void* leave(void* x) {
  pthread_mutex_lock(&robust);
  return x;
}
static void* hold(void* x) {
  syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, 0, 0, 0);
  for (held = 1; !stop;) usleep(1000);
  syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, 0, 0, 0);
  return x;
}
int main(void) {
  pthread_t thread;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &attributes);
  for (int i = 0; i < 10; i++) {
    pthread_create(&thread, 0, leave, 0);
    pthread_join(thread, 0);
    if (pthread_mutex_lock(&robust) != EOWNERDEAD) return 1;
    pthread_mutex_consistent(&robust);
    pthread_mutex_unlock(&robust);
  }
  pthread_create(&thread, 0, hold, 0);
  while (!held) usleep(1000);
  for (int i = 0; i < 3; i++) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += (soon.tv_nsec += 20000000) / 1000000000;
    soon.tv_nsec %= 1000000000;
    if (syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, &soon, 0, 0) == 0) return 1;
  }
  stop = 1;
  return pthread_join(thread, 0);
}
"""


def test_what_an_ended_thread_has_left_is_not_waited_for(tmp_path):
    """A robust mutex; and who did not get a lock within its time has waited in vain."""
    program = compile_c(LEFT_BEHIND, tmp_path / "left", "-O2", "-g", "-pthread")
    found, _ = recorded([program], tmp_path / "r")
    locks = [lock for lock in found["locks"] if lock["object"] in ("mutex", "futex")]
    assert [lock["called"] for lock in locks] == ["word"]
    assert locks[0]["in_vain"] == 3


TRIES_FIRST = """
#include <pthread.h>
#include <unistd.h>
enum { rounds = 12, tries = 200 };
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin, end;
static long tried;
static void* other(void* x) {
  for (int i = 0; i < rounds; i++) {
    pthread_barrier_wait(&begin);
    int n = 0;
    while (n < tries && pthread_mutex_trylock(&table_lock) != 0) n++;
    if (n == tries) pthread_mutex_lock(&table_lock);
    tried++;
    pthread_mutex_unlock(&table_lock);
    pthread_barrier_wait(&end);
  }
  return x;
}
int main(void) {
  pthread_t thread;
  pthread_barrier_init(&begin, 0, 2);
  pthread_barrier_init(&end, 0, 2);
  pthread_create(&thread, 0, other, 0);
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&table_lock);
    pthread_barrier_wait(&begin);
    usleep(20000);
    pthread_mutex_unlock(&table_lock);
    pthread_barrier_wait(&end);
  }
  pthread_join(thread, 0);
  return tried != rounds;
}
"""


def test_tries_that_lead_to_a_wait_are_its_beginning(tmp_path):
    """As in jemalloc's locks, which poll before they sleep: it has the lock in the end. Who loses
    the processor between the last try and the wait has given up meanwhile."""
    program = compile_c(TRIES_FIRST, tmp_path / "tries", "-O2", "-g", "-pthread")
    found, _ = recorded([program], tmp_path / "r")
    (lock,) = (each for each in found["locks"] if each["called"] == "table_lock")
    waits = lock["waits"]
    given_up = waits.get("trylock", {"count": 0})["count"]
    assert lock["in_vain"] <= given_up < 6
    assert sum(each["count"] for each in waits.values()) <= 12 + given_up
    assert waits["mutex"]["count"] > 6


def test_attempts_far_apart_are_no_wait(program, tmp_path):
    found, _ = recorded([program, "polling"], tmp_path / "r")
    assert "trylock" not in waits_of(found)
    assert found["lost_ns"] == 0


def test_what_is_refused_is_no_wait_and_what_nobody_uses_no_row(program, tmp_path):
    found, text = recorded([program, "refused"], tmp_path / "r")
    assert waits_of(found) == {}
    # (Of mutexes that stay with the C library only waits are known.)
    assert {lock["name"] for lock in found["locks"]} == {"mutex"}
    assert "No thread waited for a lock" in text


def test_a_look_finds_who_sleeps_at_a_futex():
    """As at a lock inside the C library, which no recorder within the process sees."""
    taken, end = threading.Lock(), time.monotonic() + 60
    taken.acquire()
    read, write = os.pipe()
    threads = [
        threading.Thread(target=taken.acquire),
        threading.Thread(target=os.read, args=(read, 1)),
    ]
    for thread in threads:
        thread.start()
    at_futex, in_read = (thread.native_id for thread in threads)
    while not openwaits._sleeps_at_a_futex(os.getpid(), at_futex) and time.monotonic() < end:
        time.sleep(0.001)
    found = [openwaits._sleeps_at_a_futex(os.getpid(), each) for each in (at_futex, in_read)]
    taken.release()
    os.write(write, b"x")
    for thread in threads:
        thread.join()
    os.close(read)
    os.close(write)
    assert found == [True, False]
    assert not openwaits._sleeps_at_a_futex(os.getpid(), at_futex)


def test_spin_locks_are_counted_exactly(program, tmp_path):
    found, _ = recorded([program, "spinlock"], tmp_path / "r")
    (spin,) = [lock for lock in found["locks"] if lock["object"] == "spinlock"]
    assert spin["acquisitions"] == 400


def test_a_spin_lock_does_not_tell_who_waits(tmp_path):
    """Its holds are measured, and nothing is said of releases while others waited."""
    alone = """#include <pthread.h>
    static pthread_spinlock_t spin;
    int main(void) {
      pthread_spin_init(&spin, 0);
      for (int i = 0; i < 3000; i++) pthread_spin_lock(&spin), pthread_spin_unlock(&spin);
      return 0;
    }"""
    program = compile_c(alone, tmp_path / "alone", "-O2", "-g", "-pthread")
    found, _ = recorded([program], tmp_path / "r")
    (spin,) = found["locks"]
    assert (spin["acquisitions"], spin["contended_releases"]) == (3000, 0)
    assert spin["hold"]["samples"] > 1


def test_pythons_locks_are_seen(tmp_path):
    found, text = recorded(["/usr/bin/python3", "-c", PYTHONS_LOCK], tmp_path / "r")
    told = [lock for lock in found["locks"] if "semaphore_lock" in lock["waits"]]
    assert max(told, key=lambda lock: lock["lost_ns"]) is found["locks"][0]  # the first row
    assert "Semaphores used as locks" in text


@pytest.mark.parametrize(("plan", "part"), [("own_spin", "running"), ("futex", "futex")])
def test_what_is_not_recorded_is_not_called_nothing(program, tmp_path, plan, part):
    found, text = recorded([program, plan], tmp_path / "r")
    assert found["lost_ns"] == 0
    assert found["account"]["parts"][part] > 0
    first_screen = text[: text.index("\n\n")]
    said = {"running": "spinning in code that is not recorded", "futex": "at futexes of its own"}
    assert said[part] in first_screen
    assert (part == "futex") == ("perhaps to locks of its own: up to" in first_screen)
    assert "No thread waited for a lock.\n" not in text
    assert "no lock to show" not in text
    more = "`syncopate record --kernel` sees those that sleep, and loops that spin."
    assert more in " ".join(text.split())


CXX20 = """
#include <unistd.h>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <semaphore>
#include <string>
#include <thread>
static std::barrier<> meet{2};
static std::counting_semaphore<4> permits{1};
// Until all other threads sleep: a waiter polls and yields first, as long as it gets processors.
static void outlast_others() {
  const std::string self = std::to_string(gettid());
  for (bool all_sleep = false; !all_sleep;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    all_sleep = true;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string stat;
      std::getline(std::ifstream(task.path() / "stat"), stat);
      const auto name_ends = stat.rfind(") ");
      const bool sleeps = name_ends == stat.npos || stat[name_ends + 2] == 'S';
      if (task.path().filename() != self && !sleeps) all_sleep = false;
    }
  }
}
static void meet_here(bool late) {
  for (int i = 0; i < 20; i++) {
    if (late) outlast_others();
    meet.arrive_and_wait();
    asm volatile("");
  }
}
static void hold_here() {
  for (int i = 0; i < 20; i++) {
    permits.acquire();
    outlast_others();
    permits.release();
  }
}
int main(int, char** argv) {
  const bool meets = std::string(argv[1]) == "meet";
  auto run = [=](bool late) { meets ? meet_here(late) : hold_here(); };
  std::thread one(run, false), two(run, true), three([=] { if (!meets) hold_here(); });
  one.join();
  two.join();
  three.join();
}
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("plan", "kind", "name"),
    [("meet", "futex", "meet_here"), ("hold", "futex_lock", "permits")],
)
def test_the_cxx_librarys_own_variable_is_no_name(tmp_path, plan, kind, name):
    """A barrier waits at a word that the library shares among many objects: it is called by who
    waits. A semaphore wakes all who wait, and is a lock all the same."""
    source, program = tmp_path / "a.cpp", tmp_path / "a"
    source.write_text(CXX20)
    subprocess.run(
        ["g++", "-std=c++20", "-g", "-O1", "-pthread", source, "-o", program], check=True
    )
    found, _ = recorded([program, plan], tmp_path / "r")
    first = max(found["locks"], key=lambda lock: lock["waits"].get(kind, {}).get("total_ns", 0))
    assert first["waits"][kind]["count"] >= 15
    assert first["name"].startswith(name)
    assert (found["lost_ns"] > 0) == (plan == "hold")
