"""Locks on the heap by the variables that point to them: arrays and single objects, and what only
looks like one."""

import json
import shutil
import signal
import subprocess

import pytest
from conftest import run_cli

from syncopate.base import paths

pytestmark = pytest.mark.skipif(
    not paths.find(paths.NAMES_TOOL), reason="syncopate-names is not there"
)
HEAD = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
template <class F> void by_threads(F f) {
  std::vector<std::thread> all;
  for (int t = 0; t < 3; t++) all.emplace_back([f] { for (int i = 0; i < 20; i++) f(i); });
  for (auto& each : all) each.join();
}
void hold(pthread_mutex_t* m) {
  pthread_mutex_lock(m); usleep(300); pthread_mutex_unlock(m);
}
"""
# Expected: the row's name, and that of its worst lock.
ARRAYS = {
    "locks[]": (
        "locks[17]",
        r"""
static pthread_mutex_t* locks;
int main() {
  locks = (pthread_mutex_t*)calloc(64, sizeof *locks);
  for (int i = 0; i < 64; i++) pthread_mutex_init(&locks[i], nullptr);
  by_threads([](int i) { hold(&locks[17]); hold(&locks[i + 8]); });
}
""",
    ),
    "table.shards[].guard": (
        "table.shards[5].guard",
        r"""
struct shard { long hits; pthread_mutex_t guard; char more[24]; };
static struct { long n; shard* shards; } table;
int main() {
  table.shards = (shard*)calloc(32, sizeof *table.shards);
  for (int i = 0; i < 32; i++) pthread_mutex_init(&table.shards[i].guard, nullptr);
  by_threads([](int i) { hold(&table.shards[5].guard); hold(&table.shards[i].guard); });
  for (int i = 0; i < 32; i++) pthread_mutex_destroy(&table.shards[i].guard);
  free(table.shards);
  table.shards = nullptr;
}
""",
    ),
    "shards[].guard": (
        "shards[3].guard",
        r"""
struct shard { long hits = 0; std::mutex guard; };
static std::vector<shard> shards(16);
int main() {
  by_threads([](int i) {
    for (int at : {3, i % 16}) {
      std::lock_guard<std::mutex> held(shards[at].guard);
      usleep(300);
    }
  });
}
""",
    ),
}
SINGLE = {
    "server->lock": r"""
struct server { char name[40]; pthread_mutex_t lock; };
static server* server;
[[gnu::noinline]] void serve(struct server* one) {
  pthread_mutex_lock(&one->lock); usleep(300); pthread_mutex_unlock(&one->lock);
}
int main() {
  server = (struct server*)calloc(1, sizeof *server);
  by_threads([](int) { serve(server); });
}
""",
    "cache->guard": r"""
struct table { long n = 0; std::mutex guard; };
static std::unique_ptr<table> cache;
int main() {
  cache = std::make_unique<table>();
  by_threads([](int) { std::lock_guard<std::mutex> held(cache->guard); usleep(300); });
}
""",
}
SINGLE["*alone"] = r"""
static std::unique_ptr<std::mutex> alone;
int main() {
  alone = std::make_unique<std::mutex>();
  by_threads([](int) { std::lock_guard<std::mutex> held(*alone); usleep(300); });
}
"""
SINGLE["shop->till"] = r"""
struct shop { long sales; pthread_mutex_t till; };
static shop* shop;
int main() {
  shop = (struct shop*)calloc(1, sizeof *shop);
  pthread_mutex_init(&shop->till, nullptr);
  by_threads([](int) { hold(&shop->till); });
  pthread_mutex_destroy(&shop->till);  // as programs do that clean up before they end
  free(shop);
  shop = nullptr;
}
"""
# As GLib's locks for readers and writers, and those that may be taken again.
SINGLE["*table.p"] = r"""
static struct { void* p; unsigned i[2]; } table;
int main() {
  pthread_mutex_t* const made = (pthread_mutex_t*)malloc(sizeof *made);
  pthread_mutex_init(made, nullptr);
  table.p = made;
  by_threads([](int) { hold((pthread_mutex_t*)table.p); });
}
"""
SINGLE["*hidden"] = r"""
struct defined_elsewhere;
static defined_elsewhere* hidden;
int main() {
  hidden = (defined_elsewhere*)calloc(1, 100);
  pthread_mutex_init((pthread_mutex_t*)hidden, nullptr);
  by_threads([](int) { hold((pthread_mutex_t*)hidden); });
}
"""
NONE = {
    # Of a type that is not known, and not what the lock is at the beginning of.
    "within": r"""
static void* block;
int main() {
  block = calloc(1, 200);
  static const auto guard = [] { return (pthread_mutex_t*)((char*)block + 16); };
  pthread_mutex_init(guard(), nullptr);
  by_threads([](int) { hold(guard()); });
}
""",
    # One by one, and a pointer to the first of them.
    "apart": r"""
static pthread_mutex_t* first;
int main() {
  pthread_mutex_t* all[40];
  for (auto& each : all) {
    each = (pthread_mutex_t*)malloc(sizeof *each);
    pthread_mutex_init(each, nullptr);
  }
  first = all[0];
  by_threads([&all](int i) { hold(all[0]); hold(all[i]); });
}
""",
    # What it points to has something else there.
    "another type": r"""
struct text { char letters[64]; };
static text* texts;
int main() {
  pthread_mutex_t* all = (pthread_mutex_t*)calloc(40, sizeof *all);
  for (int i = 0; i < 40; i++) pthread_mutex_init(&all[i], nullptr);
  texts = (text*)all;
  by_threads([all](int i) { hold(&all[7]); hold(&all[i]); });
}
""",
}


def mutexes(folder, source, *flags, status=0) -> list[dict]:
    (folder / "held.cpp").write_text(HEAD + source)
    program, record = folder / "held", folder / "record"
    compiler = [shutil.which("g++"), "-std=c++20", "-pthread", *flags]
    subprocess.run([*compiler, "held.cpp", "-o", program], cwd=folder, check=True)
    done = run_cli("record", "-o", record, "--", program)
    assert done.returncode in (status, 128 - status), done.stderr
    (found,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    return [each for each in found["locks"] if each["object"] == "mutex" and each["waited_ns"]]


@pytest.mark.sampled(3)
@pytest.mark.crossed("level", "name")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_of_locks_is_called_by_what_points_to_it(tmp_path, name, level):
    worst, source = ARRAYS[name]
    (row,) = mutexes(tmp_path, source, level, "-g")
    assert (row["called"], row["worst"]["called"]) == (name, worst)
    text = run_cli("report", tmp_path / "record").stdout
    assert f"{name} x{row['members']}" in text and f"{worst}, has" in " ".join(text.split())


def test_an_array_of_locks_is_called_so_by_symbols_alone(tmp_path):
    worst, source = ARRAYS["locks[]"]
    (row,) = mutexes(tmp_path, source, "-O2")
    assert (row["called"], row["worst"]["called"]) == ("locks[]", worst)


def test_of_a_stripped_program_no_name_is_made_up(tmp_path):
    (row,) = mutexes(tmp_path, ARRAYS["locks[]"][1], "-O2", "-s")
    assert not row["member"] and not row["worst"]["called"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SINGLE)
def test_the_lock_of_an_object_that_a_variable_points_to(tmp_path, name):
    (row,) = mutexes(tmp_path, SINGLE[name], "-O2", "-g")
    assert row["called"] == name


@pytest.mark.sampled(3)
@pytest.mark.crossed("level", "case")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("case", NONE)
def test_what_is_no_array_is_not_called_one(tmp_path, case, level):
    (row,) = mutexes(tmp_path, NONE[case], level, "-g")
    assert not row["member"] and not (row["worst"] and row["worst"]["called"])


def test_what_waits_for_something_to_do_is_called_so_too(tmp_path):
    """However many rows stand before it."""
    many = " ".join(f"ONE({n})" for n in range(60))  # some of which nobody happens to wait for
    source = rf"""
struct queue {{ long items = 0; std::mutex guard; std::condition_variable filled; }};
static queue* jobs = new queue;
static void give() {{
  std::lock_guard<std::mutex> held(jobs->guard);
  jobs->items++;
  jobs->filled.notify_one();
}}
#define ONE(n) static pthread_mutex_t lock##n = PTHREAD_MUTEX_INITIALIZER; hold(&lock##n);
int main() {{
  std::thread taker([] {{
    for (int i = 0; i < 20; i++) {{
      std::unique_lock<std::mutex> held(jobs->guard);
      jobs->filled.wait(held, [] {{ return jobs->items > 0; }});
      jobs->items--;
    }}
  }});
  by_threads([](int) {{
    {many}
  }});
  for (int i = 0; i < 20; i++) {{ usleep(300); give(); }}
  taker.join();
}}
"""
    mutexes(tmp_path, source, "-O2", "-g")
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "record").stdout)["records"]
    called = [each["called"] for each in found["locks"] if each["waited_ns"]]
    assert called.index("jobs->filled") >= 20


def test_a_program_that_is_killed_has_told_it_before(tmp_path):
    worst, source = ARRAYS["locks[]"]
    again = "for (int n = 0; n < 40; n++) by_threads("
    source = source.replace("by_threads(", again).replace("\n}", "\n  abort();\n}")
    (row,) = mutexes(tmp_path, source, "-O2", "-g", status=-signal.SIGABRT)
    assert (row["called"], row["worst"]["called"]) == ("locks[]", worst)


def test_one_lock_of_a_static_array_is_called_by_its_number(tmp_path):
    source = r"""
struct shard { long hits; pthread_mutex_t guard; };
static shard shards[32];
int main() {
  for (auto& each : shards) pthread_mutex_init(&each.guard, nullptr);
  by_threads([](int i) { hold(&shards[9].guard); hold(&shards[i].guard); });
}
"""
    (row,) = mutexes(tmp_path, source, "-O2", "-g")
    assert (row["called"], row["worst"]["called"]) == ("shards[].guard", "shards[9].guard")
