"""What Coccinelle and the compiler are given to read: long functions, heads with macros, headers of
the same name."""

import json
import re
from pathlib import Path

import pytest
from rewriting import PROGRAMS, transactionalize

from syncopate.transactionalize import semantic, slices
from syncopate.transactionalize.ctext import CText

PAIRS = {
    "groups": [(["pthread_mutex_lock"], ["pthread_mutex_unlock"], False)],
    "LOCKS": ["pthread_mutex_lock"],
    "UNLOCKS": ["pthread_mutex_unlock"],
}
WANTED = re.compile("pthread_mutex_(?:try|un)?lock")

PATHS = """\
#include <pthread.h>
pthread_mutex_t m, k;
int n, x;
int other(int i) { while (i) { if (i == 7) return 1; i--; } return 0; }
#define EACH(i) for (i = 0; i < 9; i++)
int all(int a) {
  int i = a, j = a ? other(1) : 2;
  switch (a) {
  case 1: n++; pthread_mutex_lock(&m); n--; break;
  case 2: { n += a ? 1 : 2; } break;
  default: n = 0; return a ? 3 : 4;
  }
  for (i = 0; i < a; i++) { if (a == i) continue; n++; }
  for (;;) { n++; if (n > 9) break; }
  while (1) { n++; if (pthread_mutex_trylock(&k)) continue; else n--; break; }
  if (a) n++; else if (n) { pthread_mutex_unlock(&m); n = 1; return 1; } else { n = 2; }
  do n++; while (n < 7);
  do { n++; if (n == a) goto out; } while (n < 99);
  EACH(i) { n++; pthread_mutex_lock(&m); x = ({ int q = n; q + 1; }); pthread_mutex_unlock(&m); }
  if (n) {
#ifdef SOME
    n++;
#else
    n--;
#endif
    n++; pthread_mutex_lock(&m); n = (int[]){1, 2}[0]; }
  struct { int b; } of = {0}, *at = &of;
  at->b++; x = a ? n ? 1 : 2 : 3;
  if (at->b) { again: n++; if (n) goto again; }
  pthread_mutex_unlock(&m); n++;
  return 0;
out: n++; pthread_mutex_unlock(&k);
  return n;
}
int endless(void) { pthread_mutex_lock(&m); while (1) { n++; } pthread_mutex_unlock(&m); return 1; }
int twice(void) { pthread_mutex_lock(&m); if (n) { n++; x--; } else if (x) n--; else { x++; }
  pthread_mutex_unlock(&m); n++; if (n) return 1; { x++; { n--; } } return 2; }
int cut(void) {
  n++;
#ifdef SOME
  if (n) {
#else
  if (x) {
#endif
    n++; pthread_mutex_lock(&m); n = 5; } n++; return 1; }
"""


def found(path: Path) -> set[str]:
    facts = semantic.find("sections", [str(path)], [str(PROGRAMS)], **PAIRS)
    return {str((f.kind, f.line, f.column, f.function, sorted(f.more.items()))) for f in facts
            if f.kind != "understood"}  # fmt: skip


@pytest.mark.sampled(9)
@pytest.mark.parametrize("program", ["", *sorted(p.name for p in PROGRAMS.glob("*.c"))])
def test_slices_have_the_paths_of_the_whole(tmp_path, program):
    """Whatever is left out, the same locks are followed by the same unlocks and returns."""
    text = CText("p.c", (PROGRAMS / program).read_text() if program else PATHS)
    (tmp_path / "whole.c").write_text(text.text)
    sliced = slices.of_paths(text, WANTED)
    (tmp_path / "sliced.c").write_text(sliced)
    assert [len(line) for line in sliced.split("\n")] == [
        len(line) for line in text.text.split("\n")
    ]
    assert found(tmp_path / "whole.c") == found(tmp_path / "sliced.c")
    if not program:
        assert "i == 7" not in sliced and "n += a" not in sliced and "n = 2" not in sliced
        assert "int i = a" in sliced and "while (1)" in sliced and "goto again" in sliced


def long_function(statements: int) -> str:
    plain = "".join(
        f"  if (n == {i}) {{ x += {i}; n--; }} else x++;\n  for (i = 0; i < {i}; i++) n += x;\n"
        for i in range(statements)
    )
    section = "  pthread_mutex_lock(&m);\n  n++;\n  pthread_mutex_unlock(&m);\n"
    return f"void long_one(void) {{\n  int i;\n{(section + plain) * 6}}}\n"


@pytest.mark.long
def test_a_long_function_is_read_as_a_short_one(tmp_path):
    """Coccinelle would take minutes for the whole of it."""
    head = "#include <pthread.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nlong n, x;\n"
    long, short = (
        slices.of_paths(CText("p.c", head + long_function(length)), WANTED).split()
        for length in (200, 2)
    )
    assert long == short
    (tmp_path / "p.c").write_text(head + long_function(200))
    done = transactionalize("--atomic", "-o", tmp_path / "out", tmp_path / "p.c")
    assert done.returncode == 0 and "m: 6 of 6 sections, 6 atomic" in done.stderr, done.stderr


HEADS = """\
#include <pthread.h>
#define ALIGNED __attribute__((aligned(16)))
#define KEEP(n) __attribute__((optimize(n)))
#define NOTHING
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
long n;
ALIGNED static void* worker(void* p)
{
  pthread_mutex_lock(&m);
  n++;
  pthread_mutex_unlock(&m);
  return p;
}
NOTHING KEEP(2) static void again(void) { pthread_mutex_lock(&m); n--; pthread_mutex_unlock(&m); }
#define API(type) __attribute__((visibility("default"))) type
#define CALLED(kind, of)
API(long) taken(void) { pthread_mutex_lock(&m); n += 2; pthread_mutex_unlock(&m); return 0; }
CALLED(1, (2)) static inline API(struct of*) made(void)
{
  pthread_mutex_lock(&m);
  n += 3;
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) { worker(0); again(); taken(); made(); return 0; }
"""


def test_macros_for_attributes_before_a_function(tmp_path):
    (tmp_path / "p.c").write_text(HEADS)
    done = transactionalize("--atomic", "-o", tmp_path / "out", tmp_path / "p.c")
    assert "m: 4 of 4 sections, 4 atomic" in done.stderr, done.stderr
    assert "ALIGNED static void* worker" in (tmp_path / "out/p.c").read_text()


def test_headers_of_the_same_name_in_two_folders(tmp_path):
    """A header includes the one beside it, given or not."""
    for folder, member in {"a": "long in_a;", "b": "long in_b;"}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "set.h").write_text(f"struct set {{ {member} }};\n")
    (tmp_path / "b/all.h").write_text(
        '#include <pthread.h>\n#include "set.h"\n'
        "struct all { pthread_mutex_t m; struct set set; };\n"
    )
    (tmp_path / "a/p.c").write_text(
        '#include "b/all.h"\nvoid f(struct all* p) { pthread_mutex_lock(&p->m); p->set.in_b++;\n'
        "  pthread_mutex_unlock(&p->m); }\n"
    )
    files = [tmp_path / "a/p.c", tmp_path / "b/all.h"]
    done = transactionalize(
        "--atomic", "-o", tmp_path / "out", "--json", tmp_path / "j", *files, "--", f"-I{tmp_path}"
    )
    assert done.returncode == 0, done.stderr
    locks = json.loads((tmp_path / "j").read_text())["locks"]
    assert locks["all.m"]["rewritten"] == 1
    assert (tmp_path / "b/set.h").read_text().count("in_b") == 1


def test_headers_for_other_systems_are_given_too(tmp_path):
    """What the compiler's options name comes before a folder that a given file only stands in; from
    a folder above all files, it is the rewritten header that is found."""
    for folder, what in {"bsd": "#error no BSD", "unix": "#define UNIX 1"}.items():
        (tmp_path / "p" / folder).mkdir(parents=True)
        (tmp_path / "p" / folder / "system.h").write_text(f"{what}\n")
    (tmp_path / "p/shared.h").write_text(
        '#include <pthread.h>\n#include "system.h"\n#include <string.h>\n'
        "struct shared { pthread_mutex_t m; pthread_cond_t c; long n; };\nextern int UNIX_only;\n"
    )
    (tmp_path / "p/string.h").write_text("#error not that of the system\n")
    (tmp_path / "p/p.c").write_text(
        "#include <p/shared.h>\nvoid f(struct shared* p) { pthread_mutex_lock(&p->m); p->n++;\n"
        "  pthread_cond_signal(&p->c); pthread_mutex_unlock(&p->m); }\n"
    )
    files = [tmp_path / "p" / name for name in ("bsd/system.h", "p.c", "shared.h")]
    done = transactionalize(
        "--atomic", "-o", tmp_path / "out", *files, "--", f"-I{tmp_path}", "-I", tmp_path / "p/unix"
    )
    assert done.returncode == 0, done.stderr
    assert "shared.m: 1 of 1 sections, 1 atomic" in done.stderr
    assert "tm_cond_signal(&p->c)" in (tmp_path / "out/p.c").read_text()
    assert "tm_cond c;" in (tmp_path / "out/shared.h").read_text()


def test_a_function_right_behind_the_includes(tmp_path):
    """Its attribute goes behind the lines that are put there, too."""
    (tmp_path / "count.c").write_text("#include <string.h>\nlong count(long k) { return k + 1; }\n")
    (tmp_path / "p.c").write_text(
        "#include <pthread.h>\nlong count(long);\nlong n;\n"
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "void f(void) { pthread_mutex_lock(&m); n = count(n); pthread_mutex_unlock(&m); }\n"
    )
    done = transactionalize(
        "--atomic", "-o", tmp_path / "out", tmp_path / "count.c", tmp_path / "p.c"
    )
    assert done.returncode == 0, done.stderr
    first, second, third = (tmp_path / "out/count.c").read_text().splitlines()
    assert first == "#include <string.h>" and second.startswith("#include <syncopate/tm/")
    assert third.startswith("__attribute__((transaction_safe)) long count(")


COMMENTED = """\
#include <pthread.h>
/* How to use it:

@code
#include <count.h>
#define count_lock not_a_lock
@endcode
*/
#define count_lock pthread_mutex_t /* its type */
count_lock m = PTHREAD_MUTEX_INITIALIZER;
long n;
long take(void) { pthread_mutex_lock(&m); n++; return n; }
void give(void) { n--; pthread_mutex_unlock(&m); }
"""


def test_lines_in_comments_are_no_directives(tmp_path):
    (tmp_path / "p.c").write_text(COMMENTED)
    done = transactionalize(
        "--words", "m", "-o", tmp_path / "out", tmp_path / "p.c", "--", "-Werror=implicit"
    )
    assert done.returncode == 0 and "m: 1 sections, a word" in done.stderr, done.stderr
    lines = (tmp_path / "out/p.c").read_text().splitlines()
    assert lines[1].startswith("#include <syncopate/tm/") and lines.index("@code") > 2


def test_a_static_function_of_the_same_name_is_another(tmp_path):
    (tmp_path / "other.c").write_text("static long count(long k) { return k - 1; }\n"
                                      "long less(long k) { return count(k); }\n")  # fmt: skip
    (tmp_path / "count.c").write_text("long count(long k) { return k + 1; }\n")
    (tmp_path / "p.c").write_text(
        "#include <pthread.h>\nlong count(long);\nlong n;\n"
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "void f(void) { pthread_mutex_lock(&m); n = count(n); pthread_mutex_unlock(&m); }\n"
    )
    files = [tmp_path / name for name in ("other.c", "count.c", "p.c")]
    done = transactionalize("--atomic", "-o", tmp_path / "out", *files)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/other.c").read_text() == (tmp_path / "other.c").read_text()
    assert "transaction_safe" in (tmp_path / "out/count.c").read_text()
