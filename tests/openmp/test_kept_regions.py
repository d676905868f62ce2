"""Teams of libgomp's that stay from one region to the next (test_kept.c has what programs see of
it): that they stay, and that a runtime whose storage is not as we know it runs as it is."""

import struct
import subprocess

import pytest
from openmp_runs import compiled, libgomp_image, renamed_runtime, run, source

KEPT = {"SYNCOPATE_OMP_REGIONS": "kept"}
PT_TLS = 7

# Between two regions: how many of the other threads are inside of a function of that library.
WHERE = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int asked, in_library;
static void look(int number) {
  void* frames[64];
  Dl_info where;
  int found = 0;
  for (int i = 0, n = backtrace(frames, 64); i < n; ++i)
    found |= dladdr(frames[i], &where) != 0 && strstr(where.dli_fname, "libsyncopate-openmp");
  in_library += found;
  --asked;
  (void)number;
}
int main(void) {
  long sum = 0;
  void* frame;
  backtrace(&frame, 1);
  signal(SIGUSR1, look);
  for (int r = 0; r < 20; ++r) {
    PRAGMA
    sum += omp_get_num_threads();
  }
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* each; (each = readdir(tasks)) != NULL;) {
    const int thread = atoi(each->d_name);
    if (thread == 0 || thread == getpid()) continue;
    ++asked;
    syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
  }
  while (asked != 0) usleep(1000);
  printf("%ld %d\n", sum, in_library);
  return 0;
}
"""


SUM = "num_threads(3) reduction(+ : sum)"
REGIONS = {"plain": f'_Pragma("omp parallel {SUM}")'} | {
    schedule: f'_Pragma("omp parallel for {SUM} schedule({schedule})") for (int i = 0; i < 3; ++i)'
    for schedule in ("dynamic", "monotonic : dynamic", "guided", "runtime", "static, 2")
}


def where(tmp_path, region="plain"):
    """The program, whose regions add 3 times their number of threads each."""
    text = WHERE.replace("PRAGMA", REGIONS[region])
    return compiled(tmp_path / "where", source(tmp_path, "where.c", text))


@pytest.mark.parametrize("region", REGIONS)
def test_the_threads_stay_with_us(tmp_path, region):
    program = where(tmp_path, region)
    assert run([program], **KEPT).stdout == "180 2\n"
    assert run([program]).stdout == "180 0\n"


OPENER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* const module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) return puts(dlerror()), 1;
  return ((int (*)(void))dlsym(module, "work"))();
}
"""


def test_the_threads_stay_with_us_where_a_module_brought_the_runtime(tmp_path):
    """As Python's wheels do: the runtime is loaded when the thread has long begun."""
    text = source(tmp_path, "where.c", WHERE.replace("PRAGMA", REGIONS["plain"]))
    module = compiled(tmp_path / "where.so", "-Dmain=work", "-fPIC", "-shared", text)
    opener = tmp_path / "opener"
    subprocess.run(["gcc", source(tmp_path, "opener.c", OPENER), "-o", opener], check=True)
    done = run([opener, module], SYNCOPATE_VERBOSE="1", **KEPT)
    assert done.stdout == "180 2\n"
    assert "regions kept\n" in done.stderr and done.stderr.endswith("is kept\n")
    assert run([opener, module]).stdout == "180 0\n"


def with_more_storage(image):
    """The runtime with 4,000 bytes of thread-local storage."""
    image = bytearray(image)
    headers, size, count = (
        *struct.unpack_from("<Q", image, 32),
        *struct.unpack_from("<HH", image, 54),
    )
    for at in range(headers, headers + size * count, size):
        if struct.unpack_from("<I", image, at)[0] == PT_TLS:
            struct.pack_into("<Q", image, at + 40, 4000)
            return bytes(image)
    raise AssertionError("no thread-local storage")


def test_another_storage_is_refused(tmp_path):
    program = where(tmp_path)
    renamed = tmp_path / "renamed"
    renamed.write_bytes(program.read_bytes().replace(b"libgomp.so.1", b"libgomq.so.1"))
    renamed.chmod(0o755)
    renamed_runtime(tmp_path, with_more_storage(libgomp_image()))
    done = run([renamed], LD_LIBRARY_PATH=str(tmp_path), **KEPT)
    assert done.stdout == "180 0\n"
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("are not kept: its thread-local storage is not as we know it\n")
