"""Switched off, the library is as if it were not there: whatever is called through it reaches the
library behind it that stands in for the same names, as often as without us. And programs whose
sanitizer wants to come first."""

import re
import subprocess

import pytest
from conftest import HERE, ROOT, compile_c, one_line, run_cli

from syncopate.base import paths, preloading

# A library that gives its names no versions, as most that people write; each passes on and counts,
# for children, too.
COUNTER = """
#define _GNU_SOURCE
#define dlclose declared_otherwise
#define _Exit declared_as_well
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#undef dlclose
#undef _Exit
typedef long call(long, long, long, long, long, long, long);
#define STAND_IN(name)                                                \\
  long name(long a, long b, long c, long d, long e, long f, long g) { \\
    static call* next;                                                \\
    if (!next) next = (call*)dlsym(RTLD_NEXT, #name);                 \\
    if (count) count[of_##name]++;                                    \\
    return next(a, b, c, d, e, f, g);                                 \\
  }
#define TELL(name) fprintf(out, #name " %ld\\n", atomic_load(count + of_##name));
enum { @NUMBERS@ };
static atomic_long* count;
__attribute__((constructor)) static void share(void) {
  count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
@STAND_INS@
__attribute__((destructor)) static void tell(void) {
  FILE* out = fopen(getenv("CALLS"), "w");
  @TELLS@
  fclose(out);
}
"""


def names() -> list[str]:
    """Every function that the preload library stands in for."""
    with open(f"{ROOT}/products/preload/exports.map.in", encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    found = re.findall(r"^    (\w+);$", text, re.MULTILINE)
    return sorted(name for name in found if not name.startswith("syncopate_"))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    stand_ins = "\n".join(f"STAND_IN({name})" for name in names())
    tells = "\n  ".join(f"TELL({name})" for name in names())
    numbers = ", ".join(f"of_{name}" for name in names())
    source = COUNTER.replace("@NUMBERS@", numbers)
    source = source.replace("@STAND_INS@", stand_ins).replace("@TELLS@", tells)
    compile_c(source, folder / "counter.so", "-shared", "-fPIC",
              "-fno-builtin", "-w")  # fmt: skip
    subprocess.run(
        ["gcc", "-pthread", "-Wall", "-Wextra", HERE / "every_call.c", "-o", folder / "every_call"],
        check=True,
    )
    return folder


def calls(folder, preloaded: list[str], **environ) -> dict[str, int]:
    told = folder / "calls"
    subprocess.run(
        [folder / "every_call"],
        env={"LD_PRELOAD": ":".join(map(str, preloaded)), "CALLS": str(told), **environ},
        check=True,
        timeout=60,
    )
    return {line.split()[0]: int(line.split()[1]) for line in told.read_text().splitlines()}


@pytest.mark.parametrize("how", [{"SYNCOPATE": "off"}, {"SYNCOPATE_LOCK": "glibc"}], ids=str)
def test_every_call_reaches_the_library_behind_us(programs, how):
    counter = programs / "counter.so"
    alone = calls(programs, [counter])
    assert [name for name in names() if alone[name] == 0] == []  # the program calls them all
    assert calls(programs, [paths.require(paths.PRELOAD), counter], **how) == alone


def test_who_is_behind_us_is_no_matter_to_the_program(programs):
    """With our locks in place, and recorded."""
    for environ in ({}, {"SYNCOPATE_RECORD": str(programs / "r")}):
        calls(programs, [paths.require(paths.PRELOAD), programs / "counter.so"], **environ)


RACELESS = """
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int n, ready;
static void* run(void* x) {
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(&m);
    n++;
    pthread_mutex_unlock(&m);
  }
  pthread_mutex_lock(&m);
  ready++;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return x;
}
int main(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(t + i, 0, run, 0);
  pthread_mutex_lock(&m);
  while (ready < 3) pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return n == 3000 ? 5 : 9;
}
"""


@pytest.mark.parametrize("linked", [[], ["-static-lib{}san"]], ids=["dynamic", "static"])
@pytest.mark.parametrize("sanitizer", ["address", "thread", "leak"])
def test_programs_with_sanitizers_run_or_are_refused(tmp_path, sanitizer, linked):
    """The thread sanitizer would report a race here if it did not see the locks."""
    program = tmp_path / "program"
    options = [each.format(sanitizer[0]) for each in linked]
    compile_c(RACELESS, program, "-g", "-pthread", f"-fsanitize={sanitizer}", *options)
    alone = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    environ = {}
    if "LeakSanitizer has encountered a fatal error" in alone.stderr:  # ptrace is refused here
        environ = dict.fromkeys(("ASAN_OPTIONS", "LSAN_OPTIONS"), "detect_leaks=0")
    for command in (["run"], ["record", "-q", "-o", str(tmp_path / "r")]):
        done = run_cli(*command, "--", program, environ=environ)
        if sanitizer == "leak" and linked:
            assert done.returncode == 2
            assert "has the leak sanitizer linked in" in one_line(done)
        else:
            assert (done.returncode, done.stdout, done.stderr) == (5, "", "")


@pytest.mark.parametrize("lock", ["cna", "nosuch"])
def test_a_lock_that_cannot_stand_behind_mutexes_is_not_said_to_be_unknown(lock):
    """`syncopate list` has some that only the library offers."""
    library = paths.require(paths.PRELOAD)
    environ = preloading.changed({"SYNCOPATE_LOCK": lock}, {"LD_PRELOAD": str(library)})
    done = subprocess.run(["/bin/true"], env=environ, capture_output=True, text=True, check=True)
    told = f"no lock for a program's mutexes is called '{lock}'; using auto"
    assert told in one_line(done)
