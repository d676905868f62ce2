"""Which locks and functions a pointer may mean."""

import subprocess

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
