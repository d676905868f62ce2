"""Programs in other languages of which it is known who waits how long, where, and for whom; seen by
the library and by the kernel. Java's: test_java.py."""

import json
import re
import shutil
import subprocess

import pytest
from conftest import compile_c, run_cli
from kernel_support import functions
from language_support import KERNEL, KNOWN, LIBRARY, PYTHON, adds_up, both, recorded
from make_record import RecordBuilder

from syncopate.records import account, languages, naming, parked, recordformat
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import FUTEX, Event, Lock, WaitKind
from syncopate.symbols.symbols import Frame


@pytest.fixture(scope="module")
def rust(tmp_path_factory):
    """The Rust program, its names mangled in both ways where this rustc can."""
    compiler = shutil.which("rustc")
    assert compiler, "install rustc (scripts/setup.sh long)"
    folder = tmp_path_factory.mktemp("rust")
    for way in ("default", "v0"):
        more = [] if way == "default" else ["-C", "symbol-mangling-version=v0"]
        subprocess.run(
            [compiler, "-g", "-O", *more, KNOWN / "known.rs", "-o", folder / way],
            check=True,
            capture_output=True,
        )
    return folder


@both
@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "way"), [("mutex", "default"), ("mutex", "v0"), ("read", "v0"), ("write", "default")]
)
def test_rust(rust, tmp_path, kind, way, how):
    found, said = recorded([rust / way, kind], tmp_path / "r", how)
    waited, waiter, holder = map(int, said.split())
    first = found["locks"][0]
    assert list(first["waits"]) == [kind]
    assert first["waits"][kind]["total_ns"] == pytest.approx(waited, rel=0.05)
    assert first["name"].startswith("known::wait_here at known.rs:")
    assert found["lost_ns"] == pytest.approx(waited, rel=0.05)
    assert "known::wait_here" in functions(first["waiters"])
    assert adds_up(found)
    if how == KERNEL:
        block = max(found["blocks"], key=lambda each: each["ns"])
        assert block["waiter"].endswith(f"/{waiter}") and block["holder"].endswith(f"/{holder}")
        assert any(re.search(r"hold_here|main::\{+closure", f) for f in functions(first["holders"]))


@both
@pytest.mark.long
def test_threads_that_are_parked(tmp_path, how):
    """Each waits at a futex of its own, for whatever lock: what it waits for is told by where."""
    for source, more in (
        ("parking_lot", ["--crate-type=rlib"]),
        ("parked", ["-L", tmp_path, "--extern=parking_lot"]),
    ):
        subprocess.run(
            ["rustc", "-g", "-O", "--edition=2021", *more, "--out-dir", tmp_path,
             KNOWN / f"{source}.rs"],
            check=True, capture_output=True,
        )  # fmt: skip
    found, said = recorded([tmp_path / "parked"], tmp_path / "r", how)
    first, second, waiter, holder = map(int, said.split())
    for lock, waited, kind, where in zip(
        found["locks"], (first, second), ("mutex", "read"), ("mutex", "rwlock"), strict=False
    ):
        assert lock["name"].startswith(f"parked::wait_for_{where} at parked.rs:")
        assert list(lock["waits"]) == [kind]
        assert lock["waits"][kind]["total_ns"] == pytest.approx(waited, rel=0.05)
        assert lock["addresses"] == []
        assert (lock["counted"], lock["threads_waited"]) == (False, 1)
        assert lock["holders"][0]["frames"]
        block = max(found["blocks"], key=lambda each: (each["lock"] == lock["name"], each["ns"]))
        assert block["waiter"].endswith(f"/{waiter}") and block["holder"].endswith(f"/{holder}")
    assert found["lost_ns"] == pytest.approx(first + second, rel=0.05)
    as_top_sees_it = Analysis(Record(str(tmp_path / "r")), with_events=False)
    assert sum(as_top_sees_it.lock_lost.values()) > 0
    assert all(
        "each at a futex or semaphore of its own" in each["why"][0] for each in found["findings"]
    )
    assert adds_up(found)


def test_light_weight_locks_of_postgresql_are_told_by_who_takes_them():
    """A backend waits at its own semaphore, for locks and for signals."""
    ways = {
        1: ["PGSemaphoreLock+0x21", "LWLockAcquireOrWait+0xdc", "XLogFlush+0xdc", "main"],
        2: ["PGSemaphoreLock+0x21", "TransactionGroupUpdate+0x9", "main"],
        3: ["do_futex_wait", "sem_wait", "consume", "main"],
    }

    def frames(stack: int) -> list[Frame]:
        return [Frame(name, "", 0, "/usr/bin/postgres", False) for name in ways[stack]]

    def wait(lock: int, stack: int, ticks: int) -> Event:
        return Event(0, 1_000, 1_000 + ticks, lock, stack, 0, 1, recordformat.WAIT,
                     WaitKind.SEMAPHORE)  # fmt: skip

    waits = {1: [wait(1, 1, 300), wait(1, 1, 300), wait(1, 2, 200)], 2: [wait(2, 3, 500)]}
    locks = [
        Lock(known, 0x5000 * known, recordformat.SEMAPHORE, 0, 0, 0, known, 0, 0, 0, 0, 0, ())
        for known in waits
    ]
    parked_at, new = parked.of(locks, waits.__getitem__, lambda lock: [], frames)
    assert [*parked_at] == [1]
    first, second = parked_at[1].parts
    assert (first.waits, first.ticks) == pytest.approx((2 / 3, 3 / 4))
    assert first.told.kinds[WaitKind.SEMAPHORE] == WaitKind.SEMAPHORE_LOCK
    assert second.told.kinds[WaitKind.SEMAPHORE] == WaitKind.SEMAPHORE
    told = {naming.telling(frames(lock.first_stack)).function for lock in new}
    assert told == {"XLogFlush+0xdc", "TransactionGroupUpdate+0x9"}


def test_an_rwlock_of_rusts_is_one_lock():
    """Readers wait at its first word, writers at its second."""
    base = 0x5000

    def lock(known: int, at: int) -> Lock:
        return Lock(known, at, FUTEX, 0, 0, 0, known, 0, 0, 0, 0, 0, ())

    def frames(stack: int) -> list[Frame]:
        side = "read" if stack == 1 else "write"
        name = f"std::sys::sync::rwlock::futex::RwLock::{side}_contended"
        return [Frame(name, "futex.rs", 1, "/p", False)]

    locks = [lock(1, base), lock(2, base + 4), lock(3, base + 12)]
    found = languages._of_rust(locks, lambda known: [known], frames)
    assert [found[known].id for known in (1, 2, 3)] == [1, 1, 3]
    assert found[2].kinds[WaitKind.FUTEX] == WaitKind.WRITE


def test_a_futex_within_a_condition_variable_is_that(tmp_path):
    """Of waits that have no stack the kernel's view has the address alone."""
    builder = RecordBuilder()
    builder.recorder = 1
    condition = builder.lock(0x7000, recordformat.CONDITION)
    thread = builder.thread(11)
    for at in (40, 44, 48):
        word = builder.lock(0x7000 + at, FUTEX)
        builder.row(thread, word, WaitKind.FUTEX, [1_000])
    builder.row(thread, condition, WaitKind.CONDITION, [5_000])
    record = builder.write(tmp_path / "rec")
    locks = json.loads(run_cli("report", "--json", record).stdout)["records"][0]["locks"]
    waits = [{kind: of["total_ns"] for kind, of in lock["waits"].items()} for lock in locks]
    assert waits == [{"condition": 7_000}, {"futex": 1_000}]


@pytest.mark.parametrize("loads", [True, False])
def test_tasks_of_asyncio_are_said_not_to_be_seen(tmp_path, loads):
    program = f"import {'asyncio' if loads else 'json'}, threading\n" + (
        "t = threading.Thread(target=threading.Event().wait, args=(0.2,)); t.start(); t.join()"
    )
    found, _ = recorded([PYTHON, "-c", program], tmp_path / "r", LIBRARY)
    assert found["process"]["tasks"] == "tasks of asyncio" * loads
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert ("without what tasks of asyncio, where it runs some, wait" in text) == loads
    assert ("asyncio.all_tasks()" in text) == loads


@both
def test_pythons_lock(tmp_path, how):
    """The kernel does not see who has taken a semaphore: there it is no lost time, but named."""
    found, said = recorded([PYTHON, KNOWN / "known.py"], tmp_path / "r", how)
    waited, waiter, _ = map(int, said.split())
    kind = "semaphore" if how == KERNEL else "semaphore_lock"
    [lock] = [x for x in found["locks"] if x["waits"].get(kind, {}).get("total_ns", 0) > waited / 2]
    assert lock["waits"][kind]["total_ns"] == pytest.approx(waited, rel=0.05)
    made = "Lock of <module> at known.py:11"
    assert lock["name"].startswith("threading.Lock 0x") if how == KERNEL else lock["name"] == made
    assert [each["thread"].rpartition("/")[2] for each in lock["by_thread"]] == [str(waiter)]
    assert adds_up(found)
    if how == KERNEL:
        text = run_cli("report", tmp_path / "r").stdout
        assert "Semaphores that other threads post (signals, or locks: not told apart)" in text
    if how == LIBRARY:
        assert lock is found["locks"][0]
        holder = said.split()[2]
        block = max(found["blocks"], key=lambda each: each["ns"])
        assert block["holder"].endswith(f"/{holder}")


LIKE_GO = """
#include <pthread.h>
#include <unistd.h>
static const char information[32] __attribute__((used)) = "\\xff Go buildinf:";
static void* nothing(void* x) { return x; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, nothing, 0);
  pthread_join(thread, 0);
  usleep(50000);
}
"""


OF_TOKIO = "must be called from the context of a Tokio 1.x runtime"
OF_HASKELL = "RTS options may also be specified using the GHCRTS environment variable."


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("said", "name", "tasks", "seen_by"),
    [
        (OF_TOKIO, "server", "tasks of tokio", "tokio-console"),
        (OF_HASKELL, "server", "threads of Haskell", "ThreadScope"),
        ("nothing", "beam.smp", "processes of Erlang", "observer"),
        ("nothing", "server", "", ""),
    ],
)
def test_tasks_of_run_times_are_said_not_to_be_seen(tmp_path, said, name, tasks, seen_by):
    """Of a program that has what tokio or Haskell's run-time says, or is Erlang's machine."""
    source = LIKE_GO.replace("\\xff Go buildinf:", said).replace("[32]", "[]")
    program = compile_c(source, tmp_path / name, "-O1", "-pthread")
    found, _ = recorded([program], tmp_path / "r", LIBRARY)
    assert found["process"]["tasks"] == tasks
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert (f"without what {tasks} wait for each other" in text) == bool(tasks)
    assert seen_by in text and ("wait for each other" in text) == bool(tasks)
    assert not (tasks and account.is_explained(found))


@pytest.mark.parametrize("is_go", [True, False])
def test_of_a_go_program_that_the_library_records_it_is_said_what_is_not_seen(tmp_path, is_go):
    """One that uses C is linked dynamically, and records nothing but what that does."""
    source = LIKE_GO if is_go else LIKE_GO.replace("Go buildinf:", "")
    program = compile_c(source, tmp_path / "server", "-O1", "-pthread")
    found, _ = recorded([program], tmp_path / "r", LIBRARY)
    assert found["process"]["goroutines"] == is_go
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert ("/debug/pprof/mutex" in text) == is_go
    assert ("Goroutines may have waited for each other" in text) == is_go
    assert ("record --kernel` sees" in text) is False or not is_go


TRIES = 3
SEMAPHORES = """
import threading, time
semaphore = threading.Semaphore(1)
def use():
    for _ in range(15):
        with semaphore:
            time.sleep(0.01)
threads = [threading.Thread(target=use) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.mark.parametrize("is_semaphore", [True, False])
def test_pythons_semaphore_is_not_said_to_be_no_lock(tmp_path, is_semaphore):
    """It is made of a Condition, whose waits are told as signals, which they mostly are."""
    command = [PYTHON, "-c", SEMAPHORES] if is_semaphore else [PYTHON, KNOWN / "known.py"]
    for attempt in range(TRIES):  # a thread that begins late is waited for as by a Condition
        found, _ = recorded(command, tmp_path / "r", LIBRARY)
        if any("Semaphore" in note for note in found["notes"]) == is_semaphore:
            break
        assert attempt < TRIES - 1, found["notes"]
    text = run_cli("report", tmp_path / "r").stdout
    assert "not lost to locks)" not in text.partition("Semaphores that other")[2].partition("\n")[0]
    if is_semaphore:
        assert not account.is_explained(found)


SHARED = """
import multiprocessing, threading, time
queue, lock = multiprocessing.Queue(), multiprocessing.Lock()
def read():
    while queue.get() is not None:
        time.sleep(0.001)
def use():
    for _ in range(15):
        with lock:
            time.sleep(0.01)
def run(what, count):
    threads = [threading.Thread(target=what) for _ in range(count)]
    [thread.start() for thread in threads]
    return threads
"""
READS = """
threads = run(read, 3)
for number in range(100):
    queue.put(number)
    time.sleep(0.003)
[queue.put(None) for _ in threads]
[thread.join() for thread in threads]
"""
USES = "[thread.join() for thread in run(use, 3)]"


@pytest.mark.parametrize(
    ("does", "place"), [(READS, r"Queue.get at queues.py:\d+"), (USES, "use at <string>:9")]
)
def test_locks_of_pythons_multiprocessing(tmp_path, does, place):
    """They have their class's name, whatever functions of the interpreter led to them. How long one
    is held no recording sees, however long; and readers of its queues may have nothing to do."""
    found, _ = recorded([PYTHON, "-c", SHARED + does], tmp_path / "r", LIBRARY)
    lock = found["locks"][0]
    assert re.fullmatch(f"SemLock of {place}", lock["name"])
    assert lock["waits"].keys() == {"semaphore_lock"}
    told = found["findings"][0]
    assert told["seen"] == "waits are counted; how long it was held was not seen"
    assert any("while it is empty: then nothing is lost" in note for note in found["notes"])


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("does", "kind"), [(READS, "condition"), (USES, "join")])
def test_what_stands_for_a_signal_has_no_holders(tmp_path, does, kind):
    """Between the wait for a semaphore, or a thread's end, and what others post nobody holds it."""
    found, _ = recorded([PYTHON, "-c", SHARED + does], tmp_path / "r", LIBRARY)
    signals = [lock for lock in found["locks"] if kind in lock["waits"]]
    assert signals
    assert all(lock["hold"] is None for lock in signals)
    text = run_cli("report", tmp_path / "r").stdout
    table = text.partition("Holders that did not run on")[2].partition("\n\n")[0]
    assert not any(lock["name"] in table for lock in signals)


POOL = """
import time
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    for n in range(8):
        list(pool.map(time.sleep, [0.001] * 8))
        time.sleep(0.05)
"""


@both
def test_idle_threads_of_a_python_pool_wait_for_no_lock(tmp_path, how):
    """They wake each other at a queue's semaphore, as those who release a lock do."""
    found, _ = recorded([PYTHON, "-c", POOL], tmp_path / "r", how)
    of = "queue.SimpleQueue 0x" if how == KERNEL else "SimpleQueue of ThreadPoolExecutor."
    queues = [lock for lock in found["locks"] if lock["name"].startswith(of)]
    assert queues
    for lock in queues:
        assert (lock["object"], [*lock["waits"]]) == ("condition", ["condition"])
        assert lock["lost_ns"] == 0
    most = max(lock["waits"]["condition"]["total_ns"] for lock in queues)
    assert most > 8 * 40_000_000  # of each of the threads at least one waits meanwhile
    assert adds_up(found)


OCAML = """
#include <pthread.h>
#include <stdint.h>
/* The shape of OCaml's own, before 5: systhreads/st_posix.h. */
static struct {
  pthread_mutex_t lock;
  int busy;
  volatile int waiters;
  pthread_cond_t is_free;
} caml_master_lock = {PTHREAD_MUTEX_INITIALIZER, 0, 0, PTHREAD_COND_INITIALIZER};
static volatile uint64_t sink;
static void enter(void) {
  pthread_mutex_lock(&caml_master_lock.lock);
  while (caml_master_lock.busy) {
    ++caml_master_lock.waiters;
    pthread_cond_wait(&caml_master_lock.is_free, &caml_master_lock.lock);
    --caml_master_lock.waiters;
  }
  caml_master_lock.busy = 1;
  pthread_mutex_unlock(&caml_master_lock.lock);
}
static void leave(void) {
  pthread_mutex_lock(&caml_master_lock.lock);
  caml_master_lock.busy = 0;
  pthread_mutex_unlock(&caml_master_lock.lock);
  pthread_cond_signal(&caml_master_lock.is_free);
}
static void* body(void* unused) {
  for (int i = 0; i < 100; ++i) {
    enter();
    for (int j = 0; j < 200000; ++j) sink += j;
    leave();
  }
  return unused;
}
int main(void) {
  pthread_t all[4];
  for (int i = 0; i < 4; ++i) pthread_create(&all[i], 0, body, 0);
  for (int i = 0; i < 4; ++i) pthread_join(all[i], 0);
  return 0;
}
"""


def advised_as_interpreters(found: dict, language: str) -> None:
    """What is said of the lock of an interpreter, and of the mutex within, which nobody can split
    or take less often."""
    name = next(name for name, of in languages._INTERPRETED.items() if of == language)
    told = {each["called"]: each for each in found["findings"]}
    assert found["findings"][0]["called"] == name
    for each in (told[name], told.get(f"within {name}", told[name])):
        assert each["do"] == ["let processes share that work, or C code that releases the lock"]
        assert any(f"one thread at a time runs {language} code" in why for why in each["why"])
    of_it = ("caml_master_lock", "_PyRuntime.ceval")
    assert not [lock["called"] for lock in found["locks"] if lock["called"].startswith(of_it)]


@pytest.mark.sampled(2)
@pytest.mark.crossed("level", "how")
@both
@pytest.mark.parametrize("level", ["-O2", "-O3"])
def test_ocamls_master_lock(tmp_path, how, level):
    program = compile_c(OCAML, tmp_path / "ocaml", level, "-g", "-pthread")
    found, _ = recorded([program], tmp_path / "r", how)
    first = found["locks"][0]
    assert (first["called"], first["object"]) == ("OCaml's master lock", "mutex")
    # Three of four threads wait at any time.
    waits = sum(lock["lost_ns"] for lock in found["locks"])
    assert first["lost_ns"] > 0.5 * waits and "condition" not in found["account"]["parts"]
    advised_as_interpreters(found, "OCaml")


@pytest.mark.parametrize(
    ("module", "language"),
    [
        ("/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.1/libcoreclr.so", ".NET"),
        ("/usr/lib/libmonosgen-2.0.so.1.0.0", "Mono"),
        ("/usr/lib/libcore.so", ""),
    ],
)
def test_run_times_that_programs_of_any_name_load(module, language):
    lines = [f"7f0000000000-7f0000001000 r-xp 00000000 08:01 77    {module}"]
    assert languages.at_conditions("/opt/server", lines) == language


@both
def test_pythons_gil(tmp_path, how):
    found, _ = recorded([PYTHON, KNOWN / "known.py", "gil"], tmp_path / "r", how)
    first = found["locks"][0]
    assert (first["called"], first["object"], first["members"]) == ("the GIL", "mutex", 1)
    # Of two threads that compute, one has it at any time; a third only waits for their end.
    assert 0 < first["lost_ns"] <= found["thread_time_ns"]
    advised_as_interpreters(found, "Python")
    assert found["account"]["parts"]["locks"] == pytest.approx(found["lost_ns"], abs=10)
    if how == KERNEL:
        # In so short a time it may see no release; else it is the interpreter's.
        seen = {name.partition("+0x")[0] for name in functions(first["holders"])}
        assert not seen or {"drop_gil", "_PyEval_EvalFrameDefault"} & seen


def test_a_lock_that_a_thread_releases_at_once_is_no_threads_end(tmp_path):
    """Such a thread's stack is nearly that of a thread which ends."""
    found, said = recorded([PYTHON, KNOWN / "known.py", "handed"], tmp_path / "r", LIBRARY)
    waited = int(said.split()[0])
    long = [lock for lock in found["locks"] if sum(w["total_ns"] for w in lock["waits"].values())
            > waited / 2]  # fmt: skip
    [lock] = [each for each in long if each["by_thread"][0]["thread"].endswith(said.split()[1])]
    assert lock["name"].startswith("Lock of "), lock["name"]
    assert "join" not in lock["waits"]


def test_waiting_for_a_python_thread_to_end_is_no_lock(tmp_path):
    """Until 3.12 it is a semaphore that the thread has taken itself. An interpreter that has no
    names for its own functions shows it by where its stack begins."""
    found, said = recorded([PYTHON, KNOWN / "known.py"], tmp_path / "r", LIBRARY)
    joined = [lock for lock in found["locks"] if "join" in lock["waits"]]
    assert [lock["called"] for lock in joined] == ["Python threads"]
    assert joined[0]["waits"]["join"]["total_ns"] >= 0.9 * int(said.split()[0])
    assert joined[0]["lost_ns"] == 0
