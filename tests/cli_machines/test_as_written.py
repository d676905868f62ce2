"""`syncopate check SOURCE` judges what stands there: reads of what is not used, blocks that one can
do without, memory that nobody has written; and in the source's language, whatever the compiler is
called by."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from modeled import BUILD, ROOT

from syncopate.machines import modeled as made

COMPILERS = ("gcc", "clang")


def check(source: Path, *options: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "syncopate", "check", "--seconds=60", *options, source],
        env={**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout


UNUSED_READ = """
#include <pthread.h>
static int data;
static void* reads(void* argument) {
  int copy = data;
  return argument;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, reads, 0);
  data = 1;
  return pthread_join(other, 0);
}
"""
BLOCK_WITHOUT_USE = """
#include <stdlib.h>
int main(void) {
  int* block = (int*)malloc(2 * sizeof *block);
  block[0] = 1;
  free(block);
  block[1] = 2;
  return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("text", "why"), [(UNUSED_READ, "data race"), (BLOCK_WITHOUT_USE, "use after free")]
)
def test_nothing_is_optimized_away(text: str, why: str, compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(text)
    status, said = check(source, f"--compiler={compiler}")
    assert status == 1, said
    assert f"failed: {why}" in said


# A thread reads what another has: WHERE it is, what that one has written there, and what is read.
OF_ANOTHER = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
struct pair { int first, second; };
struct bits { unsigned small : 3, large : 20; };
union any {
  int number;
  unsigned char bytes[16];
  struct pair pair;
  struct bits bits;
  double real;
};
static union any* _Atomic shown;
static atomic_int done;
static union any copy;
static void use(union any* of) { READ; }
static void* has(void* argument) {
  WHERE
  WRITTEN;
  shown = one;
  while (!done) {}
  return argument;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, has, 0);
  while (!shown) {}
  use(shown);
  done = 1;
  return pthread_join(other, 0);
}
"""
PLACES = {
    "stack": "union any room; union any* one = &room;",
    "block": "union any* one = (union any*)malloc(sizeof *one);",
}
USES = {
    "number": ("(void)0", "int i = of->number", True),
    "real": ("one->number = 1", "double d = of->real", False),
    "second": ("one->pair.first = 1", "int i = of->pair.second", True),
    "pair_copied": ("one->pair.first = 1", "copy.pair = of->pair", False),
    "all_copied": ("one->number = 1", "copy = *of", False),
    "bits": ("one->bits.small = 1", "unsigned u = of->bits.small", False),
    "bytes": ("(void)0", "unsigned char c = of->bytes[3]", False),
    "memset": ("memset(one, 0, sizeof *one)", "int i = of->number", False),
    "memcpy": ("(void)0", "memcpy(&copy, of, sizeof copy)", False),
    "ignored": ("(void)0", "(void)of", False),
}


@pytest.mark.sampled(2)
@pytest.mark.crossed("compiler", "place", "use")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("use", USES)
def test_what_nobody_has_written(use: str, place: str, compiler: str, tmp_path: Path) -> None:
    written, read, wrong = USES[use]
    text = OF_ANOTHER.replace("WHERE", PLACES[place]).replace("WRITTEN", written)
    source = tmp_path / "program.c"
    source.write_text(text.replace("READ", read))
    status, said = check(source, f"--compiler={compiler}")
    assert status == int(wrong), said
    assert ("a read of memory that nobody has written" in said) == wrong


IN_C = """
#include <stdlib.h>
int main(void) {
  int* new = malloc(sizeof *new);
  free(new);
  return 0;
}
"""
IN_CXX = """
#include <memory>
#include <thread>
int main() {
  const auto value = std::make_unique<int>(1);
  std::thread([] {}).join();
  return *value - 1;
}
"""


@pytest.mark.sampled(9)
@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
@pytest.mark.parametrize(("name", "text"), [("program.c", IN_C), ("program.cpp", IN_CXX)])
def test_a_compiler_by_either_name(name: str, text: str, compiler: str, tmp_path: Path) -> None:
    source = tmp_path / name
    source.write_text(text)
    status, said = check(source, f"--compiler={compiler}")
    assert status == 0, said


@pytest.mark.parametrize(
    ("compiler", "c", "cxx"),
    [
        ("gcc", "gcc", "g++"),
        ("clang++-14", "clang-14", "clang++-14"),
        ("/opt/bin/cc", "/opt/bin/cc", "/opt/bin/c++"),
        ("ccache x86_64-linux-gcc-12", "ccache x86_64-linux-gcc-12", "ccache x86_64-linux-g++-12"),
        ("icx", "icx", "icx"),
        ("g++ -m64", "gcc -m64", "g++ -m64"),
    ],
)  # fmt: skip
def test_the_other_name(compiler: str, c: str, cxx: str, monkeypatch) -> None:
    monkeypatch.setattr(made.shutil, "which", lambda name: name)
    assert made.for_language(compiler, "cc") == c
    assert made.for_language(compiler, "c++") == cxx
    monkeypatch.setattr(made.shutil, "which", lambda name: None)  # the other is not there
    assert made.for_language(compiler, "c++") == compiler


ALONE = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
  sigset_t one, none;
  int got = 0;
  sigemptyset(&none);
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  sigprocmask(SIG_BLOCK, &one, 0);
  BEFORE;
  CALL;
  return 0;
}
"""


@pytest.mark.parametrize("call", ["pause()", "sigsuspend(&none)", "sigwait(&one, &got)",
                                  "sigwaitinfo(&one, 0)"])  # fmt: skip
def test_a_signal_that_nobody_sends_is_a_deadlock(call: str, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(ALONE.replace("BEFORE", "(void)got").replace("CALL", call))
    status, said = check(source, "--seconds=20")
    assert status == 1, said
    assert "failed: deadlock" in said


def test_a_signal_that_has_come_is_taken(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    call = "sigwait(&one, &got); if (got != SIGUSR1) abort()"
    source.write_text(ALONE.replace("BEFORE", "raise(SIGUSR1)").replace("CALL", call))
    status, said = check(source, "--seconds=20")
    assert status == 0, said


def test_what_the_end_of_time_interrupts_has_not_passed(tmp_path: Path) -> None:
    """The call comes back with an error, which nothing else would have made it do."""
    call = "syscall(SYS_pause)"
    source = tmp_path / "program.c"
    for then in ("", "; abort()"):
        source.write_text(ALONE.replace("BEFORE", "(void)got").replace("CALL", call + then))
        status, said = check(source, "--seconds=2")
        assert status == 3, said
        assert said.endswith("limit: time\n")


EXECUTES = """
#include <unistd.h>
extern char** environ;
int main(void) {
  char* words[] = {"true", 0};
  CALL;
  return 7;
}
"""


@pytest.mark.parametrize(
    "call",
    ['execl("/bin/true", "true", (char*)0)', 'execlp("true", "true", (char*)0)',
     'execle("/bin/true", "true", (char*)0, environ)', 'execv("/bin/true", words)',
     'execvp("true", words)', 'execve("/bin/true", words, environ)'],
)  # fmt: skip
def test_another_program_does_not_take_its_place(call: str, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(EXECUTES.replace("CALL", call))
    status, said = check(source)
    assert status == 1, said
    assert "an explored program cannot become another one" in said
    assert "main returned 7" in said
