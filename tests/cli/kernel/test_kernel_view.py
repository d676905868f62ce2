"""The kernel's view: programs of which it is known who waits how long, where, and for whom."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from conftest import HERE, compile_c, run_cli
from kernel_support import functions, needs_kernel, programs_in, recorded
from make_record import RecordBuilder

from syncopate.base import paths
from syncopate.records import languages, naming
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import CONDITION, FUTEX, MUTEX, WAIT, WaitKind

KINDS = {"mutex": "mutex", "read": "read", "write": "write", "condition": "condition",
         "semaphore": "semaphore", "barrier": "barrier", "futex": "futex",
         "instruction": "futex", "signal": "mutex"}  # fmt: skip


RESTART = 219  # the system call restart_syscall


WAITS = 5  # of each of its kinds, by kernel_waits.c


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return programs_in(tmp_path_factory.mktemp("programs"))


@pytest.mark.sampled(4)
@needs_kernel
@pytest.mark.parametrize(
    ("kind", "way"),
    [*((kind, "O2") for kind in KINDS), ("mutex", "O0"), ("mutex", "static"),
     ("condition", "static"), ("futex", "static")],
)  # fmt: skip
def test_who_waits_how_long_and_for_whom(programs, tmp_path, kind, way):
    found, said = recorded([programs / way, kind], tmp_path / "r")
    least, most, waiter, holder = map(int, said.split())
    assert found["process"]["recorder"] == "kernel"
    [lock] = [lock for lock in found["locks"] if KINDS[kind] in lock["waits"]]
    account = found["account"]
    waits = lock["waits"][KINDS[kind]]
    told = [(each["object"], each["waits"]) for each in found["locks"]]
    assert waits["count"] == WAITS and least <= waits["total_ns"] <= most, told
    assert "wait_here" in functions(lock["waiters"])
    # The other recorder cannot act on a static program.
    advice = [do for each in found["findings"] if each["lock"] == lock["name"] for do in each["do"]]
    assert not (way == "static" and any("without --kernel" in do for do in advice)), advice
    assert {waiter, holder} <= {each["id"] for each in found["threads"]}
    assert sum(account["parts"].values()) == pytest.approx(account["total_ns"], rel=0.02)


@pytest.mark.long
@needs_kernel
@pytest.mark.parametrize("kind", ["barrier", "mutex"])
def test_each_wait_is_seen_while_other_recorders_come_and_go(programs, tmp_path, kind):
    """Some kernels do not tell of each switch to a thread, and of fewer the more is done beside."""
    times, recorder = 1500, paths.find(paths.KERNEL_RECORDER)
    storm = ["sh", "-c", 'while :; do "$0" check; done', recorder]
    with contextlib.ExitStack() as beside:
        for _ in range(2):
            started = beside.enter_context(subprocess.Popen(storm, start_new_session=True))
            beside.callback(os.killpg, started.pid, signal.SIGKILL)
        found, _ = recorded([programs / "O2", kind, times, 1], tmp_path / "r")
    told = [each["waits"][KINDS[kind]] for each in found["locks"] if KINDS[kind] in each["waits"]]
    assert [each["count"] for each in told] == [times], found["notes"]


@needs_kernel
def test_a_wait_that_a_stop_interrupts_goes_on(tmp_path):
    """The kernel goes on with it by another system call; so it does with sleep and poll."""
    program = tmp_path / "stopped"
    subprocess.run(["gcc", "-O1", "-g", "-pthread", HERE / "stopped.c", "-o", program], check=True)
    found, _ = recorded([program], tmp_path / "r")
    assert {"locks", "sleeping", "io", "stopped"} <= found["account"]["parts"].keys()
    assert RESTART not in {call for _, call, _, _ in Record(str(tmp_path / "r")).calls()}
    [lock] = [each for each in found["locks"] if "mutex" in each["waits"]]
    assert lock["in_vain"] == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["mutex", "rwlock"])
@pytest.mark.parametrize("how", [(), pytest.param(("--kernel",), marks=needs_kernel)], ids=str)
def test_who_waits_in_vain_takes_nothing(tmp_path, kind, how):
    """A thread tries again and again, each time until a limit, to get what another holds long."""
    program = tmp_path / "timed"
    subprocess.run(["gcc", "-pthread", "-O1", HERE / "timed_waits.c", "-o", program], check=True)
    done = run_cli("record", *how, "-q", "-o", tmp_path / "r", "--", program, kind)
    assert (done.returncode, done.stderr) == (0, "")
    (tried, slept), rounds = map(int, done.stdout.split()), 4
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    (lock,) = [lock for lock in found["locks"] if lock["object"] == kind and lock["lost_ns"]]
    # From the kernel: who finds it free behind the limit has it.
    assert abs(lock["in_vain"] - (slept if how else tried)) <= (rounds if how else 0)
    got = lock["contended"] - lock["in_vain"]
    assert got <= rounds * (2 if how else 1)  # the kernel's waits are sleeps
    assert lock["acquisitions"] == (got if how else 2 * rounds)


@pytest.mark.long
@needs_kernel
def test_a_timer_ends_a_wait_whomever_it_interrupts(tmp_path):
    """Beside programs that take long to end, it is often one of these."""
    program = tmp_path / "timed"
    subprocess.run(["gcc", "-pthread", "-O1", HERE / "timed_waits.c", "-o", program], check=True)
    ends = [sys.executable, "-S", "-c", "import os; x = bytearray(60_000_000); os._exit(0)"]
    storm = ["sh", "-c", 'while :; do "$@"; done', "sh", *ends]
    with contextlib.ExitStack() as beside:
        for _ in range(2):
            started = beside.enter_context(subprocess.Popen(storm, start_new_session=True))
            beside.callback(os.killpg, started.pid, signal.SIGKILL)
        found, said = recorded([program, "mutex", "alone", 700], tmp_path / "r")
    slept, rounds = int(said.split()[1]), 4
    [lock] = [lock for lock in found["locks"] if lock["in_vain"]]
    assert abs(lock["in_vain"] - slept) <= rounds  # who finds it free behind the limit has it


@needs_kernel
def test_a_page_that_is_read_in_a_futex_call_is_no_wait_for_the_futex(tmp_path):
    program = tmp_path / "faults"
    subprocess.run(["gcc", "-O1", HERE / "faults_in_futex.c", "-o", program], check=True)
    found, said = recorded([program, tmp_path / "file"], tmp_path / "r")
    if int(said) == 0:
        pytest.skip(f"{tmp_path}: a file system that keeps all in memory")
    assert "faults" in found["account"]["parts"]
    assert not found["locks"]


@pytest.mark.parametrize("kind", ["mutex", "rwlock"])
def test_who_waits_in_vain_for_what_processes_share_takes_nothing(tmp_path, kind):
    program = tmp_path / "timed"
    subprocess.run(["gcc", "-pthread", "-O1", HERE / "timed_waits.c", "-o", program], check=True)
    done = run_cli("record", "-q", "-o", tmp_path / "r", "--", program, kind, "shared")
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"]
    (lock,) = [lock for lock in found["locks"] if lock["object"] == kind and lock["lost_ns"]]
    assert lock["in_vain"] == int(done.stdout.split()[0])
    assert lock["contended"] - lock["in_vain"] <= 4


@needs_kernel
def test_who_signals_waits_for_no_mutex_of_the_program(programs, tmp_path):
    """glibc's condition variables have a lock within, for which no woken thread waits."""
    found, _ = recorded([programs / "O2", "signal"], tmp_path / "r")
    (finding,) = found["findings"]
    assert finding["causes"] == ["signalers"]
    assert not any("held" in why for why in finding["why"])


def test_what_lies_in_a_condition_variable_is_one_lock_within_it(tmp_path):
    """Also as records have it that call all of it waits for the mutex."""
    builder = RecordBuilder()
    builder.recorder = 1
    waiter, signaler = builder.thread(1), builder.thread(2)
    builder.row(waiter, builder.lock(0x7000, CONDITION), WaitKind.CONDITION, [500_000])
    for at, kind in ((16, WaitKind.RELOCK), (20, WaitKind.MUTEX), (32, WaitKind.FUTEX)):
        object_kind = FUTEX if kind == WaitKind.FUTEX else MUTEX
        builder.row(signaler, builder.lock(0x7000 + at, object_kind), kind, [10_000])
    builder.row(waiter, builder.lock(0x7030), WaitKind.RELOCK, [10_000])  # the mutex behind it
    done = run_cli("report", "--json", builder.write(tmp_path / "r"))
    found = {lock["name"]: lock for lock in json.loads(done.stdout)["records"][0]["locks"]}
    assert found.keys() == {"0x7000", "within 0x7000", "0x7030"}
    within = found["within 0x7000"]["waits"]
    assert list(within) == ["mutex"] and within["mutex"]["count"] == 3
    assert list(found["0x7030"]["waits"]) == ["mutex_relock"]


def test_the_kernels_view_sees_no_waiter_at_work(tmp_path):
    """Each wait is a sleep, also those of which nothing more is known."""
    builder = RecordBuilder()
    builder.recorder = 1
    thread, lock = builder.thread(1), builder.lock(0x7000)
    builder.row(thread, lock, WaitKind.MUTEX, [10_000] * 3)
    builder.wait(thread, lock, 0, 10_000, weight=3, used=(1, 1, 0))
    builder.row(thread, builder.lock(0x9000, CONDITION), WaitKind.CONDITION, [40_000])
    path = builder.write(tmp_path / "r")
    states = json.loads(run_cli("report", "--json", path).stdout)["records"][0]["waiting"]["states"]
    assert {name: each["ns"] for name, each in states.items() if each["ns"]} == {"parked": 70_000}
    said = run_cli("report", path).stdout
    assert "Waiting: about 70.0 us parked; 3 wake-ups" in said and "processor," not in said


JOINS = """
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static sem_t there, back;
static void* ping(void* x) { for (;;) { sem_post(&there); sem_wait(&back); } return x; }
static void* pong(void* x) { for (;;) { sem_wait(&there); sem_post(&back); } return x; }
static volatile long joined = -1;
static int main_sleeps(void) {
  char text[256] = "";
  FILE* stat = fopen("/proc/self/stat", "r");
  if (!fgets(text, sizeof text, stat)) return 0;
  fclose(stat);
  return strrchr(text, ')')[2] == 'S';
}
static void* work(void* x) {  // until it is waited for
  while (joined != (long)x || !main_sleeps()) usleep(1000);
  return 0;
}
int main(void) {
  pthread_t p, t[64];
  pthread_create(&p, 0, ping, 0);
  pthread_create(&p, 0, pong, 0);
  for (long i = 0; i < 64; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < 64; i++) {
    joined = i;
    pthread_join(t[i], 0);
  }
}
"""


@needs_kernel
def test_joins_are_known_without_stacks_and_names(tmp_path):
    """Most stacks go to the waits of two threads that wake each other all the while."""
    program = compile_c(JOINS, tmp_path / "joins", "-O2", "-static", "-s", "-pthread")
    found, _ = recorded([program], tmp_path / "r")
    joined = [lock["members"] for lock in found["locks"] if lock["object"] == "thread"]
    assert sum(joined) >= 50
    objects = [lock["object"] for lock in found["locks"]]
    assert objects.count("futex") <= 2 + 2  # the semaphores, and what ended while it was asked


@pytest.mark.sampled(3)
@needs_kernel
@pytest.mark.parametrize("kind", ["mutex", "read", "write"])
def test_who_lets_go_and_where(programs, tmp_path, kind):
    found, said = recorded([programs / "O2", kind], tmp_path / "r")
    *_, waiter, holder = said.split()
    lock = next(lock for lock in found["locks"] if kind in lock["waits"])
    assert "hold_here" in functions(lock["holders"])
    block = max(found["blocks"], key=lambda each: each["ns"])
    assert block["waiter"].endswith(f"/{waiter}") and block["holder"].endswith(f"/{holder}")


WOKEN_SOON = """
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { rounds = 2000 };
static int word, turn;
static long call(int operation, int value) {
  return syscall(SYS_futex, &word, operation, value, 0, 0, 0);
}
static void* wake(void* x) {
  for (int i = 1; i <= rounds; i++) {
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i) {}
    while (call(FUTEX_WAKE_PRIVATE, 1) == 0) {}
  }
  return x;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, wake, 0);
  for (int i = 1; i <= rounds; i++) {
    __atomic_store_n(&turn, i, __ATOMIC_RELEASE);
    call(FUTEX_WAIT_PRIVATE, 0);
  }
  pthread_join(t, 0);
}
"""


@needs_kernel
def test_who_wakes_a_thread_that_is_on_its_way_to_sleep_is_known(tmp_path):
    """Each waiter is woken as soon as it is in line, mostly before it has left its processor."""
    program = compile_c(WOKEN_SOON, tmp_path / "soon", "-O2", "-pthread")
    recorded([program], tmp_path / "r")
    holders = [e.holder for e in Record(tmp_path / "r").events() if e.kind == WAIT and e.stack]
    assert len(holders) >= 50
    assert holders.count(0) <= len(holders) / 100, f"of {len(holders)}, {holders.count(0)} unknown"


@pytest.mark.sampled(3)
@needs_kernel
@pytest.mark.parametrize(
    ("plan", "kind"),
    [("futex_lock", "futex_lock"), ("futex_lock_all", "futex_lock"), ("futex_barrier", "futex")],
)
def test_whether_a_futex_is_a_lock_is_told_by_who_wakes_at_it(tmp_path, plan, kind):
    program = tmp_path / "every_wait"
    source = HERE / "every_wait.c"
    subprocess.run(["gcc", "-g", "-O1", "-pthread", source, "-o", program], check=True)
    done = run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", program, plan)
    assert done.returncode == 0
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    (waits,) = [lock["waits"] for lock in found["locks"] if lock["object"] == "futex"]
    assert list(waits) == [kind]
    assert (found["lost_ns"] > 0) == (kind == "futex_lock")


def test_what_lies_in_a_condition_variable_of_the_gil_is_called_by_the_gil():
    """The GIL's condition variables are no condition variables any more when it gets its name."""
    gil = SimpleNamespace(id=1, address=0x7000, object=MUTEX, type=languages.GIL)
    within = SimpleNamespace(id=2, address=0x7010, object=MUTEX, type=languages.OF_SIGNALERS)
    names = {1: naming.Name(languages.INTERPRETERS["_PyRuntime"], "symbol", "python3")}
    assert naming._of_signalers([gil, within], names)[2].text == "within the GIL"


ENDS_BY_A_JUMP = """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void lets_go(void) {
  usleep(3000);
  pthread_mutex_unlock(&mutex);  // a jump
}
static void* work(void* x) {
  for (int i = 0; i < 20; i++) {
    pthread_mutex_lock(&mutex);
    lets_go();
    __asm__ volatile("");
  }
  return x;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
"""


@needs_kernel
def test_a_function_that_ends_by_a_jump_is_named(tmp_path):
    program, source = tmp_path / "jumps", tmp_path / "jumps.c"
    source.write_text(ENDS_BY_A_JUMP)
    subprocess.run(["gcc", "-g", "-O2", "-pthread", source, "-o", program], check=True)
    done = run_cli("record", "--kernel", "-q", "-o", tmp_path / "r", "--", program)
    assert done.returncode == 0
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    (lock,) = [lock for lock in found["locks"] if lock["name"] == "mutex"]
    names = functions(lock["holders"])
    assert names.index("lets_go") < names.index("work")
    # That function lets go of it for the one that took it.
    assert any("held until work" in why for why in found["findings"][0]["why"])


BEGUN_BY_THE_LIBRARY = """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void once(void* x) {
  pthread_mutex_lock(&mutex);
  usleep(20000);
  pthread_mutex_unlock(&mutex);  // a jump
}
int main(void) {
  pthread_t threads[12];
  for (int i = 0; i < 12; i++) pthread_create(&threads[i], 0, (void* (*)(void*))once, 0);
  for (int i = 0; i < 12; i++) pthread_join(threads[i], 0);
}
"""


@pytest.mark.parametrize("how", [(), pytest.param(("--kernel",), marks=needs_kernel)], ids=str)
def test_run_time_libraries_are_not_where_a_lock_is_released(tmp_path, how):
    """Of a thread's function that ends by a jump nothing is on the stack but what began it."""
    program = compile_c(BEGUN_BY_THE_LIBRARY, tmp_path / "x", "-g", "-O2", "-pthread")
    assert run_cli("record", *how, "-q", "-o", tmp_path / "r", "--", program).returncode == 0
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    (finding,) = found["findings"]
    assert finding["lock"] == "mutex"
    assert not any("held until" in why for why in finding["why"]), finding["why"]


ALLOCATES = """
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
static void* work(void* x) {
  void* all[100];
  for (int round = 0; round < 3000; round++) {
    for (int i = 0; i < 100; i++) all[i] = malloc(2000 + 16 * i);
    for (int i = 0; i < 100; i++) free(all[i]);
  }
  return x;
}
int main(void) {
  mallopt(M_ARENA_MAX, 1);
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}
"""


@needs_kernel
def test_the_locks_of_malloc_are_called_so(tmp_path):
    program = compile_c(ALLOCATES, tmp_path / "allocates", "-O1", "-pthread")
    found, _ = recorded([program], tmp_path / "r")
    names = {lock["name"] for lock in found["locks"] if lock["lost_ns"]}
    assert names & {"main_arena", "malloc's arenas"}, found["locks"]


LIKE_GO = """
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int* key;
__attribute__((noinline)) void sleeps(void) __asm__("runtime.notesleep");
void sleeps(void) {
  while (!__atomic_load_n(key, __ATOMIC_ACQUIRE))
    syscall(SYS_futex, key, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
  __asm__ volatile("");
}
static void* work(void* x) { sleeps(); return x; }
int main(void) {
  pthread_t t;
  key = calloc(1, sizeof *key);
  pthread_create(&t, 0, work, 0);
  nanosleep(&(struct timespec){0, 200000000}, 0);
  __atomic_store_n(key, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, key, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
  pthread_join(t, 0);
}
"""


@needs_kernel
def test_of_a_go_program_it_is_said_what_is_not_seen(tmp_path):
    """The runtime puts threads aside; goroutines that wait for each other are not seen."""
    program = compile_c(LIKE_GO, tmp_path / "server", "-O1", "-pthread")
    found, _ = recorded([program], tmp_path / "r")
    assert found["process"]["goroutines"]
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert "thread time (0 ns of" in text
    assert "), without what goroutines wait for each other, which is not seen here" in text
    assert "/debug/pprof/mutex" in text
    assert "No thread waited for a lock." not in text
