"""What the explored machine is shown of a program by each compiler: parts of locals, structures,
assembly, calls, signals; and what it says where it is not shown all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from modeled import BUILD, ROOT
from test_verdicts import COMPILERS, compiled, explored, wrong_ones

ELEMENT = """
#include <pthread.h>
static void *write_one(void *values) { ((int *)values)[1] = 1; return 0; }
int main() {
  int values[2] = {0, 0};
  pthread_t thread;
  pthread_create(&thread, 0, write_one, values);
  values[1] = 2;
  pthread_join(thread, 0);
  return values[1] == 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_races_on_elements_of_locals(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "element.c"
    source.write_text(ELEMENT)
    verdict, said = explored(compiled(source, compiler, "-O2", tmp_path / "out"), "", "jobs=1")
    assert verdict == "failed" and "data race" in said, said


# What compilers show in ways of their own: what a compare-exchange expects, which ones are weak,
# atomic structs, and a loop that goes from node to node with its registers as they were.
SHOWN = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
struct node { _Atomic(struct node*) next; int value; };
struct pair { int first, second; };
static struct node last, middle = {&last, 1}, top = {&middle, 1};
static atomic_int word;
static int expected;
static struct { _Alignas(8) _Atomic struct pair pair; } both;
static void *exchanges(void *to) {
  atomic_compare_exchange_strong_explicit(&word, &expected, to != 0, memory_order_relaxed,
                                          memory_order_relaxed);
  return 0;
}
static void *adds(void *unused) {
  struct pair p = atomic_load(&both.pair);
  ++p.first;
  atomic_store(&both.pair, p);
  return unused;
}
static void *walks(void *unused) {
  int sum = 0;
  for (struct node *n = &top; n != 0; n = atomic_load(&n->next)) sum += n->value;
  assert(sum == 2);
  return unused;
}
int main(int argc, char **argv) {
  int none = 0;
  const char which = argc < 2 ? 0 : argv[1][0];
  void *(*does)(void *) = which == 'e' ? exchanges : which == 'a' ? adds : walks;
  if (which == 'o') {
    assert(atomic_compare_exchange_weak(&word, &none, 1));
    return 0;
  }
  word = does == exchanges;
  pthread_t thread;
  pthread_create(&thread, 0, does, 0);
  does(&none);
  pthread_join(thread, 0);
  struct pair sum = atomic_load(&both.pair);
  assert(does != adds || sum.first == 2);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_compilers_show(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "shown.c"
    source.write_text(SHOWN)
    program = compiled(source, compiler, "-O2", tmp_path / "out")
    for name, how in [
        ("expected", "failed: data race"),
        ("one weak attempt", "failed: failed check"),
        ("atomic", "failed: failed check"),
        ("walks", "passed"),
    ]:
        _, said = explored(program, name, "jobs=1")
        assert f"explored: {how}" in said, f"{name}: {said}"


@pytest.mark.sampled(4)
@pytest.mark.crossed("source", "compiler")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "source", ["structs.cpp", "by_value.c", "out_arguments.c", "kept_results.c"]
)
def test_structs_and_results_of_calls(source: str, compiler: str, tmp_path: Path) -> None:
    program = compiled(source, compiler, "-O2", tmp_path)
    wrong = wrong_ones(program, source, "jobs=1")
    assert not wrong, "\n".join(wrong)


ASSEMBLY = """
#include "pauses.h"
static int word;
static void set(void) { __asm__ volatile("movl $1, %0" : "=m"(word)); }
int main(void) {
  int result;
  __asm__ volatile("" ::: "memory");
  __asm__ volatile("pause");
  __asm__ volatile("rep; nop" ::: "memory");
  fences();
  set();
  __asm__("movl $0, %0" : "=r"(result));
  __asm__ volatile("movl $0, (%0)" ::"r"(&word));
  return result;
}
"""
FENCES = """static inline void fences(void) {
  __asm__ volatile("mfence" ::: "memory");
  __asm__ volatile("sfence" ::: "memory");
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_assembly_that_may_touch_memory_is_named(compiler: str, level: str, tmp_path: Path) -> None:
    (tmp_path / "pauses.h").write_text(FENCES)
    source = tmp_path / "assembly.c"
    source.write_text(ASSEMBLY)
    _, said = explored(compiled(source, compiler, level, tmp_path / "out"), "", "jobs=1")
    places = "assembly.c:4, assembly.c:13, pauses.h:3"
    assert said.endswith(f", 1 threads, not seen: inline assembly at {places}\n"), said


RARE = """
#include <monetary.h>
#include <sys/msg.h>
int main(int count, char** names) {
  char text[64];
  if (count > 1) return msgctl(atoi(names[1]), IPC_STAT, 0) + (int)strfmon(text, 64, "%n", 1.0);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_calls_whose_writes_nobody_knows_are_named(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "rare.c"
    source.write_text("#include <stdlib.h>" + RARE)
    _, said = explored(compiled(source, compiler, "-O1", tmp_path / "out"), "", "jobs=1")
    assert said.endswith(", 1 threads, not seen: what these write: msgctl, strfmon\n"), said


# Each thread writes its own word and reads the other's: both cannot find nothing behind a fence.
STORE_BUFFERING = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int words[2];
static int found[2];
static void* writes(void* which) {
  const int me = which != 0;
  atomic_store_explicit(&words[me], 1, memory_order_relaxed);
  __asm__ volatile(FENCE);
  found[me] = atomic_load_explicit(&words[1 - me], memory_order_relaxed);
  return 0;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, writes, words);
  writes(0);
  pthread_join(other, 0);
  assert(found[0] || found[1]);
}
"""


@pytest.mark.sampled(3)
@pytest.mark.crossed("compiler", "level", "assembly")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    ("assembly", "how"),
    [
        ('"mfence" ::: "memory"', "passed"),
        ('"lock; addl $0,-4(%%rsp)" ::: "memory", "cc"', "passed"),
        ('"lock orq $0x0, (%%rsp)" ::: "memory"', "passed"),
        ('"mfence"', "failed"),  # the compiler may move what stands around it
        ('"" ::: "memory"', "failed"),
        ('"sfence" ::: "memory"', "failed"),
        ('"rep; nop" ::: "memory"', "failed"),
    ],
)
def test_fences_in_assembly(
    assembly: str, how: str, compiler: str, level: str, tmp_path: Path
) -> None:
    source = tmp_path / "fence.c"
    source.write_text(STORE_BUFFERING.replace("FENCE", assembly))
    _, said = explored(compiled(source, compiler, level, tmp_path / "out"), "", "jobs=1")
    assert f"explored: {how}: " in said, said


SIGNALS = """
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void handler(int signal) {
  if (signal != SIGUSR1) return;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
static void* locks(void* argument) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return argument;
}
int main(void) {
  pthread_t other;
  signal(SIGUSR1, HANDLER);
  pthread_create(&other, 0, locks, 0);
  SEND;
  return pthread_join(other, 0);
}
"""


@pytest.mark.parametrize("send", ["pthread_kill(other, SIGUSR1)", "kill(getpid(), SIGUSR1)"])
def test_signals_that_come_as_they_like_are_said(send: str, tmp_path: Path) -> None:
    def said(handler: str, send: str) -> str:
        source = tmp_path / "signals.c"
        source.write_text(SIGNALS.replace("HANDLER", handler).replace("SEND", send))
        return explored(compiled(source, "gcc", "-O0", tmp_path / "out"), "", "jobs=1")[1]

    words = "not modeled: when and where signals come"
    assert words in said("handler", send)
    assert words not in said("SIG_IGN", send)
    assert words not in said("handler", "raise(SIGUSR1)")


def test_what_no_plugin_shows_is_said(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int main(void) { return 0; }\n")
    with_plugin = compiled(source, "gcc", "-O0", tmp_path / "with")
    assert "not seen" not in explored(with_plugin, "", "jobs=1")[1]
    native = tmp_path / "native"
    (native / "lib").mkdir(parents=True)
    for library in (Path(BUILD) / "lib").glob("libsyncopate-explored*"):
        (native / "lib" / library.name).symlink_to(library)
    program = tmp_path / "without"
    subprocess.run(
        [sys.executable, "-m", "syncopate", "cc", "--machine=explored", source, "-o", program],
        env={**os.environ, "SYNCOPATE_NATIVE": str(native), "PYTHONPATH": str(ROOT), "CC": "gcc"},
        check=True,
        timeout=60,
    )
    said = explored(program, "", "jobs=1")[1]
    assert said.endswith("not seen: structs that calls take or return by value\n"), said
