"""Locks that several processes have: whose memory these are in, and which of them are one."""

import itertools
import json
import re

import pytest
from conftest import compile_c, run_cli
from kernel_support import needs_kernel

from syncopate.records.processes import _locks as one_view
from syncopate.show import processtext

SHARED = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
struct area { long n[64]; pthread_mutex_t m; };
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static void* nap(void* x) {
  pthread_mutex_lock(&own);
  usleep(30000);
  pthread_mutex_unlock(&own);
  return x;
}
static struct area* map(int fd, int pages) {
  if (pages) mmap(0, pages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
#define USER(name, pause)                                                              \
  __attribute__((noinline)) static void name(struct area* a) {                         \
    for (int i = 0; i < 30; i++) {                                                     \
      pthread_mutex_lock(&a->m);                                                       \
      usleep(2000);                                                                    \
      pthread_mutex_unlock(&a->m);                                                     \
      usleep(pause);                                                                   \
    }                                                                                  \
  }
USER(writer, 300)
USER(reader, 301)
USER(owner, 302)
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, nap, 0);
  nap(0);
  pthread_join(other, 0);
  usleep(200000);
  int fd = memfd_create("area", 0);
  ftruncate(fd, 8192);
  struct area* a = map(fd, 0);
  pthread_mutexattr_t shared;
  pthread_mutexattr_init(&shared);
  pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&a->m, &shared);
  for (int i = 0; i < 2; i++) {
    if (fork() != 0) continue;
    munmap(a, 8192);
    a = map(fd, 77 + i);
    (i == 0 ? writer : reader)(a);
    return 0;
  }
  owner(a);
  while (wait(0) > 0) {}
  return 0;
}
"""


@pytest.mark.parametrize("how", [(), pytest.param(("--kernel",), marks=needs_kernel)])
def test_a_lock_in_shared_memory_is_one_in_all_processes(tmp_path, how):
    """Whatever each of them calls it, wherever it is mapped there, and however late."""
    program = compile_c(SHARED, tmp_path / "server", "-O2", "-g", "-pthread", "-w")
    record = tmp_path / "rec"
    assert run_cli("record", *how, "-o", record, "--", program).returncode == 0
    files = sorted(tmp_path.glob("rec*"))
    told = json.loads(run_cli("report", "--json", *files).stdout)
    (lock,) = [each for each in told["processes"]["locks"] if each["shared"]]
    mine = [each for record in told["records"] for each in record["locks"] if each["shared"]]
    assert (lock["processes"], lock["members"], len(lock["shared"])) == (3, 1, 1)
    assert lock["lost_ns"] == sum(each["lost_ns"] for each in mine)
    assert {lock["called"], *lock["also_called"]} == {each["called"] for each in mine}
    assert len(mine) == 3
    advice = [reason for record in told["records"] for found in record["findings"]
              if found["lock"] != "own"
              for reason in found["reasons"] if "syncopate record" in reason["do"]]  # fmt: skip
    assert not advice  # the other recorder sees no more of such a lock
    done = run_cli("report", *files, environ={"COLUMNS": "200"})
    together = done.stdout.partition("The same locks in several processes")[2]
    assert re.search(r"^\S.* = .* = .* +shared +3 ", together, re.M), together


NUMBERS = itertools.count(1)


def one_lock(name: str, shared: list[str], start: int, addresses: tuple = ("0x10",)) -> dict:
    """The results of a process that had one, and began so many seconds after others."""
    begin = f"2026-01-01T00:00:0{start}+00:00"
    lock = {"name": name, "called": name, "place": "", "object": "mutex", "shared": shared,
            "addresses": [*addresses], "members": 1, "acquisitions": 0, "counted": False,
            "contended": 1, "lost_ns": 10}  # fmt: skip
    process = {"id": next(NUMBERS), "started": begin, "duration_ns": 10**9, "replaced": False}
    return {"process": process, "locks": [lock]}


@pytest.mark.parametrize(
    ("name", "shared", "addresses", "where", "said"),
    [
        ("a", [], ["0x10"], "own", "each its own"),
        ("a", ["0:1 7 +0x0"], ["0x10"], "shared", "shared"),
        ("0x10", [], ["0x10"], "", "-"),
        ("ProcSleep+0x74f", [], [], "", "-"),
    ],
)
def test_whose_memory_a_lock_is_in_is_said_where_it_is_known(name, shared, addresses, where, said):
    """Not of a place where processes are put aside: the locks that they wait for there are in
    memory that they share, as PostgreSQL's."""
    (found,) = one_view([one_lock(name, shared, 0, addresses) for _ in range(2)], 100)
    assert found["in_memory"] == where
    assert processtext._in_memory(found) == said


def test_what_is_alike_but_not_shared_is_not_one_object():
    """By name these are one row, as ever; by memory only while both processes ran."""
    of = one_lock

    def rows(*records: dict) -> list[tuple]:
        found = one_view(list(records), 100)
        return [(each["processes"], each["members"], len(each["also_called"])) for each in found]

    assert rows(of("a", ["0:1 7 +0x0"], 0), of("b", ["0:1 7 +0x0"], 1)) == [(2, 1, 1)]
    assert rows(of("a", ["0:1 7 +0x0"], 0), of("b", ["0:1 7 +0x40"], 1)) == [(1, 1, 0)] * 2
    assert rows(of("a", ["0:1 7 +0x0"], 0), of("b", ["0:1 7 +0x0"], 7)) == [(1, 1, 0)] * 2
    assert rows(of("a", [], 0), of("a", [], 0)) == [(2, 2, 0)]
    again = of("a", [], 0), of("a", [], 2)
    again[1]["process"]["id"] = again[0]["process"]["id"]
    assert rows(*again) == [(2, 2, 0)]  # of two machines, or containers
    again[0]["process"]["replaced"] = True  # by exec
    assert rows(*again) == [(1, 2, 0)]
    bridged = (of("a", ["0:1 7 +0x0"], 0), of("b", ["0:1 7 +0x8"], 0))
    assert rows(*bridged, of("c", ["0:1 7 +0x0", "0:1 7 +0x8"], 0)) == [(3, 2, 2)]
