"""Which locks and functions a pointer may mean."""

import json
import subprocess

import pytest
from rewriting import PROGRAMS, ROOT, rewrite, run, run_rewritten, transactionalize


def test_pointers_are_followed(tmp_path):
    """Through void*, calls and members, told apart by structure; where one may mean two locks,
    both stay, and no other."""
    done = rewrite(
        tmp_path, ["pointers.c"], "--atomic", "--words", "^(item|other)_locks$", status=3
    )
    assert done["locks"]["plain"]["rewritten"] == 1
    assert done["locks"]["first"]["rewritten"] == 0
    assert all(done["locks"][name]["word"] for name in ("item_locks", "other_locks"))
    lines = (PROGRAMS / "pointers.c").read_text().splitlines()
    at = lines.index("  pthread_mutex_lock(one);") + 1
    why = "a pointer may mean it, or another lock"
    stay = {e["what"] for e in done["not_done"] if (e["line"], e["why"]) == (at, why)}
    assert stay == {"first", "second"}
    expected = run(PROGRAMS, ["pointers.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["pointers.c"], tmp_path / "rewritten") == expected


def test_a_pointer_from_elsewhere_is_unknown(tmp_path):
    text = (PROGRAMS / "pointers.c").read_text()
    for what, by in [
        (
            "h.held = try_again(item);",
            "h.held = try_again(item); if (!h.held) h.held = malloc(64);",
        ),
        ("void* got = try_one(item);", "void* got = try_one(item); *(void**)&got = 0;"),
    ]:
        assert what in text
        copy = tmp_path / "unknown.c"
        copy.write_text(text.replace(what, by))
        done = transactionalize("--words", "^item_locks$", copy, "--", "-I", PROGRAMS)
        assert "item_locks: cannot be a word: a pointer may mean it at" in done.stderr, by


POINTED = """
#include <pthread.h>
typedef long (*measure)(void*);
typedef void (*change)(long*);
struct kind { measure size; change by; };
pthread_mutex_t m;
long n;
long helper(long* x);
long counted(void* x) { return helper(x); }
long helper(long* x) { return *x; }
void more(long* x) { *x += helper(x); }
static struct kind kind = {counted, more};
long outside(void) { return kind.size(&n); }
void inside(void) { pthread_mutex_lock(&m); kind.by(&n); pthread_mutex_unlock(&m); }
"""


def test_a_structure_is_one_under_its_names_where_a_pointer_means_its_lock(tmp_path):
    program = tmp_path / "pointed.c"
    text = (
        "#include <pthread.h>\n"
        "typedef struct tagged { pthread_mutex_t mutex; int n; } NAMES;\n"
        "typedef struct other { pthread_mutex_t mutex; int n; } other_t;\ntypedef renamed again;\n"
        "static void one(pthread_mutex_t* m, int* n) {\n"
        "  pthread_mutex_lock(m);\n  ++*n;\n  pthread_mutex_unlock(m);\n}\n"
        "void a(TYPE* t) { one(&t->mutex, &t->n); }\n"
        "void b(other_t* o) { pthread_mutex_lock(&o->mutex); ++o->n;"
        " pthread_mutex_unlock(&o->mutex); }\n"
        "int c(renamed* t) {\n  if (pthread_mutex_lock(&t->mutex)) return 1;\n  ++t->n;\n"
        "  return pthread_mutex_unlock(&t->mutex);\n}\n"
    )
    names = ("renamed", "struct tagged", "again")
    for name, declared in [*((n, "renamed") for n in names), ("renamed", "renamed, *pointer")]:
        program.write_text(text.replace("TYPE", name).replace("NAMES", declared))
        done = transactionalize(program)
        assert done.returncode == 3
        assert "tagged.mutex: 0 of 2 sections, stays a lock" in done.stderr, name
        assert "other.mutex: 1 of 1 sections" in done.stderr, name


def test_only_what_transactions_may_call_is_declared(tmp_path):
    """A type whose functions are called elsewhere alone stays as it is, and so do these. What is
    written compiles for a shared library, too, where GCC does not look into functions."""
    (tmp_path / "p.c").write_text(POINTED)
    done = transactionalize("--atomic", "-o", tmp_path / "out", tmp_path / "p.c")
    assert (done.returncode, done.stderr) == (0, "m: 1 of 1 sections, 1 atomic\n")
    text = (tmp_path / "out/p.c").read_text()
    for as_before in ("typedef long (*measure)(void*);", "\nlong counted(void* x)"):
        assert as_before in text
    assert text.count("transaction_safe") == 4  # change, more, helper and its declaration
    command = ["gcc", "-fgnu-tm", "-fPIC", "-c", "-o", tmp_path / "p.o", tmp_path / "out/p.c"]
    subprocess.run([*command, "-I", ROOT / "include"], check=True)


ALIASED = """\
#include <pthread.h>
#include <stdlib.h>
pthread_mutex_t small = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t several[3];
struct object { int id; pthread_mutex_t *lock; } one, all[2];
struct table { pthread_mutex_t locks[4]; long size; } table;
int n;
void plain(void) { pthread_mutex_lock(&small); n++; pthread_mutex_unlock(&small); }
void element(int i) { pthread_mutex_lock(&several[i]); n++; pthread_mutex_unlock(&several[i]); }
void member(int i) {
  pthread_mutex_lock(&table.locks[i]); n++; pthread_mutex_unlock(&table.locks[i]);
}
"""
VIA = "void via(int i) {{ pthread_mutex_lock({0}); n++; pthread_mutex_unlock({0}); }}\n"
SMALL, EACH, TABLE = "small", "several", "table.locks"
ALL, NONE, UNKNOWN = "transactions", "locks", "one is listed: it is not known which lock that is"
# What comes before, the mutex, which lock it is, and what becomes of the sections.
ALIASES = [
    ("pthread_mutex_t *to = &small;\n", "to", SMALL, ALL),
    ("pthread_mutex_t *to = &small;\nvoid set(void) { to = &other; }\n", "to", SMALL, NONE),
    ("pthread_mutex_t *to = several;\n", "&to[i]", EACH, ALL),
    ("pthread_mutex_t *to;\nvoid set(void) { to = several + 1; }\n", "to + i", EACH, ALL),
    ("pthread_mutex_t *to = &small;\nvoid set(void) { to = malloc(9); }\n", "to", SMALL, UNKNOWN),
    ("void set(void) { one.lock = &small; }\n", "one.lock", SMALL, ALL),
    ("void set(void) { one.lock = &other; all[1].lock = &small; }\n", "one.lock", SMALL, NONE),
    ("void set(struct object *o) { one.lock = &other; (*o).lock = &small; }\n", "one.lock",
     SMALL, NONE),
    ("struct object two = {1, &small};\nvoid set(void) { one.lock = &other; }\n", "two.lock",
     SMALL, UNKNOWN),
    ("void set(struct object *o) { one.lock = &other; *o = (struct object){2, &small}; }\n",
     "one.lock", SMALL, UNKNOWN),
    ("", "several + i", EACH, ALL),
    ("", "several", EACH, ALL),
    ("", "table.locks + i", TABLE, ALL),
    ("", "table.locks", TABLE, ALL),
]  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("before, mutex, lock, becomes", ALIASES)
def test_a_lock_is_one_through_any_pointer(tmp_path, before, mutex, lock, becomes):
    """Else some of its sections were transactions, and others would not know."""
    (tmp_path / "a.c").write_text(ALIASED + before + VIA.format(mutex))
    done = transactionalize("--json", tmp_path / "left.json", tmp_path / "a.c")
    of = json.loads((tmp_path / "left.json").read_text())["locks"][lock]
    assert of["rewritten"] == {ALL: 2, NONE: 0, UNKNOWN: 1}[becomes], done.stderr
    assert (f"?{mutex}: it is not known" in done.stderr) == (becomes != ALL)
    assert done.returncode == (0 if becomes == ALL else 3)


def test_a_lock_is_one_through_elements_of_local_pointers(tmp_path):
    local = "void local(int i) { pthread_mutex_t *m = several; "
    local += "pthread_mutex_lock(&m[i]); n++; pthread_mutex_unlock(&m[i]); }\n"
    given = "static void given(pthread_mutex_t *m, int i) { "
    given += "pthread_mutex_lock(&m[i]); n++; pthread_mutex_unlock(&m[i]); }\n"
    given += "void gives(void) { given(several, 2); }\n"
    (tmp_path / "a.c").write_text(ALIASED + local + given)
    done = transactionalize(tmp_path / "a.c")
    assert "several: 3 of 3 sections" in done.stderr
    assert done.returncode == 0


UNNAMED = """\
#include <pthread.h>
struct outer {
  struct { pthread_mutex_t m; long n; } in;
  union { pthread_mutex_t either; int k; };
} all[3], *one = all;
typedef struct { pthread_mutex_t other; int n; } named;
named it;
int n;
void in(void) { pthread_mutex_lock(&one->in.m); n++; pthread_mutex_unlock(&one->in.m); }
void in_by(void) {
  pthread_mutex_t *p = &all[1].in.m;
  pthread_mutex_lock(p); n++; pthread_mutex_unlock(p);
}
void either(struct outer *o) {
  if (pthread_mutex_lock(&o->either)) return;
  n++;
  pthread_mutex_unlock(&o->either);
}
void either_by(void) {
  pthread_mutex_t *p = &one->either;
  pthread_mutex_lock(p); n++; pthread_mutex_unlock(p);
}
void other(void) { pthread_mutex_lock(&it.other); n++; pthread_mutex_unlock(&it.other); }
"""


def test_a_lock_in_a_structure_without_a_name_is_one(tmp_path):
    (tmp_path / "a.c").write_text(UNNAMED)
    done = transactionalize("--json", tmp_path / "left.json", tmp_path / "a.c")
    locks = json.loads((tmp_path / "left.json").read_text())["locks"]
    assert {name: of["sections"] for name, of in locks.items()} == {
        "?.m": 2, "?.either": 2, "named.other": 1,
    }, done.stderr  # fmt: skip
