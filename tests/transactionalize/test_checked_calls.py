"""Locks whose calls stand in macros that check what they return, and tries behind other names."""

import json
import re
from pathlib import Path

import pytest
from rewriting import run, run_rewritten, transactionalize

HEAD = """\
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
long n; int error;
"""
MAIN = """
static void* work(void* none) {
  for (int i = 0; i < 3000; i++) once();
  return none;
}
int main(void) {
  pthread_t thread[3];
  for (int i = 0; i < 3; i++) pthread_create(&thread[i], 0, work, 0);
  for (int i = 0; i < 3; i++) pthread_join(thread[i], 0);
  printf("%ld %d\\n", n, error);
}
"""
LOCKED = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
USED = """\
static void once(void) { CHECK(pthread_mutex_lock(&m)); n++; CHECK(pthread_mutex_unlock(&m)); }
"""
CHECKS = {
    "assert": "#define CHECK(e) assert((e) == 0)",
    "assert of the negated": "#define CHECK(e) assert(!(e))",
    "levels": "#define EQUAL(e, v) assert(e == v)\n#define CHECK(e) EQUAL(e, 0)",
    "if": "#define CHECK(e) do { if ((e)) abort(); } while (0)",
    "unequal": "#define CHECK(e) do { if ((e) != 0) { error = 1; abort(); } } while (0)",
    "stored": "#define CHECK(e) do { int rc = (e); if (rc != 0) { fprintf(stderr, #e); abort(); } }"
    " while (0)",
    "expression": "#define CHECK(e) ((e) ? abort() : (void)0)",
    "cast": "#define CHECK(e) ((void)(e))",
}
WRAPPED = """\
static inline void take(pthread_mutex_t* of) { CHECK(pthread_mutex_lock(of)); }
static inline void give(pthread_mutex_t* of)
{
  CHECK(pthread_mutex_unlock(of));
}
#define TAKE CHECK(pthread_mutex_lock(&m))
static void once(void) { take(&m); n++; give(&m); TAKE; n--; CHECK(pthread_mutex_unlock(&m));
  take(&m); n += 2; if (n == 7) { give(&m); return; } n--; give(&m); }
"""


def made(tmp_path: Path, program: str, *flags: str) -> dict:
    (tmp_path / "p.c").write_text(HEAD + LOCKED + program + MAIN)
    done = transactionalize(
        "--atomic", "--json", tmp_path / "j", "-o", tmp_path / "out", tmp_path / "p.c", "--", *flags
    )
    assert done.returncode in (0, 3), done.stderr
    return json.loads((tmp_path / "j").read_text())["locks"]["m"]


@pytest.mark.sampled(4)
@pytest.mark.crossed("program", "check")
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("program", [USED, WRAPPED], ids=["used", "wrapped"])
def test_macros_that_check_calls(tmp_path, program, check):
    lock = made(tmp_path, f"{CHECKS[check]}\n{program}")
    assert lock["rewritten"] == lock["sections"] == {USED: 1, WRAPPED: 3}[program], check
    expected = run(tmp_path, ["p.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["p.c"], tmp_path / "rewritten") == expected
    assert "pthread_mutex_lock(" not in re.sub(
        r"#define.*|static inline.*", "", (tmp_path / "out/p.c").read_text()
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "check",
    [
        "#define CHECK(e) do { if ((e)) n = -1; else error++; } while (0)",  # where it succeeds
        "#define CHECK(e) do { if (!(e)) abort(); (e); } while (0)",  # not the same
        "#define CHECK(e) (error |= (e))",
        "#define NDEBUG\n#include <assert.h>\n#define CHECK(e) assert((e) == 0)",  # no call at all
    ],
)
def test_macros_that_do_more_than_check(tmp_path, check):
    assert made(tmp_path, f"{check}\n{USED}")["rewritten"] == 0
    assert "CHECK(pthread_mutex_lock(&m))" in (tmp_path / "out/p.c").read_text()


TRIES = {
    "as it is": ("return pthread_mutex_trylock(of);", "try_it(&m) == 0"),
    "in brackets": ("return (pthread_mutex_trylock(of));", "!try_it(&m)"),
    "negated": ("return !pthread_mutex_trylock(of);", "try_it(&m)"),
    "compared": ("return pthread_mutex_trylock(of) == 0;", "try_it(&m)"),
    "in brackets, compared": ("return (pthread_mutex_trylock(of) == 0);", "try_it(&m)"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("form", TRIES)
@pytest.mark.parametrize("words", [False, True])
def test_functions_that_return_what_a_try_says(tmp_path, form, words):
    body, succeeds = TRIES[form]
    program = f"""
static inline int try_it(pthread_mutex_t* of) {{ {body} }}
static void once(void) {{
  if ({succeeds}) {{
    n++;
    pthread_mutex_unlock(&m);
  }} else {{
    pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m);
  }}
}}
"""
    if words:
        (tmp_path / "p.c").write_text(HEAD + LOCKED + program + MAIN)
        done = transactionalize(
            "--atomic", "--words", "^m$", "-o", tmp_path / "out", tmp_path / "p.c"
        )
        assert "m: 2 sections, a word" in done.stderr, done.stderr
    else:
        without = re.sub(r"\} else \{.*?\n  \}", "}", program, flags=re.S)
        lock = made(tmp_path, without)
        assert lock["rewritten"] == lock["sections"] == 1
        made(tmp_path, program)
    expected = run(tmp_path, ["p.c"], tmp_path / "locked")
    assert (
        run_rewritten(tmp_path / "out", ["p.c"], tmp_path / "rewritten") == expected == "9000 0\n"
    )


HANDLED = """\
struct queue { pthread_mutex_t lock; long n; } queues[2];
pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER, fixed = PTHREAD_MUTEX_INITIALIZER;
static void unlock_it(void* it) { pthread_mutex_unlock(it); }
static void pushed(pthread_mutex_t* of) {
  PUSH;
  pthread_mutex_lock(&m);
  n++;
  pthread_cleanup_pop(1);
}
static void once(void) {
  pushed(&fixed);
  pthread_mutex_lock(&other); queues[1].n++; pthread_mutex_unlock(&other);
  pthread_mutex_lock(&fixed); queues[1].n--; pthread_mutex_unlock(&fixed);
  pthread_mutex_lock(&queues[0].lock); queues[0].n++; pthread_mutex_unlock(&queues[0].lock);
}
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("push", "stay"),
    [
        ("pthread_cleanup_push((void*)pthread_mutex_unlock, &m)", {"m"}),
        ("pthread_cleanup_push((void (*)(void*))pthread_mutex_unlock, (void*)&m)", {"m"}),
        ("pthread_cleanup_push(unlock_it, &m)", {"m"}),
        ("pthread_cleanup_push((void*)pthread_mutex_unlock, malloc(64))", None),
        ("pthread_cleanup_push((void*)pthread_mutex_unlock, of)", {"m", "fixed"}),
        (
            "void (*f)(void*) = (void*)pthread_mutex_unlock; pthread_cleanup_push(f, &m)",
            None,
        ),
    ],
)
def test_what_a_cancelled_threads_handler_unlocks(tmp_path, push, stay):
    """Only the lock that it is given may be meant; an unknown one may be any."""
    (tmp_path / "p.c").write_text(HEAD + LOCKED + HANDLED.replace("PUSH", push) + MAIN)
    done = transactionalize("--atomic", "--json", tmp_path / "j", tmp_path / "p.c", "-o", tmp_path)
    assert done.returncode == 3, done.stderr
    locks = json.loads((tmp_path / "j").read_text())["locks"]
    assert {name for name, lock in locks.items() if not lock["rewritten"]} == (stay or {*locks})


DECLARED = """\
#ifdef SOME_OTHER_SYSTEM
#define MUTEX(name) other_mutex (name)
#define COND(name) other_condition (name)
#else
#define MUTEX(name) pthread_mutex_t (name)
#define COND(name) pthread_cond_t (name)
#endif
struct part {
  MUTEX(lock);
    COND(ready); long n, is_ready;
} part;
MUTEX(of_file); COND(stays);
static void* setter(void* none) {
  pthread_mutex_lock(&part.lock); part.is_ready = 1; pthread_cond_signal(&part.ready);
  pthread_mutex_unlock(&part.lock);
  pthread_mutex_lock(&of_file); n++; pthread_cond_signal(&stays); pthread_mutex_unlock(&of_file);
  return none;
}
int main(void) {
  pthread_t thread;
  pthread_cond_t* pointed = &stays;
  pthread_mutex_init(&part.lock, 0); pthread_cond_init(&part.ready, 0);
  pthread_mutex_init(&of_file, 0); pthread_cond_init(&stays, 0);
  pthread_create(&thread, 0, setter, 0);
  pthread_mutex_lock(&part.lock);
  while (!part.is_ready)
    pthread_cond_wait(&part.ready, &part.lock);
  pthread_mutex_unlock(&part.lock);
  pthread_mutex_lock(&of_file); while (!n) pthread_cond_wait(pointed, &of_file);
  pthread_mutex_unlock(&of_file);
  pthread_join(thread, 0);
  printf("%ld %ld\\n", part.is_ready, n);
}
"""


def test_macros_that_declare(tmp_path):
    (tmp_path / "p.c").write_text(HEAD + DECLARED)
    done = transactionalize(
        "--atomic", "--json", tmp_path / "j", "-o", tmp_path / "out", tmp_path / "p.c"
    )
    locks = json.loads((tmp_path / "j").read_text())["locks"]
    assert locks["part.lock"]["rewritten"] == 2 and locks["of_file"]["rewritten"] == 0, done.stderr
    written = (tmp_path / "out/p.c").read_text()
    assert (
        "MUTEX(of_file); COND(stays);" in written
        and "pthread_cond_signal(&stays)" in written
        and "tm_cond ready; long n" in written
    )
    expected = run(tmp_path, ["p.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["p.c"], tmp_path / "rewritten") == expected == "1 1\n"
