"""Where all thread time went: parts that add up, and reasons where they are not known."""

import json

import pytest
from conftest import compile_c, run_cli
from make_record import RecordBuilder
from record_results import results_of

from syncopate.records import account

MUTEX, CONDITION, BARRIER, FUTEX, SEMAPHORE, JOIN, TRYLOCK, SEMAPHORE_LOCK, YIELD, FUTEX_LOCK = (
    1,
    6,
    7,
    8,
    13,
    14,
    15,
    16,
    17,
    23,
)
SECOND = 1_000_000_000
MS = 1_000_000


def a_second(**flags) -> RecordBuilder:
    builder = RecordBuilder(start=1_000_000, end=1_000_000 + SECOND)
    for name, value in flags.items():
        setattr(builder, name, value)
    return builder


def test_parts_add_up(tmp_path):
    builder = a_second()
    builder.thread(100, cpu=300_000_000, delay=50_000_000)
    builder.thread(101, cpu=200_000_000, delay=0)
    lock = builder.lock(0x9000)
    for kind, ms in ((MUTEX, 100), (CONDITION, 200), (FUTEX, 40), (SEMAPHORE, 50), (JOIN, 60)):
        builder.row(0, lock, kind, [ms * 1_000_000])
    builder.row(1, lock, SEMAPHORE_LOCK, [30_000_000])
    found = results_of(builder, tmp_path)
    assert found["account"] == {
        "total_ns": 2 * SECOND,
        "parts": {
            "locks": 130_000_000,
            "condition": 200_000_000,
            "futex": 40_000_000,
            "semaphore": 50_000_000,
            "join": 60_000_000,
            "running": 500_000_000,
            "runnable": 50_000_000,
            "elsewhere": 2 * SECOND - 1_030_000_000,
        },
        "too_much_ns": 0,
        "signaled_by_waiters_ns": 0,
        "why_unexplained": None,
    }
    assert found["lost_ns"] == 130_000_000


@pytest.mark.parametrize(
    ("looks", "ms"), [((10, 5), 400), ((10, 9), 500), ((10, 2), 0), ((0, 5), 0)]
)
def test_what_threads_sleep_at_futexes_that_are_not_recorded(tmp_path, looks, ms):
    """Of the 800 ms outside of waits, 300 of which it ran, half; never more than it did not run."""
    builder = a_second(looks=looks)
    builder.thread(100, cpu=300_000_000)
    builder.row(0, builder.lock(0x9000), CONDITION, [200_000_000])
    found = results_of(builder, tmp_path)
    parts = found["account"]["parts"]
    assert parts.get("unseen_futex", 0) == ms * 1_000_000
    assert sum(parts.values()) == found["account"]["total_ns"]
    said = account.perhaps_other(found)
    own = f", and perhaps to locks of its own: up to {ms / 10:.1f} % more, beside any that spin"
    assert said == ms // 400 * own


@pytest.mark.parametrize("only_openmp", [True, False])
def test_threads_of_a_team_sleep_between_its_regions(tmp_path, only_openmp):
    builder = a_second(looks=(100, 40), flags=1 | 1024 * only_openmp)
    builder.thread(100, cpu=10_000_000)
    said = " ".join(account.lines(results_of(builder, tmp_path)))
    assert ("do between parallel regions" in said) == only_openmp
    assert ("the C library's own locks (of streams" in said) != only_openmp


@pytest.mark.parametrize(
    ("library", "told"),
    [("libgomp.so.1.0.0", "libgomp"), ("libgomp-a34b3233.so.1", "libgomp"),
     ("libomp5.so", "libomp5"),
     ("libiomp5.so", "libiomp5"), ("libomptarget.so.19.1", None), ("libc.so.6", None)],
)  # fmt: skip
@pytest.mark.parametrize("by_kernel", [True, False])
@pytest.mark.parametrize("much", [True, False])
def test_waits_of_a_runtime_for_openmp_have_a_recorder_of_their_own(
    tmp_path, library, told, by_kernel, much
):
    builder = a_second(recorder=int(by_kernel))
    builder.maps = f"8000-f0000 r-xp 00000000 00:00 0 /usr/lib/{library}\n"
    builder.thread(100)
    if by_kernel:
        lock = builder.lock(0x900000, 6, first=builder.stack(0xA000, 0xF000))
        builder.row(0, lock, FUTEX, [(400 if much else 20) * 1_000_000])
    else:
        builder.looks = (100, 40 if much else 2)
    said = [note for note in results_of(builder, tmp_path)["notes"] if "record --omp" in note]
    assert [note.partition("(")[2].partition(")")[0] for note in said] == [told] * (
        told is not None and much
    )


@pytest.mark.parametrize("ms", [5, 200])
def test_why_some_time_is_unexplained_is_said_where_that_is_a_line(tmp_path, ms):
    found = {"account": {"total_ns": 1000, "too_much_ns": 0, "why_unexplained": "it was killed",
                         "parts": {"condition": 1000 - ms, "unexplained": ms}}}  # fmt: skip
    lines = account.lines(found)
    assert any("unexplained" in line for line in lines) == (ms == 200)
    assert ("Unexplained, since it was killed" in lines) == (ms == 200)


@pytest.mark.parametrize("cpu", [1_000_000, 300_000_000])
def test_locks_that_spin_are_beside_what_may_be_lost_to_others(tmp_path, cpu):
    """Time that a thread runs, or could, may be a lock's, and is in no bound of what it slept."""
    builder = a_second()
    builder.thread(100, cpu=cpu)
    builder.row(0, builder.lock(0x9000, 6), FUTEX, [100_000_000])
    said = account.perhaps_other(results_of(builder, tmp_path))
    assert said.startswith(", and perhaps to locks of its own: up to 10.0 % more, most of it at")
    assert said.endswith(", beside any that spin") == (cpu > 20_000_000)


def test_calls_that_the_kernel_saw_threads_blocked_in(tmp_path):
    """A thread that waits to change the memory's map, as by madvise() when others end, is in no
    input or output."""
    builder = a_second(recorder=1)
    builder.thread(100, cpu=100_000_000, delay=0)
    calls = {0: 100, 9: 50, 28: 150, 35: 20, 61: 70, 60: 30, 128: 40, 65: 15, (1 << 32) - 1: 60,
             (1 << 32) - 2: 80, (1 << 32) - 3: 6, 58: 10, 72: 25, 73: 10, 324: 12,
             219: 8}  # fmt: skip
    for call, ms in calls.items():
        builder.row(0, call, 21, [ms * 1_000_000])
    parts = results_of(builder, tmp_path)["account"]["parts"]
    told = {state: ns // 1_000_000 for state, ns in parts.items() if state != "unexplained"}
    assert told == {
        "io": 100, "memory": 200, "sleeping": 20, "child": 80, "ending": 30, "running": 100,
        "signals": 40, "system_v": 15, "faults": 60, "stopped": 80, "file_locks": 35, "kernel": 12,
        "resumed": 8, "other_calls": 6,
    }  # fmt: skip


def test_futexes_that_are_locks_are_lost_time_and_the_others_may_be(tmp_path):
    builder = a_second()
    builder.thread(100, cpu=300_000_000)
    lock = builder.lock(0x9000, 6)
    builder.row(0, lock, FUTEX_LOCK, [300_000_000])
    builder.row(0, lock, FUTEX, [100_000_000])
    found = results_of(builder, tmp_path)
    assert found["lost_ns"] == found["account"]["parts"]["locks"] == 300_000_000
    assert account.perhaps_other(found) == (
        ", and perhaps to locks of its own: up to 10.0 % more, most of it at 0x9000,"
        " beside any that spin"
    )
    assert found["findings"][0]["lock"] == found["locks"][0]["name"]
    text = run_cli("report", tmp_path / "r").stdout
    assert text.index("Locks of the program's own") < text.index("The program's own futexes")


def test_who_tries_again_and_again_runs_meanwhile(tmp_path):
    """That part of its processor time is in the wait, and not once more in `running`."""
    builder = a_second()
    builder.thread(100, cpu=800_000_000, delay=200_000_000)
    builder.row(0, builder.lock(0x9000), TRYLOCK, [500_000_000])
    parts = results_of(builder, tmp_path)["account"]["parts"]
    assert parts == {"locks": 500_000_000, "running": 400_000_000, "runnable": 100_000_000}


def test_waits_within_which_the_kernel_was_asked(tmp_path):
    """Of a wait that kept its processor half of the time, that half is not `running` as well."""
    builder = a_second()
    thread = builder.thread(100, cpu=600_000_000, delay=0)
    lock = builder.lock(0x9000)
    builder.row(thread, lock, MUTEX, [400_000_000])
    builder.wait(thread, lock, 2_000_000, 402_000_000, used=(200_000_000, 1, 0))
    parts = results_of(builder, tmp_path)["account"]["parts"]
    assert parts == {"locks": 400_000_000, "running": 400_000_000, "elsewhere": 200_000_000}


def test_a_killed_process_has_a_rest_with_its_reason(tmp_path):
    builder = a_second(flags=0)
    builder.thread(100, end=0)
    builder.row(0, builder.lock(0x9000), MUTEX, [100_000_000])
    builder.measured = json.dumps(
        {"seconds": 1.0, "user_seconds": 0.25, "system_seconds": 0.05, "meters": [], "rejected": []}
    )
    found = results_of(builder, tmp_path)
    assert found["account"]["parts"] == {
        "locks": 100_000_000, "running": 300_000_000, "unexplained": 600_000_000,
    }  # fmt: skip
    assert "the recorder did not see the process end" in found["account"]["why_unexplained"]
    assert "unexplained" in "\n".join(account.lines(found))


@pytest.mark.parametrize("command", [[""], ["/bin/server", "-x"]])
def test_without_proc_nobody_knows_who_had_no_processor(tmp_path, command):
    builder = a_second()
    builder.command = command
    builder.thread(100, cpu=300_000_000)
    builder.row(0, builder.lock(0x9000), MUTEX, [100_000_000])
    found = results_of(builder, tmp_path)
    rest = "elsewhere" if any(command) else "unexplained"
    parts = {"locks": 100_000_000, "running": 300_000_000, rest: 600_000_000}
    assert found["account"]["parts"] == parts
    told = ["/proc was not there" in note for note in found["notes"]]
    assert any(told) == (not any(command))
    assert bool(found["account"]["why_unexplained"]) == (not any(command))


@pytest.mark.parametrize("seconds", [0.2, 0.5])
def test_what_a_killed_process_did_since_the_last_look_is_unexplained(tmp_path, seconds):
    """One thread that spins, one that sleeps, one that waits for a lock. Up to the look all is
    known; behind it the processor time, and the wait that was not over."""
    builder = a_second(flags=0)
    lock, since = builder.lock(0x9000), 1_000_000 + 300_000_000
    looked, ns = round((1 - seconds) * 1000), round(seconds * SECOND)
    builder.thread(100, end=0, looked=(looked, SECOND - ns, 0))
    builder.thread(101, end=0, looked=(looked, 1, 0))
    builder.thread(102, end=0, looked=(looked, 1, 0), waits=(since, 0, 0, lock, MUTEX, 0, 0, 0))
    builder.measured = json.dumps(
        {"seconds": 1.0, "user_seconds": 0.9, "system_seconds": 0.0, "meters": [], "rejected": []}
    )
    found = results_of(builder, tmp_path)["account"]
    parts, spun = found["parts"], 900_000_000 - (SECOND - ns)
    assert parts["locks"] == pytest.approx(700_000_000, abs=2_000_000)
    assert parts["running"] == pytest.approx(900_000_000, abs=2_000_000)
    assert parts["unexplained"] == pytest.approx(2 * ns - spun, abs=4_000_000)
    elsewhere = 2 * (SECOND - ns) + 300_000_000 - (SECOND - ns)  # before the look
    assert parts["elsewhere"] == pytest.approx(elsewhere, abs=6_000_000)
    assert sum(parts.values()) == found["total_ns"]
    assert f"in the last {ns // 1_000_000}" in found["why_unexplained"]


def test_processor_time_of_what_it_became_is_not_its_own(tmp_path):
    """As of a shell that becomes the program: `record` measures what follows by exec as well."""
    builder = a_second(flags=0)
    builder.thread(100)
    builder.measured = json.dumps(
        {"seconds": 9, "user_seconds": 8, "system_seconds": 0.5, "meters": [], "rejected": []}
    )
    found = results_of(builder, tmp_path)
    assert found["account"]["parts"] == {"unexplained": SECOND}
    assert not [line for line in account.lines(found) if "more than the threads lived" in line]


def test_time_without_a_processor_that_has_no_room_was_within_waits(tmp_path):
    """A thread that is woken waits for a processor, too, and only then has its wait ended."""
    builder = a_second()
    builder.thread(100, cpu=100_000_000, delay=400_000_000)
    builder.row(0, builder.lock(0x9000), CONDITION, [700_000_000])
    found = results_of(builder, tmp_path)
    assert found["account"]["parts"] == {
        "condition": 700_000_000, "running": 100_000_000, "runnable": 200_000_000,
    }  # fmt: skip
    assert found["account"]["too_much_ns"] == 0


def test_the_parts_of_a_short_life_add_up(tmp_path):
    """The kernel had last counted at its tick what the thread had before another program."""
    builder = RecordBuilder(start=1_000_000, end=4_000_000)
    builder.thread(100, cpu=4_000_000)
    found = results_of(builder, tmp_path)
    assert found["account"]["parts"] == {"running": 3_000_000}
    assert not [line for line in account.lines(found) if "more than the threads lived" in line]


@pytest.mark.parametrize("ended", [None, 1_000_000 + SECOND])
def test_a_thread_that_slept_elsewhere_leaves_no_room_for_what_another_had_in_waits(
    tmp_path, ended
):
    """A server's listener, in epoll_wait, beside workers that are woken and get no processor."""
    builder = a_second()
    builder.thread(100, cpu=100_000_000, end=ended)
    builder.thread(101, cpu=50_000_000, delay=900_000_000, end=ended)
    builder.row(1, builder.lock(0x9000), CONDITION, [900_000_000])
    found = results_of(builder, tmp_path)
    assert found["account"]["parts"] == {
        "condition": 900_000_000,
        "running": 150_000_000,
        "runnable": 50_000_000,
        "elsewhere": 900_000_000,
    }
    assert found["account"]["too_much_ns"] == 0


@pytest.mark.parametrize(("excess_ms", "told"), [(10, False), (100, True)])
def test_parts_that_are_too_many_are_told(tmp_path, excess_ms, told):
    builder = a_second()
    builder.thread(100, cpu=(600 + excess_ms) * 1_000_000)
    builder.row(0, builder.lock(0x9000), CONDITION, [400_000_000])
    found = results_of(builder, tmp_path)
    parts, total = found["account"]["parts"], found["account"]["total_ns"]
    assert found["account"]["too_much_ns"] == (excess_ms * 1_000_000 if told else 0)
    assert sum(parts.values()) == pytest.approx(total + found["account"]["too_much_ns"], rel=1e-6)
    assert any("more than the threads lived" in line for line in account.lines(found)) == told


@pytest.mark.parametrize("flags", [0, 1])  # killed, finished
@pytest.mark.parametrize(
    ("kind", "waited", "sampled", "polled", "told"),
    [
        (BARRIER, 900, 0, 400, 0),  # no wait was asked
        (MUTEX, 900, 100, 400, 0),  # one was asked, and slept
        (BARRIER, 200, 0, 400, 200),  # more than all waits took
        (CONDITION, 900, 0, 400, 400),  # these sleep
    ],
)
def test_running_that_has_no_room_was_within_waits_that_poll(
    tmp_path, flags, kind, waited, sampled, polled, told
):
    """libomp's threads poll, many waits are short, and few of them are asked what they did."""
    builder = a_second(flags=flags)
    ran = 1000 - waited + polled
    looked = (1000, ran * MS, 0)
    thread = builder.thread(100, **({"cpu": ran * MS} if flags else {"end": 0, "looked": looked}))
    lock = builder.lock(0x9000)
    builder.row(thread, lock, kind, [waited * MS])
    if sampled:
        builder.wait(thread, lock, 2_000_000, 2_000_000 + sampled * MS, used=(0, 1, 0))
    found = results_of(builder, tmp_path)["account"]
    assert found["too_much_ns"] == told * MS
    assert found["parts"]["running"] == (1000 - waited + told) * MS
    assert sum(found["parts"].values()) == found["total_ns"] + told * MS


@pytest.mark.parametrize(
    ("kind", "ms", "explained"), [(FUTEX, 500, False), (YIELD, 500, False), (CONDITION, 950, True)]
)
def test_nobody_waited_only_where_nothing_hides(tmp_path, kind, ms, explained):
    builder = a_second()
    for number in range(2):
        thread = builder.thread(100 + number, cpu=1_000_000)
        builder.row(thread, builder.lock(0x9000 + number), kind, [ms * 1_000_000])
    found = results_of(builder, tmp_path)
    assert account.is_explained(found) == explained


def test_a_record_whose_threads_did_not_live_says_nothing_of_shares(tmp_path):
    """As of a damaged one, which has a wait all the same."""
    builder = a_second()
    thread = builder.thread(100, start=1_000_000, end=1_000_000)
    builder.row(thread, builder.lock(0x9000), FUTEX, [400_000_000])
    found = results_of(builder, tmp_path)
    assert (found["thread_time_ns"], account.perhaps_other(found)) == (0, "")


def test_where_waits_for_rows_of_a_database_are(tmp_path):
    """PostgreSQL's processes wait for them as for clients, which is no time lost to locks."""
    builder = a_second(recorder=1, command=["/usr/lib/postgresql/15/bin/postgres"])
    builder.thread(100, cpu=1_000_000)
    found = results_of(builder, tmp_path)
    assert not account.is_explained(found)
    assert account.perhaps_other(found).startswith(", without waits for rows and tables")
    assert any("pg_stat_activity tells it" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("program", "recorder", "language"),
    [
        ("ruby3.1", 0, "Ruby"),
        ("node", 1, "JavaScript"),
        ("java", 1, "Java"),
        ("java", 2, ""),
        ("mariadbd", 0, "MariaDB"),
        ("mysqld", 1, "MySQL"),
        ("mono-sgen", 0, "Mono"),
        ("dotnet", 1, ".NET"),
        ("memcached", 0, ""),
    ],
)
def test_languages_whose_locks_are_condition_variables(tmp_path, program, recorder, language):
    """To the C library and the kernel; Java's recorder knows its locks."""
    builder = a_second(recorder=recorder, command=[f"/usr/bin/{program}", "x"])
    for number in range(2):
        thread = builder.thread(100 + number, cpu=1_000_000)
        builder.row(thread, builder.lock(0x9000 + number, 4), CONDITION, [950_000_000])
    found = results_of(builder, tmp_path)
    assert found["process"]["at_conditions"] == language
    assert account.is_explained(found) == (not language)
    said = ", and perhaps to locks of its own: up to 95.0 % more"
    assert account.perhaps_other(found).startswith(said) == bool(language)
    text = run_cli("report", tmp_path / "r").stdout
    title = (
        f"or for {language}'s own locks)" if language else "something to do: not counted as lost"
    )
    assert title in text
    of_rows = "locks of rows (InnoDB) and of tables' definitions wait at condition variables"
    assert (of_rows in " ".join(text.split())) == (language in ("MariaDB", "MySQL"))


@pytest.mark.parametrize(
    ("program", "mapped", "said"),
    [
        ("/usr/bin/java", "", "a JVM: its monitors are among the condition variables"),
        ("/usr/bin/javac", "/usr/lib/jvm/lib/server/libjvm.so", "a JVM: its monitors are among"),
        ("/srv/program", "/usr/lib/jvm/lib/server/libjvm.so", "a JVM: its monitors are among"),
        ("/srv/program", "/opt/lib/libsyncopate-pthread.so", "it runs with Syncopate's library"),
        ("/srv/program", "/usr/lib/libc.so.6", ""),
    ],
)
def test_of_what_the_kernel_does_not_tell_apart_it_is_said_whatever_starts_it(
    tmp_path, program, mapped, said
):
    builder = a_second(recorder=1, command=[program, "x"])
    builder.maps += f"7f0000000000-7f0000001000 r-xp 00000000 08:01 7 {mapped}\n" * bool(mapped)
    builder.row(builder.thread(100, cpu=1000), builder.lock(0x9000, 4), CONDITION, [950_000_000])
    notes = results_of(builder, tmp_path)["notes"]
    of_these = [each for each in notes if each.startswith(("a JVM", "it runs with"))]
    assert len(of_these) == bool(said) and all(each.startswith(said) for each in of_these)


@pytest.mark.parametrize(
    ("frames", "is_for_a_lock"),
    [
        (["java.lang.Object.wait", "java.lang.Object.wait", "Books.next"], True),
        (["java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionNode.block"], True),
        (["java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await"], True),
        (["java.lang.Object.wait", "java.lang.ref.ReferenceQueue.remove"], False),
        (["jdk.internal.misc.Unsafe.park", "Books.next"], False),
    ],
)
@pytest.mark.parametrize("lost", [0, 1])
def test_java_threads_that_were_notified_wait_for_a_lock(tmp_path, frames, is_for_a_lock, lost):
    """Since when, nobody tells: nothing is said of locks as if it were known."""
    builder = a_second(recorder=2, command=["/usr/bin/java", "x"])
    for number, name in enumerate(frames):
        builder.maps += f"name {0xF000 + number:x} {name}\tX.java\t1\tX\n"
    stack = builder.stack(*(0xF000 + number for number in range(len(frames))))
    lock = builder.lock(0x9000, 4)
    for number in range(2):
        thread = builder.thread(100 + number, cpu=1_000_000)
        builder.row(thread, lock, CONDITION, [950_000_000])
        if lost:
            builder.row(thread, builder.lock(0xA000), MUTEX, [1000])
        builder.wait(thread, lock, 2_000_000, 952_000_000, stack, kind=CONDITION)
    found = results_of(builder, tmp_path)
    assert account.is_explained(found) != is_for_a_lock
    said = ", without what threads that were notified wait for the lock within Object.wait()"
    assert account.perhaps_other(found).startswith(said) == is_for_a_lock
    text = " ".join(run_cli("report", tmp_path / "r").stdout.split())
    assert (said in text) == is_for_a_lock
    first = "Nothing to do about the locks" if lost else "No thread waited for a lock, but perhaps"
    assert (first in text) != is_for_a_lock
    assert ("Outside of Object.wait() and await()" in text) == is_for_a_lock


def test_who_spins_on_a_crowded_machine_is_mostly_without_a_processor(tmp_path):
    """A tenth of the time on a processor, half of it without one: that may all be spinning."""
    builder = a_second(recorder=1)
    for number in range(2):
        thread = builder.thread(100 + number, cpu=SECOND // 10, delay=SECOND // 2)
        builder.row(thread, builder.lock(0x9000 + number), CONDITION, [SECOND * 4 // 10])
    found = results_of(builder, tmp_path)
    assert found["account"]["parts"]["running"] < account.MOST_UNSEEN * 2 * SECOND
    assert not account.is_explained(found)


STARTED_OTHERWISE = r"""
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int done;
static int work(void* x) {
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&lock);
    usleep(500);
    pthread_mutex_unlock(&lock);
  }
  return x != 0;
}
static void expires(union sigval value) { done += 1 + work(value.sival_ptr); }
int main(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expires};
  struct itimerspec soon = {.it_value = {0, 1}};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &soon, 0);
  while (!done) usleep(1000);
  thrd_t threads[2];
  int wrong = 0, result;
  for (int i = 0; i < 2; i++) wrong += thrd_create(threads + i, work, 0);
  for (int i = 0; i < 2; i++) wrong += thrd_join(threads[i], &result) + result;
  usleep(100000);
  return wrong;
}
"""


def test_threads_that_c11_or_the_c_library_started_end_in_the_record(tmp_path):
    program = compile_c(STARTED_OTHERWISE, tmp_path / "program", "-O1", "-pthread")
    done = run_cli("record", "-o", tmp_path / "rec", "--", program)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "rec").stdout)["records"]
    assert found["account"]["why_unexplained"] is None
    assert len(found["threads"]) == 4
    main, *others = sorted(found["threads"], key=lambda thread: thread["start_ns"])
    assert main["end_ns"] is None
    assert all(each["end_ns"] for each in others), found["threads"]
