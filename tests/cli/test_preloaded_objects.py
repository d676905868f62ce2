"""What a preloaded program finds in its objects and gets from its calls: the same as without us.

Each C program below checks itself. It first runs without the library, so that glibc is the oracle.
"""

import json
import re
import subprocess

import pytest
from conftest import ROOT, compile_c, run_cli

from syncopate.base import paths

FIELDS = """
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#define EXPECT(what) \\
  if (!(what)) return fprintf(stderr, "line %d: %s\\n", __LINE__, #what), 1
static void* lock_and_unlock(void* m) {
  pthread_mutex_lock(m);
  pthread_mutex_unlock(m);
  return m;
}
static int becomes(const volatile int* word, int value) {
  for (int ms = 0; ms < 30000 && *word != value; ms++) nanosleep(&(struct timespec){0, 1000000}, 0);
  return *word == value;
}
static int is_free(const pthread_mutex_t* m) {
  return m->__data.__lock == 0 && m->__data.__owner == 0 && m->__data.__nusers == 0;
}
static int is_held(const pthread_mutex_t* m) {
  return m->__data.__lock == 1 && m->__data.__owner == gettid() && m->__data.__nusers == 1;
}
static int check(pthread_mutex_t* m, int kind) {
  pthread_t waiter;
  EXPECT(is_free(m));
  for (int round = 0; round < 3; round++) {
    EXPECT(pthread_mutex_lock(m) == 0 && is_held(m));
    EXPECT(m->__data.__kind == kind);
    EXPECT(pthread_mutex_unlock(m) == 0 && is_free(m));
    EXPECT(pthread_mutex_trylock(m) == 0 && is_held(m));
    EXPECT(pthread_mutex_unlock(m) == 0 && is_free(m));
  }
  pthread_mutex_lock(m);
  pthread_create(&waiter, 0, lock_and_unlock, m);
  EXPECT(becomes(&m->__data.__lock, 2) && m->__data.__owner == gettid());
  pthread_mutex_unlock(m);
  pthread_join(waiter, 0);
  EXPECT(is_free(m));
  return 0;
}
int main(void) {
  pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  EXPECT(check(&normal, PTHREAD_MUTEX_NORMAL) == 0);
  EXPECT(check(&checked, PTHREAD_MUTEX_ERRORCHECK) == 0);
  EXPECT(check(&recursive, PTHREAD_MUTEX_RECURSIVE) == 0);
  for (int depth = 1; depth <= 3; depth++) {
    EXPECT(pthread_mutex_lock(&recursive) == 0 && is_held(&recursive));
    EXPECT(recursive.__data.__count == depth);
  }
  for (int depth = 2; depth >= 0; depth--) {
    EXPECT(pthread_mutex_unlock(&recursive) == 0);
    EXPECT(depth == 0 ? is_free(&recursive) : recursive.__data.__count == depth);
  }
  return 0;
}
"""

SYSTEM_CALLS = """
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define EXPECT(what) \\
  if (!(what)) return fprintf(stderr, "line %d: %s, errno %d\\n", __LINE__, #what, errno), 1
#define FAILS(call, with) EXPECT((errno = 0, (call) == -1 && errno == with))
static uint32_t word = 7;
static void* release(void* x) {
  nanosleep(&(struct timespec){0, 3000000}, 0);
  __atomic_store_n(&word, 9, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
  return x;
}
int main(void) {
  const struct timespec soon = {0, 2000000}, past = {1, 0};
  pthread_t other;
  errno = 77;
  EXPECT(syscall(SYS_getpid) == getpid() && errno == 77);
  char* page = (char*)syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);  // as many as there can be
  EXPECT(page != MAP_FAILED && page[4095] == 0);
  FAILS(syscall(SYS_close, -1), EBADF);
  FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 8, 0), EAGAIN);
  FAILS(syscall(SYS_futex, &word, FUTEX_WAIT, 7, &soon), ETIMEDOUT);
  FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 7, &past, 0,
                FUTEX_BITSET_MATCH_ANY), ETIMEDOUT);
  FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 7, &past, 0, 0), EINVAL);
  FAILS(syscall(SYS_futex, (char*)&word + 1, FUTEX_WAIT, 7, 0), EINVAL);
  EXPECT(syscall(SYS_futex, &word, FUTEX_WAKE, 1) == 0);
  uint32_t owned = 0;
  EXPECT(syscall(SYS_futex, &owned, FUTEX_LOCK_PI, 0, 0) == 0 && owned == (uint32_t)gettid());
  FAILS(syscall(SYS_futex, &owned, FUTEX_LOCK_PI, 0, 0), EDEADLK);
  EXPECT(syscall(SYS_futex, &owned, FUTEX_UNLOCK_PI, 0, 0) == 0 && owned == 0);
  pthread_create(&other, 0, release, 0);
  while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 7)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 7, 0);
  pthread_join(other, 0);
  return 0;
}
"""

# Every call on these objects, by whatever versions glibc gives it. The oldest condition variables
# and the calls that only read or write attributes stay glibc's (docs/limits.md).
OURS = re.compile(
    r"(__)?pthread_(mutex|cond|rwlock|spin|barrier)_\w+|(mtx|cnd)_\w+|pthread_create|syscall"
)
GLIBCS = re.compile(r"\w+(_consistent|_consistent_np|prioceiling)")


@pytest.mark.parametrize("source", [FIELDS, SYSTEM_CALLS], ids=["fields", "system calls"])
def test_the_program_sees_no_difference(source, tmp_path):
    """Without elision: an elided section leaves its mutex free (docs/limits.md)."""
    program = compile_c(source, tmp_path / "program", "-O1", "-D_GNU_SOURCE", "-pthread")
    subprocess.run([program], check=True, timeout=60)
    ways = [["run", "--lock", lock] for lock in ("auto", "futex", "glibc")]
    ways += [["record", "-q", "--lock", lock] for lock in ("auto", "futex")]
    for way in ways:
        done = run_cli(*way, program, cwd=tmp_path, environ={"SYNCOPATE_ELIDE": "off"})
        assert (done.returncode, done.stderr) == (0, ""), way


def versions(library) -> set[tuple[str, str]]:
    """The (name, version) pairs that a library defines."""
    command = ["readelf", "--dyn-syms", "--wide", str(library)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    defined = [line.split()[7] for line in text.splitlines() if re.search(r" (FUNC|IFUNC) ", line)
               and " UND " not in line]  # fmt: skip
    return {(name, version.lstrip("@")) for name, _, version in (d.partition("@") for d in defined)}


def test_every_call_is_exported_in_every_version_of_glibc():
    with open("/proc/self/maps") as maps:
        libc = re.search(r"\S+/libc\.so\.6$", maps.read(), re.MULTILINE)
    assert libc
    wanted = {
        (name, version)
        for name, version in versions(libc[0])
        if OURS.fullmatch(name)
        and not GLIBCS.fullmatch(name)
        and version != "GLIBC_PRIVATE"
        and not (name.startswith("pthread_cond_") and version == "GLIBC_2.2.5")
    }
    assert {
        ("pthread_mutex_trylock", "GLIBC_2.2.5"),
        ("pthread_mutex_trylock", "GLIBC_2.34"),
    } < wanted
    ours = versions(paths.require(paths.PRELOAD))
    assert wanted <= ours, sorted(wanted - ours)


def test_every_lock_for_programs_runs_the_posix_programs(tmp_path):
    """Reads the test list as ctest does, with one lock more and one waiting strategy less."""
    locks = json.loads(run_cli("list", "--json").stdout)
    auto = next(lock for lock in locks if lock["name"] == "auto")
    locks.append({**auto, "name": "anderson"})
    mcs = next(lock for lock in locks if lock["name"] == "mcs")
    mcs["preload_waits"].remove("park")
    (tmp_path / "locks.json").write_text(json.dumps(locks))
    (tmp_path / "list.cmake").write_text(
        """
        function(add_test name)
          set(last "${name}" PARENT_SCOPE)
        endfunction()
        function(set_tests_properties name)
          message("${ARGV}")
        endfunction()
        set(POSIX_SECONDS 60)
        set(POSIX_PROGRAMS one=/one two=/two)
        """
        f"set(POSIX_LOCKS [==[{tmp_path}/locks.json]==])\n"
        f"include([==[{ROOT}/tests/posix/every_lock.cmake]==])\n"
    )
    command = ["cmake", "-P", tmp_path / "list.cmake"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = set(re.findall(r"SYNCOPATE_LOCK=(\S+)$", said, re.MULTILINE))
    wanted = {
        pair
        for lock in locks
        if lock["preload"]
        for pair in [
            lock["name"],
            *(f"{lock['name']}:{w}" for w in lock["preload_waits"] if w != lock["default_wait"]),
        ]
    }
    assert found == wanted and {"auto", "glibc", "anderson", "ticket:park"} < wanted
    assert "mcs:park" not in found
    assert said.count("posix.anderson.") == 2 and "posix.pass_through.two" in said
    lines = {lock: [] for lock in wanted}  # of each, whether its tests are long
    for line in said.splitlines():
        lines[line.rpartition("SYNCOPATE_LOCK=")[2]].append("long" in line)
    for lock, are_long in lines.items():
        long_ones = 2 if ":" in lock else 0 if lock in ("auto", "glibc") else 1
        assert (len(are_long), sum(are_long)) == (2, long_ones), lock
    daily = [line.split(";")[0] for line in said.splitlines() if "long" not in line]
    assert len({name.rpartition(".")[2] for name in daily if not name.endswith("auto")}) == 2


# What stands for a C library from 2.41 on: its condition variables say their clock, and whether
# processes share them, in another word than those before.
NEWER_LIBRARY = """
#include <pthread.h>
#include <string.h>
#include <time.h>
int passed_on;
int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* attributes) {
  clockid_t clock = CLOCK_REALTIME;
  int shared = 0;
  if (attributes) pthread_condattr_getclock(attributes, &clock);
  if (attributes) pthread_condattr_getpshared(attributes, &shared);
  memset(c, 0, sizeof *c);
  ((unsigned*)c)[7] = (shared ? 1 : 0) | (clock == CLOCK_MONOTONIC ? 2 : 0);
  return 0;
}
int pthread_cond_signal(pthread_cond_t* c) { return passed_on++, (void)c, 0; }
"""
NEWER_OBJECTS = """
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#define EXPECT(what) \\
  if (!(what)) return fprintf(stderr, "line %d: %s\\n", __LINE__, #what), 1
extern int passed_on;
static int later(struct timespec a, struct timespec b) {
  return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec >= b.tv_nsec);
}
int main(void) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t plain, monotonic, shared;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_cond_init(&plain, &attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&monotonic, &attributes);
  pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&shared, &attributes);
  pthread_cond_t* both[] = {&plain, &monotonic};
  for (int i = 0; i < 2; i++) {
    clockid_t clock = i ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec until, now;
    clock_gettime(clock, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec > 999999999) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&m);
    EXPECT(pthread_cond_timedwait(both[i], &m, &until) == ETIMEDOUT);
    pthread_mutex_unlock(&m);
    clock_gettime(clock, &now);
    EXPECT(later(now, until));
    pthread_cond_signal(both[i]);
    EXPECT(passed_on == 0);
  }
  pthread_cond_signal(&shared);
  EXPECT(passed_on == 1);
  return 0;
}
"""


@pytest.mark.parametrize("lock", ["auto", "mcs", "futex"])
def test_flags_of_condition_variables_are_where_the_c_library_puts_them(tmp_path, lock):
    library = compile_c(NEWER_LIBRARY, tmp_path / "libnewer.so", "-shared", "-fPIC")
    program = compile_c(
        NEWER_OBJECTS, tmp_path / "program", "-pthread", f"-L{tmp_path}", "-lnewer",
        f"-Wl,-rpath,{tmp_path}",
    )  # fmt: skip
    done = run_cli("run", "--lock", lock, program, environ={"LD_PRELOAD": str(library)})
    assert (done.returncode, done.stderr) == (0, "")
