"""Wrong uses of locks are reported, once, and the program goes on; right ones are not."""

import json
import subprocess
from collections.abc import Iterator

import pytest
from conftest import lines, syncopate

HEAD = r"""
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER,
                       c = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
#define IN(m) struct hold_##m { hold_##m() { pthread_mutex_lock(&m); } \
                                ~hold_##m() { pthread_mutex_unlock(&m); } } hold_of_##m
template <class F> void other(F body) { std::thread(body).join(); }
static pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER, s = PTHREAD_RWLOCK_INITIALIZER;
static long switches() { rusage used; getrusage(RUSAGE_THREAD, &used); return used.ru_nivcsw; }
static void stay_on_one_processor() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
}
"""
MAIN = r"""
int main(int, char** name) {
  for (const auto& [its_name, run] : programs)
    if (std::string_view(its_name) == name[1]) {
      const int result = run();
      std::puts("went on");
      return result;
    }
  return 9;
}
"""

# Programs, and a part of what has to be said of each.
WRONG = {
    "foreign_unlock": (
        "int run() { pthread_mutex_lock(&a); other([] { pthread_mutex_unlock(&a); });",
        "unlocks mutex 0x",
    ),
    "free_unlock": ("int run() { pthread_mutex_unlock(&a);", "which nobody holds"),
    "destroy_held": (
        "int run() { pthread_mutex_lock(&a);"
        " if (pthread_mutex_destroy(&a) != EBUSY) return 1; pthread_mutex_unlock(&a);",
        "is destroyed while thread",
    ),
    "rwlock_destroy": (
        "int run() { static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;"
        " pthread_rwlock_wrlock(&l); pthread_rwlock_destroy(&l);",
        "reader-writer lock 0x",
    ),
    "two_orders": (
        "int run() { other([] { IN(a); IN(b); }); other([] { IN(b); IN(a); });",
        "in a cycle of 2",
    ),
    "three_orders": (
        "int run() { other([] { IN(a); IN(b); }); other([] { IN(b); IN(c); });"
        " other([] { IN(c); IN(a); });",
        "in a cycle of 3",
    ),
    "gate_not_always": (
        "int run() { other([] { IN(c); IN(a); IN(b); }); other([] { IN(c); IN(b); IN(a); });"
        " other([] { IN(b); IN(a); }); other([] { IN(a); IN(b); });",
        "in a cycle of 2",
    ),
    "orders_of_one_thread_and_another": (
        "int run() { { IN(a); IN(b); } { IN(b); IN(a); } other([] { IN(a); IN(b); });",
        "in a cycle of 2",
    ),
    "two_orders_of_c11": (
        "static mtx_t m, n; int run() { mtx_init(&m, mtx_plain); mtx_init(&n, mtx_plain);"
        " other([] { mtx_lock(&m); mtx_lock(&n); mtx_unlock(&n); mtx_unlock(&m); });"
        " other([] { mtx_lock(&n); timespec t{}; mtx_timedlock(&m, &t); mtx_unlock(&m);"
        " mtx_unlock(&n); });",
        "in a cycle of 2",
    ),
    "two_orders_behind_a_wait": (
        "int run() { other([] { IN(a); timespec t{}; pthread_cond_timedwait(&ready, &a, &t);"
        " IN(b); }); other([] { IN(b); IN(a); });",
        "in a cycle of 2",
    ),
    "two_orders_behind_a_shared_wait": (
        "int run() { static pthread_cond_t of_all; pthread_condattr_t k; pthread_condattr_init(&k);"
        " pthread_condattr_setpshared(&k, PTHREAD_PROCESS_SHARED); pthread_cond_init(&of_all, &k);"
        " other([] { IN(a); timespec t{}; pthread_cond_timedwait(&of_all, &a, &t); IN(b); });"
        " other([] { IN(b); IN(a); });",
        "in a cycle of 2",
    ),
    "lost_signal": (
        r"""
static std::atomic<int> step;
int run() {
  std::thread signaler([] {
    while (step != 1) usleep(1000);
    pthread_cond_signal(&ready);  // without the mutex, before anybody waits
    step = 2;
    sleep(1);
    pthread_mutex_lock(&a);
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&a);
  });
  pthread_mutex_lock(&a);
  step = 1;
  while (step != 2) usleep(1000);
  pthread_cond_wait(&ready, &a);
  pthread_mutex_unlock(&a);
  signaler.join();
""",
        "perhaps for a signal that is lost",
    ),
    "preempted_holder": (
        r"""
int run() {
  stay_on_one_processor();  // with another process: we are preempted for certain
  const pid_t parent = getpid(), rival = fork();
  if (rival == 0) { while (getppid() == parent) { } _exit(0); }
  pthread_mutex_lock(&a);
  for (const long before = switches(); switches() < before + 3;) { }
  pthread_mutex_unlock(&a);
  kill(rival, SIGKILL);
""",
        "were preempted ",
    ),
}

RIGHT = {
    "orders_of_one_thread": "int run() { { IN(a); IN(b); } { IN(b); IN(a); }",
    "orders_under_a_gate": (
        "int run() { for (int i = 0; i < 2; i++) { other([] { IN(c); IN(a); IN(b); });"
        " other([] { IN(c); IN(b); IN(a); }); }"
    ),
    "recursion_around_another": (
        "int run() { static pthread_mutex_t n = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;"
        " for (int i = 0; i < 3; i++) other([] { IN(n); IN(a); { IN(n); IN(b); } });"
    ),
    "one_order": "int run() { for (int i = 0; i < 3; i++) other([] { IN(a); IN(b); IN(c); });",
    "trylock_order": (
        "int run() { other([] { IN(a); IN(b); });"
        " other([] { IN(b); if (pthread_mutex_trylock(&a) == 0) pthread_mutex_unlock(&a); });"
    ),
    "new_lock_same_place": (
        "int run() { other([] { IN(a); IN(b); }); pthread_mutex_destroy(&a);"
        " pthread_mutex_init(&a, nullptr); other([] { IN(b); IN(a); });"
    ),
    "destroy_free": (
        "int run() { pthread_mutex_t m; pthread_mutex_init(&m, nullptr); pthread_mutex_lock(&m);"
        " pthread_mutex_unlock(&m); pthread_mutex_destroy(&m);"
    ),
    "queue": r"""
int run() {  // an idle worker: signals that nobody waits for are no mistake
  std::mutex m; std::condition_variable cv; int items = 0; bool done = false;
  std::thread worker([&] {
    std::unique_lock<std::mutex> hold(m);
    while (!done || items) { if (items) { items--; continue; } cv.wait(hold); }
  });
  for (int i = 0; i < 50; i++) {
    { std::lock_guard<std::mutex> hold(m); items++; }
    cv.notify_one();
  }
  usleep(300000);
  { std::lock_guard<std::mutex> hold(m); done = true; cv.notify_one(); }
  worker.join();
""",
    "recursion": (
        "int run() { pthread_mutex_t r = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;"
        " for (int i = 0; i < 3; i++) pthread_mutex_lock(&r);"
        " for (int i = 0; i < 3; i++) pthread_mutex_unlock(&r);"
    ),
}

# Mistakes that the guard does not see (docs/tune.md).
UNSEEN = {
    "orders_of_writers": (
        "int run() { other([] { pthread_rwlock_wrlock(&r); pthread_rwlock_wrlock(&s);"
        " pthread_rwlock_unlock(&s); pthread_rwlock_unlock(&r); });"
        " other([] { pthread_rwlock_wrlock(&s); pthread_rwlock_wrlock(&r);"
        " pthread_rwlock_unlock(&r); pthread_rwlock_unlock(&s); });"
    ),
    "foreign_unlock_of_a_writer": (
        "int run() { pthread_rwlock_wrlock(&r); other([] { pthread_rwlock_unlock(&r); });"
    ),
    "orders_of_spin_locks": (
        "int run() { static pthread_spinlock_t p, q; pthread_spin_init(&p, 0);"
        " pthread_spin_init(&q, 0);"
        " other([] { pthread_spin_lock(&p); pthread_spin_lock(&q);"
        " pthread_spin_unlock(&q); pthread_spin_unlock(&p); });"
        " other([] { pthread_spin_lock(&q); pthread_spin_lock(&p);"
        " pthread_spin_unlock(&p); pthread_spin_unlock(&q); });"
    ),
}

# Who reads the guard's lines takes the processor, each time, from a thread that yields to all.
PREEMPTED_BY_READER = r"""
int run() {
  stay_on_one_processor();
  int lines[2];
  if (pipe(lines) != 0) return 1;
  const pid_t reader = fork();
  if (reader == 0) {
    close(lines[1]);
    char text[4096];
    for (ssize_t n; (n = read(lines[0], text, sizeof text)) > 0;)
      if (write(2, text, n) < 0) _exit(1);
    _exit(0);
  }
  const int standard_error = dup(2);
  dup2(lines[1], 2);
  close(lines[0]), close(lines[1]);
  const sched_param lowest{};
  sched_setscheduler(0, SCHED_IDLE, &lowest);
  long taken = 0;
  { IN(a); IN(b); }
  other([&] {
    const long before = switches();
    { IN(b); IN(a); }  // of whom the guard speaks, and who writes
    taken = switches() - before;
  });
  std::printf("%ld switches\n", taken);
  dup2(standard_error, 2);
  waitpid(reader, nullptr, 0);
"""
# A thread that lost its processor before it took a mutex, and is recorded.
PREEMPTED_BEFORE = r"""
int run() {
  stay_on_one_processor();
  for (int i = 0; i < 100; i++) { IN(a); }
  const pid_t parent = getpid(), rival = fork();
  if (rival == 0) { while (getppid() == parent) { } _exit(0); }
  for (const long before = switches(); switches() < before + 3;) { }
  kill(rival, SIGKILL);
  waitpid(rival, nullptr, 0);
  for (int i = 0; i < 100; i++) { IN(a); }
"""


def whole_source() -> str:
    """All programs as one, since compilers take long; its argument says which one it is."""
    bodies = {name: source for name, (source, _) in WRONG.items()} | RIGHT | UNSEEN
    bodies |= {"preempted_by_reader": PREEMPTED_BY_READER, "preempted_before": PREEMPTED_BEFORE}
    parts = [f"namespace {name} {{\n{body}\n return 0;\n}}\n}}" for name, body in bodies.items()]
    table = ", ".join(f'{{"{name}", {name}::run}}' for name in bodies)
    rows = f"const struct {{ const char* name; int (*run)(); }} programs[] = {{{table}}};"
    return "\n".join([HEAD, *parts, rows, MAIN])


@pytest.fixture
def subject(build):
    return build("misuse", whole_source())


PATIENCE = {"SYNCOPATE_GUARD_PATIENCE": "100"}  # ms; the waits above last a second


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lock", ["auto", "mcs:park"])
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_reported_and_the_program_goes_on(subject, name, lock):
    _, said = WRONG[name]
    done = syncopate("run", "--lock", lock, "--guard", subject, name, environ=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "went on\n"), done.stderr
    reports = [line for line in lines(done) if said in line]
    assert len(reports) == 1, done.stderr
    # Every report names a place in the program, and none in the library.
    assert any("misuse+0x" in line for line in lines(done)), done.stderr
    assert "libsyncopate" not in done.stderr


@pytest.mark.parametrize("name", [*RIGHT, *UNSEEN])
def test_right_uses_are_not_reported(subject, name):
    done = syncopate("run", "--guard", subject, name, environ=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "went on\n"), done.stderr
    # Whether a holder was preempted is the machine's doing.
    assert [line for line in lines(done) if "preempted" not in line] == []


def some_runs(*words, **others) -> Iterator[subprocess.CompletedProcess]:
    """Several: others may take a processor from a holder, too, or leave one to each thread."""
    for _ in range(16):
        done = syncopate(*words, **others)
        assert done.returncode == 0, done.stderr
        yield done


def names_no_holder(done: subprocess.CompletedProcess) -> bool:
    return "were preempted" not in done.stderr


def test_what_the_guard_says_preempts_no_holder(subject):
    for done in some_runs("run", "--guard", subject, "preempted_by_reader"):
        assert "in a cycle of 2" in done.stderr
        taken_by_the_reader = int(done.stdout.split()[0])
        if taken_by_the_reader > 0 and names_no_holder(done):
            return
    pytest.fail("in no run the reader took the processor and no holder was named")


def test_what_came_before_is_no_preemption_of_a_holder(subject, tmp_path):
    """Also while a recorder has the thread's only mark."""
    words = ["record", "-q", "-o", tmp_path / "r", subject, "preempted_before"]
    assert any(map(names_no_holder, some_runs(*words, environ={"SYNCOPATE_GUARD": "misuse"})))


def test_the_cycle_tells_who_locked_what_where(subject):
    done = syncopate("run", "--guard", subject, "two_orders")
    edges = [line for line in lines(done) if "while it held" in line]
    assert len(edges) == 2
    assert all(line.count("misuse+0x") >= 2 for line in edges)


# As all of std::mutex is in a program for debugging: one place, from which all locks are taken.
THROUGH_A_WRAPPER = r"""
#include <mutex>
#include <thread>
std::mutex a, b, c, d;
void ab() { std::lock_guard<std::mutex> one(a), two(b); }
void ba() { std::lock_guard<std::mutex> one(b), two(a); }
void cd() { std::lock_guard<std::mutex> one(c), two(d); }
void dc() { std::lock_guard<std::mutex> one(d), two(c); }
int main() {
  for (void (*run)() : {ab, ba, cd, dc, ab, ba, cd, dc}) std::thread(run).join();
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
def test_a_mistake_is_not_hidden_by_another_one_through_the_same_wrapper(build, optimized):
    program = build(f"wrapper{optimized}", THROUGH_A_WRAPPER, optimized)
    done = syncopate("run", "--guard", program)
    assert done.returncode == 0
    assert len([line for line in lines(done) if "in a cycle of 2" in line]) == 2, done.stderr


def test_records_count_preempted_holders(subject, tmp_path):
    record = tmp_path / "preempted.rec"
    done = syncopate("record", "-o", record, subject, "preempted_holder")
    assert done.returncode == 0, done.stderr
    report = json.loads(syncopate("report", "--json", record).stdout)["records"][0]
    holds = {lock["name"]: lock["hold"] for lock in report["locks"] if lock["hold"]}
    (hold,) = [hold for name, hold in holds.items() if name.endswith("a")]
    assert hold["interrupted"]["preempted"] == 1
    assert hold["interrupted"]["preemptions"] >= 3


def test_places_have_the_names_of_their_functions(subject):
    done = syncopate("run", "--guard", subject, "free_unlock")
    (report,) = [line for line in lines(done) if "which nobody holds" in line]
    assert " (free_unlock::run)" in report
    assert " (main)" in report


def test_without_the_guard_nothing_is_said(subject):
    done = syncopate("run", subject, "foreign_unlock")
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")
