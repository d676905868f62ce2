"""The first screen, where the code of a lock's sections tells what they are held for."""

import json
import re
import subprocess

import pytest
from conftest import compile_c, run_cli
from planted_record import (
    MS,
    US,
)

from syncopate.records import causes, holdlengths
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.records.sectioncode import Call, Facts, SectionCode


@pytest.mark.parametrize(
    ("facts", "meant"),
    [
        (None, True),
        (Facts(0.0, [], 0.0, []), True),
        (Facts(1.0, [], 1.0, []), True),
        (Facts(1.0, [], 0.0, []), False),
    ],
)
def test_waits_of_sections_that_do_something_are_not_meant(facts, meant):
    assert holdlengths.may_be_meant(["kept"], facts) == meant
    assert holdlengths.may_be_meant(["gate"], facts)
    assert not holdlengths.may_be_meant(["often"], facts)


def test_advice_names_those_calls_that_it_is_about():
    seen = {"watched": 60, "preempted": 0, "preemptions": 0, "slept": 60, "slept_share": 1.0}
    lock = {"object": "mutex", "hold": {"mean_ns": 2 * MS, "interrupted": seen}}
    calls = [("pthread_mutex_lock", "wait"), ("usleep", "sleep")]
    facts = Facts(1.0, [Call(*each, "", False, 1.0) for each in calls], 0.0, [], slow=["wait"])
    (reason,) = causes._sleeps(lock, facts)
    assert "its section calls usleep, pthread_mutex_lock" in reason.why
    assert reason.do.startswith("sleep after the release (usleep), or wait at")


@pytest.mark.parametrize(
    ("functions", "for_requests"),
    [
        (["epoll_wait"], True),
        (["accept", "fcntl"], True),
        (["poll", "usleep"], False),  # it sleeps for a time
        (["send", "poll", "recv"], False),  # as a client that asks a server under its lock
        (["read"], False),
        ([], False),
    ],
)
@pytest.mark.parametrize("always", [True, False])
def test_who_waits_for_requests_with_a_lock_may_let_others_wait_on_purpose(
    functions, for_requests, always
):
    seen = {"watched": 60, "preempted": 0, "preemptions": 0, "slept": 60, "slept_share": 1.0}
    lock = {"object": "mutex", "hold": {"mean_ns": 2 * MS, "interrupted": seen}}
    kinds = {"usleep": "sleep"}
    calls = [Call(name, kinds.get(name, "input or output"), "", False, 1.0) for name in functions]
    slow = ["input or output"] if always else []
    facts = Facts(1.0, calls, 0.0, [], slow=slow, blamed=calls, blamed_slow=slow)
    (reason,) = causes._sleeps(lock, facts)
    assert holdlengths.may_be_meant([reason.cause], facts) == for_requests
    assert ("who waits for requests there" in reason.why) == for_requests
    assert reason.do.startswith("let threads wait for requests without it") == for_requests


@pytest.mark.parametrize("sleeps", [True, False])
@pytest.mark.parametrize(
    ("kind", "always", "looped", "cause"),
    [("input or output", True, False, "input_output"), ("input or output", False, True,
     "input_output"), ("input or output", False, False, None), ("wait", False, False, None),
     ("wait", True, False, "waits")],
)  # fmt: skip
def test_what_is_called_on_some_ways_alone_is_not_what_is_waited_for(
    sleeps, kind, always, looped, cause
):
    """It may be what is done when something has failed, as a message is written then."""
    seen = {"watched": 60, "preempted": 0, "preemptions": 0, "slept": 60 if sleeps else 0}
    seen["slept_share"] = 1.0 if sleeps else 0.0
    hold = {"mean_ns": 3 * MS, "interrupted": seen}
    lock = {"object": "mutex", "hold": hold, "waits": {}, "members": 1, "acquisitions": 60}
    process = {"duration_ns": 1000 * MS, "processors": 2}
    calls = [Call("tells", kind, "a.c:7", looped, 1.0)]
    facts = Facts(1.0, calls, 0.0, [], slow=[kind] * always)
    results = {"process": process, "account": {"parts": {}, "why_unexplained": "", "total_ns": 1}}
    if sleeps:
        (reason,) = causes._sleeps(lock, facts)
    else:
        reason = holdlengths._long(lock, results, facts)
    by_input = cause == "input_output" or sleeps
    assert reason.cause == ((by_input and cause) or ("sleeps" if sleeps else "long"))
    assert ("tells" in reason.do) == (reason.cause == cause)
    assert ("its section may call tells (a.c:7)" in reason.why) == (
        reason.cause != cause and (sleeps or kind != "wait")
    )


SLEEPER = """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) void flush(void) {
  pthread_mutex_lock(&log_lock);
  usleep(1000);
  pthread_mutex_unlock(&log_lock);
  usleep(100);
}
static void* work(void* x) { for (int i = 0; i < 40; i++) flush(); return x; }
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}
"""


def test_a_program_that_sleeps_under_its_lock(tmp_path):
    program = compile_c(SLEEPER, tmp_path / "prog", "-g", "-O1", "-pthread")
    assert run_cli("record", "-o", tmp_path / "rec", "--", program).returncode == 0
    text = run_cli("report", tmp_path / "rec").stdout
    first = text[text.index("What costs most") :].partition("\n\n")[0]
    assert re.search(r"^log_lock: [\d.]+ % of all thread time .*: 4 threads waited", first, re.M)
    assert re.search(r"^  why: who holds it sleeps: in (\d+) of \1 holds seen", first, re.M)
    assert re.search(r"^  why: it is held until flush \(<stdin>:\d+\)", first, re.M)
    assert "  do: sleep after the release (usleep), or wait at a condition variable" in first
    whole = re.sub(r"\s+", " ", first)
    assert re.search(r"its section calls usleep \(<stdin>:7\) \((certain|likely)\)", whole), first
    assert "gain: at most" in first


def reader_sections(kind: str, only_read: float, holds: int = 3 * US) -> list[str]:
    """The causes told of sections that write nothing in so many of their holds."""
    waits = {kind: {"count": 20, "total_ns": 20 * MS, "mean_ns": MS, "max_ns": MS}}
    lock = {"object": "mutex" if kind == "mutex" else "rwlock", "waits": waits}
    lock["hold"] = {"mean_ns": holds}
    return [each.do for each in holdlengths._readers(lock, Facts(1.0, [], only_read, []))]


def test_readers_that_take_a_reader_writer_lock_for_writing():
    (do,) = reader_sections("mutex", 0.9)
    assert do.startswith("let these take a reader-writer lock for reading")
    (do,) = reader_sections("write", 1.0)
    assert do.startswith("let these take it for reading (std::shared_lock)")
    # Holds of readers are among those that were read; and what is this short gains nothing.
    assert reader_sections("write", 0.9) == reader_sections("read", 1.0) == []
    assert reader_sections("write", 1.0, 300) == []


def test_holds_whose_place_is_not_known_are_not_said_to_write_nothing():
    waits = {"mutex": {"count": 20, "total_ns": 20 * MS, "mean_ns": MS, "max_ns": MS}}
    lock = {"object": "mutex", "waits": waits, "hold": {"mean_ns": 3 * US}}
    (found,) = holdlengths._readers(lock, Facts(0.9, [], 1.0, []))
    assert found.why == (
        "in 90.0 % of the holds whose place is known the code writes nothing that others see"
    )


@pytest.mark.parametrize(("hold", "causes_told"), [(16 * US, ["input_output", "often"]),
                                                   (1 * US, ["often"])])  # fmt: skip
def test_short_sections_that_write(hold, causes_told):
    """Sixteen microseconds are no long hold; but what makes them is known."""
    waits = {"mutex": {"count": 400, "total_ns": 1600 * hold, "mean_ns": 4 * hold}}
    waits["mutex"]["max_ns"] = 4 * hold
    held = {"mean_ns": hold, "max_ns": hold, "samples": 60, "histogram": [[hold, hold, 60]]}
    lock = {"object": "mutex", "hold": held, "waits": waits, "threads_lost": 4,
            "acquisitions": 600 * MS // hold, "counted": True, "lost_ns": 1600 * hold,
            "contended_releases": 0, "members": 1}  # fmt: skip
    results = {"process": {"duration_ns": 1000 * MS, "processors": 2},
               "account": {"parts": {}, "why_unexplained": "", "total_ns": 1}}  # fmt: skip
    calls = [Call("write", "input or output", "a.c:7", False, 1.0)]
    found = holdlengths.by_length(lock, results, Facts(1.0, calls, 0.0, [], slow=[calls[0].kind]))
    assert [each.cause for each in found] == causes_told
    assert ("call write after the release" in found[0].do) == (len(found) == 2)


@pytest.mark.parametrize(("looped", "hold", "told"), [(True, 6 * US, True), (True, 300, False),
                                                      (False, 6 * US, False)])  # fmt: skip
def test_short_sections_that_allocate_again_and_again(looped, hold, told):
    waits = {"mutex": {"count": 400, "total_ns": 1600 * hold, "mean_ns": 4 * hold}}
    waits["mutex"]["max_ns"] = 4 * hold
    held = {"mean_ns": hold, "max_ns": hold, "samples": 60, "histogram": [[hold, hold, 60]]}
    lock = {"object": "mutex", "hold": held, "waits": waits, "threads_lost": 4,
            "acquisitions": 10**5, "counted": True, "lost_ns": 1600 * hold,
            "contended_releases": 0, "members": 1}  # fmt: skip
    account = {"parts": {"running": 1000 * MS}, "total_ns": 1000 * MS, "why_unexplained": None}
    results = {"process": {"duration_ns": 1000 * MS, "processors": 2}, "account": account}
    facts = Facts(1.0, [Call("operator new", "allocation", "a.cpp:1", looped, 1.0)], 0.0, [])
    found = holdlengths.by_length(lock, results, facts)
    assert [each.cause for each in found] == ["often", *(["allocates"] if told else [])]
    assert not told or found[1].why == "its section calls operator new (a.cpp:1) again and again"

    alone = holdlengths.by_length(lock, results, facts._replace(allocating=0.6))
    assert [each.cause for each in alone] == ["allocates", "often"]
    assert alone[0].why.endswith("its section does little but call operator new (a.cpp:1)")
    few = holdlengths.by_length(lock, results, facts._replace(allocating=0.4))
    assert few == found


def short_section(*calls: Call, slow: tuple = ()) -> holdlengths.Reason:
    held = {"mean_ns": 80, "max_ns": 90, "samples": 60, "histogram": [[80, 80, 60]]}
    waits = {"mutex": {"count": 400, "total_ns": 120_000, "mean_ns": 300, "max_ns": 400}}
    lock = {"object": "mutex", "hold": held, "waits": waits, "threads_lost": 4,
            "acquisitions": 10**7, "counted": True, "lost_ns": 120_000,
            "contended_releases": 0, "members": 1}  # fmt: skip
    account = {"parts": {"running": 1000 * MS}, "total_ns": 1000 * MS, "why_unexplained": None}
    results = {"process": {"duration_ns": 1000 * MS, "processors": 2}, "account": account}
    (found,) = holdlengths.by_length(lock, results, Facts(1.0, [*calls], 0.0, [], slow=slow))
    assert found.cause == "often"
    return found


@pytest.mark.parametrize("kind", ["allocation", "perhaps allocation"])
def test_what_a_short_section_calls_for_memory_is_named(kind):
    """Whether it does so each time is not certain."""
    found = short_section(Call("std::string::_M_append", kind, "a.cpp:1", False, 1.0))
    assert found.why.endswith("; its section may call std::string::_M_append (a.cpp:1)")
    assert ", or allocate before it is taken" in found.do
    seldom = short_section(Call("operator new", kind, "a.cpp:1", False, 0.3))
    assert "call" not in seldom.why
    assert "allocate" not in seldom.do
    other = short_section(Call("pwrite", "input or output", "a.cpp:1", False, 1.0))
    assert "call" not in other.why


def test_what_a_short_section_always_calls_for_memory_is_said_so():
    found = short_section(
        Call("operator new", "allocation", "a.cpp:1", False, 1.0), slow=("allocation",)
    )
    assert found.why.endswith("; its section calls operator new (a.cpp:1)")


CONTAINERS = {
    "map": ("std::map<int, int> t;", "t[k] = k; t.erase(k - 3);"),
    "unordered_map": ("std::unordered_map<int, int> t;", "t[k] = k; t.erase(k - 3);"),
    "string": ("std::string t;", "t.append(k % 9, 'x'); if (t.size() > 99) t.assign(1, 'y');"),
    "list": ("std::list<int> t;", "t.push_back(k); if (t.size() > 9) t.pop_front();"),
    "vector": (
        "std::vector<int> t;",
        "t.push_back(k); if (t.size() > 99) std::vector<int>().swap(t);",
    ),
    "nothing": ("long t;", "t += k;"),
}
FILLS = """
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#include <unistd.h>
std::mutex lock;
VARIABLE
std::atomic<bool> has_it;
__attribute__((noinline)) void put(int k) {
  std::lock_guard<std::mutex> guard(lock);
  STEPS
  if (k == 0) {  // until others wait for it
    has_it = true;
    usleep(200000);
  }
}
void use(int n) {
  while (n != 0 && !has_it) usleep(1000);
  for (int i = 0; i < 20; ++i) put(n * 1000000 + i);
}
int main() {
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) threads.emplace_back(use, n);
  for (auto& each : threads) each.join();
}
"""


@pytest.mark.sampled(6)
@pytest.mark.crossed("container", "compiler")
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_the_memory_of_containers_is_seen_in_the_code(tmp_path, container, compiler):
    """In what the library's templates become, and in what it has compiled itself."""
    variable, steps = CONTAINERS[container]
    (tmp_path / "fills.cpp").write_text(FILLS.replace("VARIABLE", variable).replace("STEPS", steps))
    program = tmp_path / "fills"
    command = [compiler, "-O2", "-g", "-o", program, tmp_path / "fills.cpp", "-pthread"]
    subprocess.run(command, check=True)
    run_cli("record", "-q", "-o", tmp_path / "r", "--", program)
    analysis = Analysis(Record(str(tmp_path / "r")))
    (group,) = [each for each in analysis.groups if each.name.text == "lock"]
    facts = SectionCode(analysis).facts(group)
    assert facts and facts.share > 0.5
    memory = {"allocation", "perhaps allocation"} & {call.kind for call in facts.calls}
    assert bool(memory) == (container != "nothing")
    assert not any("basic_string<" in call.function for call in facts.calls)


@pytest.mark.parametrize(
    ("kind", "always", "each", "cause"),
    [("sleep", True, 3 * MS, "sleeps"), ("input or output", True, 3 * MS, "input_output"),
     ("sleep", False, 3 * MS, "unknown"), ("sleep", True, 3 * US, "unknown"),
     ("allocation", True, 3 * MS, "unknown"), ("wait", True, 3 * MS, "unknown")],
)  # fmt: skip
def test_holds_that_are_not_seen_by_what_their_code_calls(kind, always, each, cause):
    """Where every way through the section does, and waits are as long as such calls."""
    waits = {"mutex": {"count": 100, "total_ns": 100 * each, "mean_ns": each, "max_ns": each}}
    lock = {"object": "mutex", "hold": None, "waits": waits, "threads_lost": 4, "in_vain": 0,
            "addresses": ["0x9000"], "named_by": "symbol", "members": 1, "lost_ns": 100 * each,
            "waiters": [], "shared": []}  # fmt: skip
    results = {"process": {"duration_ns": 90 * each, "processors": 2, "recorder": "kernel"}}
    calls = [Call("does_it", kind, "a.c:1", False, 1.0)]
    facts = Facts(1.0, calls, 0.0, [], slow=[kind] if always else [])
    (found,) = holdlengths.by_length(lock, results, facts)
    assert found.cause == cause
    assert found.why.startswith("how often it was taken, and how long it was held, is not seen")
    if cause != "unknown":
        assert "its section always calls does_it (a.c:1), and waits last 3.00 ms" in found.why
        assert found.sure == "likely" and "does_it" in found.do


MAKES = """
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <unistd.h>
struct Entry { std::string key; std::unique_ptr<char[]> body;
  Entry(std::string k, int n) : key(std::move(k)), body(new char[n]) {} };
static std::mutex lock;
static std::vector<std::unique_ptr<Entry>> entries;
static std::ofstream out{"/dev/null"};
__attribute__((noinline)) void make(int k) {
  std::lock_guard<std::mutex> guard(lock);
  for (int i = 0; i < 9; ++i)
    entries.push_back(std::make_unique<Entry>("a key " + std::to_string(k), i));
  out << "made " << k << std::endl;
  usleep(1000);
}
int main() {
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) threads.emplace_back([] { for (int i = 0; i < 40; ++i) make(i); });
  for (auto& each : threads) each.join();
}
"""


def test_templates_that_are_not_inlined_are_followed_to_their_end(tmp_path):
    """Without optimization a call that allocates is the last of many small functions; and what the
    C++ library calls its functions is told as people do."""
    (tmp_path / "makes.cpp").write_text(MAKES)
    program = tmp_path / "makes"
    command = ["g++", "-O0", "-g", "-o", program, tmp_path / "makes.cpp", "-pthread"]
    subprocess.run(command, check=True)
    run_cli("record", "-q", "-o", tmp_path / "r", "--", program)
    analysis = Analysis(Record(str(tmp_path / "r")))
    (group,) = [each for each in analysis.groups if each.name.text == "lock"]
    facts = SectionCode(analysis).facts(group)
    calls = {call.function for call in facts.calls}
    assert {"operator new", "operator new[]", "usleep"} <= calls
    assert {"std::operator<<", "std::basic_ostream::operator<<"} <= calls, calls


COMPLAINS = """
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static double table[4096];
static volatile int broken;
__attribute__((noinline)) static double compute(double x) {
  double sum = 0;
  for (int k = 0; k < 60; ++k)
    for (int i = 0; i < 4096; ++i) sum += table[i] * x + 1 / (sum + i + 1);
  return sum;
}
static void* run(void* x) {
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&table_lock);
    const double found = compute(i);
    if (found != found || broken) fprintf(stderr, "no value: %f\\n", found);
    table[i] = found * 1e-9;
    pthread_mutex_unlock(&table_lock);
    nanosleep(&(struct timespec){0, 500000}, 0);
  }
  return x;
}
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_message_where_something_fails_is_not_what_a_lock_is_held_for(tmp_path, compiler):
    program = compile_c(COMPLAINS, tmp_path / "x", "-O2", "-g", "-pthread", compiler=compiler)
    done = run_cli("record", "-q", "-o", tmp_path / "r", "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    reasons = [reason for each in found["findings"] for reason in each["reasons"]]
    assert reasons
    assert not any("fprintf" in reason["do"] for reason in reasons)
    long = [reason["why"] for reason in reasons if reason["cause"] == "long"]
    assert all("its section may call fprintf" in why for why in long)
