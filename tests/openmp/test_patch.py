"""The waits inside libgomp, taken over by changing its code: what that does, and when it is not
done. A runtime that differs in one byte runs as it is, and one line says why."""

import signal
import struct
import subprocess

import pytest
from openmp_runs import PROGRAMS, compiled, environment, libgomp_image, renamed_runtime, run, source

PATCH = {"SYNCOPATE_OMP_PATCH": "1"}
SITE = bytes.fromhex("0f054883f8da")  # syscall; cmp $-ENOSYS,%rax
LOAD = bytes.fromhex("8b35")  # mov disp32(%rip),%esi
PADDING = bytes.fromhex("0f1f8000000000")  # nopl 0(%rax)

WORK = """
#include <omp.h>
#include <stdio.h>
int main(void) {
  long sum = 0;
  for (int r = 0; r < 300; ++r) {
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += omp_get_thread_num();
  }
  printf("%ld\\n", sum);
  return 0;
}
"""
# Ends by a signal when somebody wakes through the kernel after the first region.
NO_WAKING = """
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
static long sum;
static void regions(int count) {
  for (int r = 0; r < count; ++r) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += 1;
  }
}
int main(void) {
  struct sock_filter code[] = {
      LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_futex, 0, 4),
      LOAD(args[1]), BPF_STMT(BPF_ALU | BPF_AND, 127),
      BPF_JUMP(BPF_JMP | BPF_JEQ, FUTEX_WAKE, 0, 1),
      BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  regions(1);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 2;
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    return 3;
  regions(50);
  printf("%ld\\n", sum);
  fflush(stdout);
  _exit(0);
}
"""
THREADED = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *stay(void *p) { pause(); return p; }
int main(void) {
  pthread_t other;
  int sum = 0;
  pthread_create(&other, NULL, stay, NULL);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  sum += 1;
  printf("%d\\n", sum);
  return 0;
}
"""


def changed(change):
    """GCC's runtime after change(image, positions of its futex calls)."""
    image = bytearray(libgomp_image())
    sites = [i for i in range(len(image)) if image[i : i + len(SITE)] == SITE]
    assert len(sites) >= 4
    change(image, sites)
    return bytes(image)


def one_comparison(image, sites):
    image[sites[1] + 5] ^= 1


def all_comparisons(image, sites):
    for site in sites:
        image[site + 5] ^= 1


def one_operation(image, sites):
    image[image.rindex(LOAD, 0, sites[2]) + 2] ^= 8


def one_jump(image, sites):
    """A jump to a comparison, in bytes that nobody executes."""
    for site in sites:
        at = image.find(PADDING, site, site + 100)
        if at >= 0:
            struct.pack_into("Bb", image, at + 3, 0xEB, site + 2 - (at + 5))
            return
    raise AssertionError("no padding near a futex call")


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """A program whose runtime is libgomq.so.1."""
    path = tmp_path_factory.mktemp("patch")
    program = compiled(path / "stock", source(path, "work.c", WORK))
    renamed = path / "renamed"
    renamed.write_bytes(program.read_bytes().replace(b"libgomp.so.1", b"libgomq.so.1"))
    renamed.chmod(0o755)
    return renamed


def said_by(user, folder, image, **variables):
    renamed_runtime(folder, image)
    done = run([user], LD_LIBRARY_PATH=str(folder), **PATCH, **variables)
    assert done.stdout == "900\n"
    return done.stderr


def test_known_runtime_is_taken_over(user, tmp_path):
    said = said_by(user, tmp_path, None, SYNCOPATE_VERBOSE="1")
    assert said.count("\n") == 1
    assert "lock asymmetric, regions taken over" in said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (one_comparison, "its futex calls do not come in pairs"),
        (all_comparisons, "it has no futex calls as GCC writes them"),
        (one_operation, "its futex operations are not where they were expected"),
        (one_jump, "something may jump into a futex call"),
    ],
)
def test_mismatch_is_one_line_and_the_runtime_runs(user, tmp_path, change, why):
    said = said_by(user, tmp_path, changed(change))
    assert said.count("\n") == 1
    assert "the start and end of regions stay with" in said and said.endswith(f": {why}\n")


def test_not_while_other_threads_run(tmp_path):
    program = compiled(tmp_path / "threaded", source(tmp_path, "threaded.c", THREADED))
    done = run([program], **PATCH)
    assert done.stdout == "2\n"
    assert done.stderr.endswith(": other threads run already\n")


def test_nobody_asleep_is_woken(tmp_path):
    program = compiled(tmp_path / "waking", source(tmp_path, "waking.c", NO_WAKING))
    polling = {"GOMP_SPINCOUNT": "infinite"}
    assert run([program], **polling, **PATCH).stdout == "102\n"
    without = subprocess.run(
        [program], env=environment(False, **polling), capture_output=True, timeout=60, check=False
    )
    assert without.returncode == -signal.SIGSYS  # what the other run shows


def test_sleepers_are_woken():
    done = run([PROGRAMS / "gcc_teams"], GOMP_SPINCOUNT="0", SYNCOPATE_WAIT="park", **PATCH)
    assert done.stdout == "teams: all hold\n"
