"""Threads that a program makes so that the library does not see it: by pthread_create asked for by
name in the C library itself, as Free Pascal's run-time does, or by the kernel. What they waited for
is not in the record: the report says so, and none that nobody waited."""

import pytest
from conftest import compile_c, run_cli
from kernel_support import needs_kernel
from language_support import recorded

from syncopate.records import account

# Four threads that work with a lock held and without it.
COMMON = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
enum { threads = 4, times = 60 };
static volatile uint64_t sink;
static void work(void) { for (int i = 0; i < 300000; ++i) sink += i; }
"""
BY_NAME = (
    COMMON
    + r"""
static int (*make)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
static int (*join)(pthread_t, void**);
static int (*lock)(pthread_mutex_t*);
static int (*unlock)(pthread_mutex_t*);
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static void* body(void* unused) {
  for (int i = 0; i < times; ++i) {
    lock(&cache);
    work();
    unlock(&cache);
  }
  return unused;
}
int main(void) {
  void* const library = dlopen("libc.so.6", RTLD_NOW);
  make = dlsym(library, "pthread_create"), join = dlsym(library, "pthread_join");
  lock = dlsym(library, "pthread_mutex_lock"), unlock = dlsym(library, "pthread_mutex_unlock");
  pthread_t all[threads];
  for (int i = 0; i < threads; ++i) make(&all[i], 0, body, 0);
  for (int i = 0; i < threads; ++i) join(all[i], 0);
  return 0;
}
"""
)
BY_THE_KERNEL = (
    COMMON
    + r"""
static int left = threads;
static int body(void* unused) {
  for (int i = 0; i < times; ++i) work();
  __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_exit, 0);
  return 0;
}
int main(void) {
  const int shared = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SYSVSEM;
  for (int i = 0; i < threads; ++i) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char* const stack = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, flags, -1, 0);
    clone(body, stack + (1 << 16), shared | CLONE_THREAD, 0);
  }
  while (__atomic_load_n(&left, __ATOMIC_SEQ_CST) != 0) usleep(1000);
  return 0;
}
"""
)
SEEN = BY_NAME.replace('dlopen("libc.so.6", RTLD_NOW)', "RTLD_DEFAULT")
NOTE = "of processor time went to threads that are not in here"


def reported(program, record, *how) -> tuple[dict, str]:
    """What the report says of a program, as data and as text."""
    found, _ = recorded([program], record, how)
    return found, " ".join(run_cli("report", record).stdout.split())


def built(source, tmp_path, *options):
    return compile_c(source, tmp_path / "program", "-g", "-pthread", *options)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [("-O2",), ("-O3",)], ids=" ".join)
@pytest.mark.parametrize("source", [BY_NAME, BY_THE_KERNEL], ids=["by name", "by the kernel"])
def test_the_report_says_that_it_has_not_seen_them(source, options, tmp_path):
    found, told = reported(built(source, tmp_path, *options), tmp_path / "r")
    assert len(found["threads"]) == 1
    assert sum(NOTE in note for note in found["notes"]) == 1
    unseen, seen = found["process"]["unseen_cpu_ns"], found["account"]["parts"].get("running", 0)
    assert unseen > 10 * seen
    assert not account.is_explained(found)
    assert "without those of its threads that are not recorded" in told
    assert "No thread waited for a lock that is recorded." in told


def test_they_are_all_seen_where_the_program_asks_for_no_library(tmp_path):
    found, told = reported(built(SEEN, tmp_path, "-O2"), tmp_path / "r")
    assert found["process"]["unseen_cpu_ns"] == 0
    assert len(found["threads"]) == 5
    assert NOTE not in told and "without those of its threads" not in told
    assert found["locks"][0]["name"] == "cache"


@needs_kernel
def test_the_kernels_view_sees_them(tmp_path):
    found, told = reported(built(BY_NAME, tmp_path, "-O2"), tmp_path / "r", "--kernel")
    assert len(found["threads"]) == 5
    assert found["locks"][0]["name"] == "cache"
    assert NOTE not in told
