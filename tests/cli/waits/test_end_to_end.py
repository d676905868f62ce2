"""The whole way with the real recorder: record a program, read the report.

The programs wait for known locks in known functions; times are not judged, only who and where.
"""

import json
import os
import re
import resource
import signal
import subprocess
from functools import partial

import pytest
from conftest import COMMAND, compile_c, one_line, run_cli

from syncopate.base import paths
from syncopate.records import recordformat

BLOCKED = """
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#define NOINLINE __attribute__((noinline))
static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t* made;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int is_waiting, is_ready;
static void rest(void) { nanosleep(&(struct timespec){0, 3000000}, 0); }
NOINLINE void holder_function(void) {
  pthread_mutex_lock(&hot_lock);
  rest();
  pthread_mutex_unlock(&hot_lock);
  pthread_mutex_lock(made);
  rest();
  pthread_mutex_unlock(made);
  pthread_rwlock_wrlock(&table_lock);
  rest();
  pthread_rwlock_unlock(&table_lock);
}
NOINLINE void waiter_function(void) {
  pthread_mutex_lock(&hot_lock);
  pthread_mutex_unlock(&hot_lock);
  pthread_mutex_lock(made);
  pthread_mutex_unlock(made);
  pthread_rwlock_rdlock(&table_lock);
  pthread_rwlock_unlock(&table_lock);
}
NOINLINE pthread_mutex_t* make_lock(void) {
  pthread_mutex_t* lock = malloc(sizeof *lock);
  pthread_mutex_init(lock, 0);
  return lock;
}
static void* holder(void* x) {
  pthread_mutex_lock(&ready_lock);
  is_waiting = 1;
  while (!is_ready) pthread_cond_wait(&ready, &ready_lock);
  pthread_mutex_unlock(&ready_lock);
  for (int i = 0; i < 40; i++) holder_function();
  return x;
}
static void* waiter(void* x) {
  for (int i = 0; i < 160; i++) {
    waiter_function();
    nanosleep(&(struct timespec){0, 700000}, 0);
  }
  return x;
}
int main(void) {
  pthread_t a, b;
  made = make_lock();
  pthread_create(&a, 0, holder, 0);
  pthread_create(&b, 0, waiter, 0);
  rest();
  pthread_mutex_lock(&ready_lock);
  while (!is_waiting) {
    pthread_mutex_unlock(&ready_lock);
    rest();
    pthread_mutex_lock(&ready_lock);
  }
  is_ready = 1;
  pthread_cond_signal(&ready);
  pthread_mutex_unlock(&ready_lock);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 6;
}
"""

STUCK = """
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
static void* work(void* x) {
  for (int i = 0;; i++) {
    pthread_mutex_lock(&hot_lock);
    nanosleep(&(struct timespec){0, 1000000}, 0);
    pthread_mutex_unlock(&hot_lock);
    if (i == 20 && x) puts("ready"), fflush(stdout);
  }
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, work, 0);
  work("says when it is ready");
}
"""

OTHER_WAITS = """
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t in_child_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;
static int own_word;
static void rest(void) { nanosleep(&(struct timespec){0, 2000000}, 0); }
static void* come_late(void* x) {
  rest();
  pthread_barrier_wait(&meeting);
  return x;
}
static void* lock_once(void* x) {
  pthread_mutex_lock(&in_child_lock);
  pthread_mutex_unlock(&in_child_lock);
  return x;
}
static void child(void) {
  pthread_t waiter;
  pthread_mutex_lock(&in_child_lock);
  pthread_create(&waiter, 0, lock_once, 0);
  while (*(volatile int*)&in_child_lock.__data.__lock != 2) rest();  // until the other one waits
  pthread_mutex_unlock(&in_child_lock);
  pthread_join(waiter, 0);
}
int main(void) {
  pthread_t late;
  struct timespec moment = {0, 1000000};
  pthread_barrier_init(&meeting, 0, 2);
  pthread_create(&late, 0, come_late, 0);
  pthread_barrier_wait(&meeting);
  pthread_join(late, 0);
  syscall(SYS_futex, &own_word, FUTEX_WAIT_PRIVATE, 0, &moment);
  pid_t forked = fork();
  if (forked == 0) return child(), 0;
  return waitpid(forked, 0, 0) == forked ? 5 : 1;
}
"""

MANY_LOCKS = """
#include <pthread.h>
static pthread_mutex_t many[5000];
int main(void) {
  for (int i = 0; i < 5000; i++) pthread_mutex_lock(&many[i]);
  return 0;
}
"""


@pytest.fixture(scope="module", autouse=True)
def real_parts():
    """These tests are about the real library: without it they fail."""
    assert paths.find(paths.PRELOAD), "the preload library is not built: run `make`"
    assert paths.find(paths.LOCKS), "the table of locks is not built: run `make`"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("recorded")


@pytest.fixture(scope="module")
def recorded(folder):
    """The record of BLOCKED, as --json gives it."""
    compile_c(BLOCKED, folder / "blocked", "-g", "-O1", "-fno-omit-frame-pointer", "-pthread")
    done = run_cli("record", "./blocked", cwd=folder)
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.startswith("syncopate: recorded in syncopate.rec;")
    return report(folder / "syncopate.rec")


def report(*files) -> dict:
    done = run_cli("report", "--json", *files)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"][0]


def functions(stacks: list[dict]) -> str:
    """The functions of the heaviest stack, outermost last."""
    return " < ".join(frame["function"] for frame in stacks[0]["frames"])


def lock_named(record: dict, name: str, kind: str = "mutex") -> dict:
    found = [lock for lock in record["locks"] if lock["name"] == name and lock["object"] == kind]
    assert len(found) == 1, [(lock["name"], lock["object"]) for lock in record["locks"]]
    return found[0]


def test_static_mutex_its_waiter_and_its_holder(recorded):
    lock = lock_named(recorded, "hot_lock")
    assert lock["acquisitions"] == 200
    assert 0 < lock["contended"] < 200
    assert lock["lost_ns"] > 0
    assert "waiter_function" in functions(lock["waiters"])
    assert "holder_function" in functions(lock["holders"])
    assert recorded["lost_share"] > 0
    assert recorded["process"]["finished"] is True


def test_mutex_is_named_by_its_creator(recorded):
    (lock,) = [lock for lock in recorded["locks"] if lock["name"].startswith("make_lock at")]
    assert lock["named_by"] == "creation"
    assert re.fullmatch(r"<stdin>:\d+", lock["place"])
    assert "waiter_function" in functions(lock["waiters"])


def test_rwlock_and_condition_are_told_apart(recorded):
    table = lock_named(recorded, "table_lock", "rwlock")
    assert set(table["waits"]) <= {"read", "write"}
    assert table["waits"]["read"]["count"] > 0
    condition = lock_named(recorded, "ready", "condition")
    assert set(condition["waits"]) == {"condition"}
    assert condition["lost_ns"] == 0


def test_who_blocks_whom(recorded):
    known = [block for block in recorded["blocks"] if block["holder"] != "unknown"]
    assert known and all(block["waiter"] != block["holder"] for block in known)
    assert {"hot_lock", "table_lock"} <= {block["lock"] for block in recorded["blocks"]}


@pytest.mark.parametrize("form", ["--folded", "--html", "--perfetto", "--firefox", "text"])
def test_other_forms_name_the_same(recorded, folder, form):
    target = [] if form in ("--folded", "text") else ["output"]
    arguments = [] if form == "text" else [form, *target]
    done = run_cli("report", *arguments, "syncopate.rec", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = (folder / target[0]).read_text() if target else done.stdout
    assert "hot_lock" in text
    assert "waiter_function" in text


def test_killed_program_leaves_a_readable_record(tmp_path):
    compile_c(STUCK, tmp_path / "stuck", "-g", "-pthread")
    process = subprocess.Popen(
        [*COMMAND, "record", "-q", "./stuck"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    alive = report(tmp_path / "syncopate.rec")
    assert alive["notes"][0] == "the program still runs; counts may lag by up to 255 per lock"
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        os.kill(int(file.read()), signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL
    process.stdout.close()
    record = report(tmp_path / "syncopate.rec")
    assert record["notes"][0].startswith("the program was killed, or ended unseen, as by exec; ")
    assert lock_named(record, "hot_lock")["lost_ns"] > 0


def test_children_have_files_of_their_own(folder, tmp_path, recorded):
    script = f"{folder}/blocked; {folder}/blocked; exit 3"
    done = run_cli("record", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == 3
    assert "(and 2 of child processes in syncopate.rec.*)" in done.stderr
    children = sorted(tmp_path.glob("syncopate.rec.*"))
    assert len(children) == 2
    for child in children:
        assert lock_named(report(child), "hot_lock")["contended"] > 0


def test_a_process_that_becomes_another_program_is_no_child(tmp_path):
    become = (
        "#include <unistd.h>\nint main(int n, char** a) { return n > 1 || execl(*a, *a, *a, 0); }"
    )
    compile_c(become, tmp_path / "become", "-w")
    done = run_cli("record", "./become", cwd=tmp_path)
    assert done.returncode == 1
    assert "(and 1 of what it became by exec in syncopate.rec.*)" in one_line(done)
    (later,) = tmp_path.glob("syncopate.rec.*")
    said = f"the program became another one by exec, whose record is {tmp_path}/{later.name}"
    assert report(tmp_path / "syncopate.rec")["notes"][0] == said
    assert "by exec" not in " ".join(report(later)["notes"])


def test_barriers_futexes_and_forked_children(tmp_path):
    compile_c(OTHER_WAITS, tmp_path / "others", "-g", "-D_GNU_SOURCE", "-pthread")
    done = run_cli("record", "./others", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (5, "")
    assert "(and 1 of child processes in syncopate.rec.*)" in done.stderr
    parent = report(tmp_path / "syncopate.rec")
    barrier = lock_named(parent, "meeting", "barrier")
    assert barrier["waits"]["barrier"]["count"] == 2
    futex = lock_named(parent, "own_word", "futex")
    assert futex["waits"]["futex"]["count"] == 1
    assert barrier["lost_ns"] == futex["lost_ns"] == 0
    (path,) = tmp_path.glob("syncopate.rec.*")
    child = report(path)
    assert child["process"]["parent_id"] == parent["process"]["id"]
    assert path.name == f"syncopate.rec.{child['process']['id']}"
    assert lock_named(child, "in_child_lock")["contended"] == 1
    assert "meeting" not in [lock["name"] for lock in child["locks"]]


@pytest.mark.parametrize(
    ("missing", "status", "said"),
    [
        (
            0,
            0,
            "recorded in syncopate.rec, until the record had reached the limit on a file's size"
            " (ulimit -f); to read it:",
        ),
        (1, 1, "cannot write the record syncopate.rec: File too large; raise `ulimit -f`"),
    ],
)
def test_a_record_without_room_is_one_line(tmp_path, missing, status, said):
    """A limit on the file's size: of a disk, only the reason would be another one."""
    compile_c(MANY_LOCKS, tmp_path / "many", "-pthread")
    room = recordformat.FIRST_BYTES - missing
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (room, room))
    done = run_cli("record", "./many", cwd=tmp_path, preexec_fn=limit)
    assert done.returncode == status
    assert said in one_line(done)
    record = tmp_path / "syncopate.rec"
    assert record.exists() == (missing == 0)
    if missing == 0:
        assert "the limit on a file's size (ulimit -f)" in report(record)["notes"][0]


def test_run_with_every_lock(folder, recorded):
    locks = json.loads(run_cli("list", "--json").stdout)
    usable = {lock["name"]: lock for lock in locks if lock["preload"]}
    assert {"auto", "futex", "ticket", "glibc"} <= usable.keys()
    for name, lock in usable.items():
        done = run_cli("run", "--lock", name, "./blocked", cwd=folder)
        assert (done.returncode, done.stdout) == (6, ""), name
        plainly = f"syncopate: {name}: no transaction begins on this machine; "
        assert done.stderr == "" or (lock["transacts"] and done.stderr.startswith(plainly)), name
        assert done.stderr.count("\n") <= 1, name


def test_doctor_finds_nothing_in_the_way():
    done = run_cli("doctor")
    assert done.returncode == 0, done.stdout
    assert "programs can be run and recorded" in re.sub(r"\s+", " ", done.stdout)
