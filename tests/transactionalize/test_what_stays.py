"""What cannot be a transaction stays a lock, and is listed."""

import json
import os
import re
import subprocess

import pytest
from rewriting import PROGRAMS, rewrite, run, run_rewritten, transactionalize

from syncopate.transactionalize import bitfields
from syncopate.transactionalize.callgraph import WAITING

TIMED = """\
#include <pthread.h>
#include <time.h>
pthread_mutex_t direct, passed, hidden, other;
int n;
#define IN_TIME(m, t) pthread_mutex_timedlock(&(m), t)
static int in_time(pthread_mutex_t *m, const struct timespec *t) {
  return pthread_mutex_timedlock(m, t);
}
void f(const struct timespec *t) {
  if (!pthread_mutex_clocklock(&direct, CLOCK_MONOTONIC, t)) pthread_mutex_unlock(&direct);
  if (!in_time(&passed, t)) pthread_mutex_unlock(&passed);
  if (!IN_TIME(hidden, t)) pthread_mutex_unlock(&hidden);
}
void g(void) { pthread_mutex_lock(&other); n++; pthread_mutex_unlock(&other); }
void h(void) { pthread_mutex_lock(&direct); n++; pthread_mutex_unlock(&direct); }
void i(void) { pthread_mutex_lock(&passed); n++; pthread_mutex_unlock(&passed); }
void j(void) { pthread_mutex_lock(&hidden); n++; pthread_mutex_unlock(&hidden); }
"""


def test_a_lock_that_is_taken_with_a_time_limit_stays(tmp_path):
    (tmp_path / "timed.c").write_text(TIMED)
    done = transactionalize("--words", ".", tmp_path / "timed.c")
    assert done.returncode == 3, done.stderr
    for why in ("10: direct: is locked with a time limit", "7: passed: is locked with a time limit",
                "12: hidden: the macro IN_TIME"):  # fmt: skip
        assert f"timed.c:{why}" in done.stderr
    changed = [line for line in done.stdout.splitlines() if "tm_word" in line or "__trans" in line]
    assert changed == ["+void g(void) { tm_word_acquire(&other); n++; tm_word_release(&other); }"]


def test_what_cannot_be_done_is_listed(tmp_path):
    done = rewrite(tmp_path, ["refused.c"], "--atomic", status=3)
    lines = (PROGRAMS / "refused.c").read_text().splitlines()
    expected = {
        n: m[1] for n, line in enumerate(lines, 1) if (m := re.search(r"// NOT: (.*)", line))
    }
    found = {entry["line"]: entry for entry in done["not_done"]}
    for line, why in expected.items():
        assert why in found[line]["why"], (line, found[line])
    unexpected = {n: entry["why"] for n, entry in found.items() if n not in expected}
    assert all("volatile" in why for why in unexpected.values()), unexpected
    speaks = next(e for e in done["not_done"] if "fprintf" in e["why"])
    assert [step.split(" at ")[0] for step in speaks["chain"]] == ["log_value", "say", "fprintf"]
    blocks = next(e for e in done["not_done"] if "a lock that stays" in e["why"])
    assert [step.split(" at ")[0] for step in blocks["chain"]][-1] == "pthread_mutex_lock"
    assert done["locks"]["prints"]["rewritten"] == 1
    assert done["locks"]["held"]["rewritten"] == 0
    printed = run_rewritten(tmp_path / "out", ["refused.c"], tmp_path / "rewritten")
    assert printed == run(PROGRAMS, ["refused.c"], tmp_path / "locked")


def test_bit_fields(tmp_path):
    """GCC loses a bit-field's neighbours in transactions: such locks stay, and it is said where."""
    done = rewrite(tmp_path, ["bit_fields.c"], "--atomic", status=3)
    assert {name: lock["rewritten"] for name, lock in done["locks"].items()} == {
        "direct": 0, "by_macro": 0, "by_call": 0, "copied": 1,
    }  # fmt: skip
    source = (PROGRAMS / "bit_fields.c").read_text().splitlines()
    said = {entry["what"]: entry for entry in done["not_done"]}
    for name, member, there in [
        ("direct", "low", "one.low++;"),
        ("by_macro", "inner", "RAISE(&two);"),
        ("by_call", "high", "f->high++;"),
    ]:
        line = next(n for n, text in enumerate(source, 1) if there in text)
        assert f"bit-field {member} (bit_fields.c:{line})" in said[name]["why"]
    assert [step.split(" at ")[0] for step in said["by_call"]["chain"]] == [
        "count_deeply", "count_in",
    ]  # fmt: skip
    expected = run(PROGRAMS, ["bit_fields.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["bit_fields.c"], tmp_path / "rewritten") == expected


BIT_FIELDS = """
struct a { unsigned x:3, y : 4 __attribute__((packed)); long z; int :0; int *p; };
union __attribute__((aligned(8))) b {
  struct { int u : (1 + 2); enum { C = 1 ? 2 : 3, D } d; } in;
};
typedef struct { unsigned long v:sizeof(int) * 8, w; } c;
int f(struct a *p) {
  switch (p->z) { case 1: return p->p ? 1 : 2; default: ; }
again: return p->x;
}
int g(c *p) { struct local { int k : 2; } l = {1}; return l.k + p->v + p->w; }
"""


def test_what_is_a_bit_field(tmp_path):
    marked = bitfields.mark(BIT_FIELDS)
    (tmp_path / "marked.c").write_text(marked)
    done = subprocess.run(
        ["gcc", "-fsyntax-only", "-fdiagnostics-plain-output", tmp_path / "marked.c"],
        capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert marked.count(bitfields.MARK) == 6  # x, y, u, v, k, and one without a name
    found = bitfields.uses(done.stderr, os.path.basename)
    assert {name: [a.member for a in all_of] for name, all_of in found.items()} == {
        "f": ["x"], "g": ["k", "v"],
    }  # fmt: skip
    assert bitfields.mark("int f(int a) { again: return a ? 1 : 2; }").count(bitfields.MARK) == 0


SHARED = """
#include <pthread.h>
struct shared { pthread_mutex_t lock; long n; };
struct own { pthread_mutex_t plain; long n; };
static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER, passed;
static long count;
static void prepare(pthread_mutexattr_t* a) { pthread_mutexattr_setpshared(a, SHARING); }
static void make(pthread_mutex_t* m, pthread_mutexattr_t* a) { pthread_mutex_init(m, a); }
void begin(struct shared* s, struct own* o) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  prepare(&attr);
  pthread_mutex_init(&s->lock, &attr);
  pthread_mutex_init(&o->plain, (void*)0);
  make(&passed, &attr);
}
void add(struct shared* s, struct own* o) {
  pthread_mutex_lock(&s->lock); s->n++; pthread_mutex_unlock(&s->lock);
  pthread_mutex_lock(&o->plain); o->n++; pthread_mutex_unlock(&o->plain);
  pthread_mutex_lock(&alone); count++; pthread_mutex_unlock(&alone);
  pthread_mutex_lock(&passed); count++; pthread_mutex_unlock(&passed);
}
"""


@pytest.mark.parametrize(
    ("sharing", "stay"),
    [("PTHREAD_PROCESS_SHARED", {"shared.lock", "passed"}), ("PTHREAD_PROCESS_PRIVATE", set())],
)
def test_locks_between_processes_stay(tmp_path, sharing, stay):
    (tmp_path / "s.c").write_text(SHARED.replace("SHARING", sharing))
    done = transactionalize("--json", "-", "--words", "^shared", tmp_path / "s.c")
    assert done.returncode == (3 if stay else 0), done.stderr
    made = json.loads(done.stdout)
    kept = {name for name, lock in made["locks"].items() if not (lock["rewritten"] or lock["word"])}
    assert kept == stay and len(made["locks"]) == 4
    assert {entry["what"] for entry in made["not_done"]} == stay


MAKE = "#define MAKE(lock) pthread_spin_init(lock, SHARING)"


OTHERS_SHARED = """
#include <pthread.h>
struct shared { pthread_rwlock_t lock; pthread_spinlock_t quick; long n; };
static pthread_rwlock_t alone = PTHREAD_RWLOCK_INITIALIZER;
static long count;
WAY
static void make(pthread_spinlock_t* quick) { CALL; }
void begin(struct shared* s) {
  pthread_rwlockattr_t attr;
  pthread_rwlockattr_init(&attr);
  pthread_rwlockattr_setpshared(&attr, SHARING);
  pthread_rwlock_init(&s->lock, &attr);
  make(&s->quick);
}
void add(struct shared* s) {
  pthread_rwlock_wrlock(&s->lock); s->n++; pthread_rwlock_unlock(&s->lock);
  pthread_spin_lock(&s->quick); s->n++; pthread_spin_unlock(&s->quick);
  pthread_rwlock_rdlock(&alone); count = 1; pthread_rwlock_unlock(&alone);
}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("sharing", "way", "stay"),
    [("PTHREAD_PROCESS_SHARED", "", {"lock", "quick"}),
     ("PTHREAD_PROCESS_SHARED", MAKE, {"lock", "quick", "alone"}),
     ("PTHREAD_PROCESS_PRIVATE", MAKE, set())],
)  # fmt: skip
def test_other_locks_between_processes_stay(tmp_path, sharing, way, stay):
    """What a macro makes may be any lock."""
    call = "MAKE(quick)" if way else "pthread_spin_init(quick, SHARING)"
    text = OTHERS_SHARED.replace("WAY", way).replace("CALL", call).replace("SHARING", sharing)
    (tmp_path / "s.c").write_text(text)
    done = transactionalize("--json", "-", tmp_path / "s.c")
    made = json.loads(done.stdout)["locks"]
    kept = {name.rsplit(".", 1)[-1] for name, lock in made.items() if not lock["rewritten"]}
    assert (kept, len(made)) == (stay, 3), done.stderr


def test_what_is_listed_has_the_programs_own_lines_and_names(tmp_path):
    """Calls over several lines, behind macros, are written out for the analysis."""
    (tmp_path / "n.c").write_text(
        "#include <pthread.h>\npthread_rwlock_t b, c; pthread_mutex_t m; long n;\n"
        "#define TAKE(l) pthread_rwlock_rdlock(l)\n"
        "void two(void) {\n  TAKE(\n    &b\n  );\n  if (n) return;\n"
        "  pthread_rwlock_unlock(&b);\n}\n"
        "static void inner(void) {\n  TAKE(&c);\n}\n"
        "void three(void) {\n  pthread_mutex_lock(&m);\n  inner();\n"
        "  pthread_mutex_unlock(&m);\n}\n"
    )
    done = transactionalize(tmp_path / "n.c")
    assert done.stderr.splitlines()[:5] == [
        "n.c:5: b: the function returns with the lock held (line 8)",
        "n.c:15: m: waits for a lock that stays",
        "    inner at n.c:16",
        "    TAKE at n.c:12",
        "n.c:16: c: its unlock is in another function",
    ]


def test_whatever_waits(tmp_path):
    """A section that waits for another thread, by whatever call, stays a section with a lock."""
    names = [
        name for name, why in WAITING.items()
        if not name.startswith(("pthread_mutex_", "pthread_cond_"))
        and why not in ("waits for input", "waits for a signal")  # test_left_out.py
    ]  # fmt: skip
    section = "pthread_mutex_t m_{0}; void in_{0}(void* p) {{ pthread_mutex_lock(&m_{0}); n++;"
    section += " {0}(p); pthread_mutex_unlock(&m_{0}); }}"
    lines = [
        "#include <bits/pthreadtypes.h>",
        "long n;",
        "int pthread_mutex_lock(pthread_mutex_t*), pthread_mutex_unlock(pthread_mutex_t*);",
    ]
    for name in [*names, "pthread_rwlock_tryrdlock"]:
        lines += [f"int {name}(void*);", section.format(name)]
    (tmp_path / "w.c").write_text("\n".join(lines))
    done = transactionalize("--json", "-", tmp_path / "w.c")
    made = json.loads(done.stdout)
    rewritten = {name for name, lock in made["locks"].items() if lock["rewritten"]}
    assert rewritten == {"m_pthread_rwlock_tryrdlock"}, done.stderr
    for name in names:
        assert any(e["what"] == f"m_{name}" and WAITING[name] in e["why"] for e in made["not_done"])


UNFIT = """
#include <pthread.h>
#include <stdarg.h>
typedef void (*change)(long*, va_list);
struct bits { int few : 3; };
static pthread_mutex_t direct = PTHREAD_MUTEX_INITIALIZER, pointed = PTHREAD_MUTEX_INITIALIZER;
static long n, k;
static struct bits b;
static void add(long* to, va_list ap) { *to += va_arg(ap, int); }
static void raise(long* to, va_list ap) { *to += b.few++; }
static const change all[] = {add, raise};
void call_directly(int unused, ...) {
  va_list ap;
  va_start(ap, unused);
  pthread_mutex_lock(&direct); add(&n, ap); pthread_mutex_unlock(&direct);
  va_end(ap);
}
void call_by_pointer(int which, ...) {
  va_list ap;
  va_start(ap, which);
  change by = all[which];
  pthread_mutex_lock(&pointed); k++; by(&k, ap); pthread_mutex_unlock(&pointed);
  va_end(ap);
}
int main(void) { return 0; }
"""


def test_what_the_compiler_cannot_do(tmp_path):
    """GCC crashes at va_arg where transactions reach it, and spoils bit-fields: such functions are
    called by none, or through pointers, and then alone."""
    (tmp_path / "u.c").write_text(UNFIT)
    done = transactionalize("--atomic", "--json", "-", "-o", tmp_path / "out", tmp_path / "u.c")
    assert done.returncode == 3, done.stderr
    made = json.loads(done.stdout)["locks"]
    assert (made["direct"]["rewritten"], made["pointed"]["rewritten"]) == (0, 1)
    assert made["pointed"]["atomic"] == 0
    assert "calls va_arg (in add)" in done.stderr
    text = (tmp_path / "out/u.c").read_text()
    assert "transaction_" not in text.replace("__transaction_relaxed", "")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("user_too", [False, True])
def test_functions_of_a_librarys_users_may_take_its_locks(tmp_path, user_too):
    """A transaction that cannot be rolled back keeps all others from beginning, also one of who has
    the lock that the function waits for. It is given through a pointer, in a file that is not here.
    """
    library, user = "callback_library.c", "callback_user.c"
    done = rewrite(tmp_path, [library, user] if user_too else [library], status=3)
    (told,) = (each for each in done["not_done"] if each["what"] == "events")
    waits = "waits for a lock that stays" if user_too else "may wait for a lock that stays, in a"
    assert told["why"].startswith(waits), told
    assert told["chain"][-1].startswith("pthread_mutex_lock at ")
    if not user_too:
        assert told["chain"][0].endswith("callback_library.c:17, which may call inner")
        (tmp_path / "out" / user).write_bytes((PROGRAMS / user).read_bytes())
    assert run_rewritten(tmp_path / "out", [library, user], tmp_path / "program") == "500000\n"
