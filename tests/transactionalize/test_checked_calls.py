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
