"""Locks are known under whatever names: macros, functions, structures."""

import json

import pytest
from rewriting import PROGRAMS, rewrite, run, run_rewritten, transactionalize


def test_locks_behind_other_names(tmp_path):
    """Functions that spin, return the status or check it; macros over them; constant tables; other
    names of the types, also behind pointers. What stays a lock is called as before."""
    done = rewrite(tmp_path, ["many_names.c", "many_names.h"], "--atomic", status=3)
    sections = {"account.guard": 2, "tabled": 2, "spun": 1, "asked": 1, "told": 1, "polite": 1}
    sections |= {"box.opened": 2, "box.flat": 1}
    for name, count in sections.items():
        assert done["locks"][name] == {
            "sections": count, "rewritten": count, "atomic": count, "word": False,
        }, name  # fmt: skip
    assert done["locks"]["stays"]["rewritten"] == 0
    assert (
        done["locks"]["box.watched"]["sections"],
        done["locks"]["box.watched"]["rewritten"],
    ) == (2, 0)
    text = (tmp_path / "out/many_names.c").read_text()
    assert "if (spin_lock(&stays) == 0) {" in text
    for kept in ("GIVE_BACK(&stays);", "own_mutex* const watched = ", "OWN_LOCK_CHECKED(watched);",
                 "OWN_WAIT(&b->drained, watched);"):  # fmt: skip
        assert kept in text
    assert "tm_cond_wait(&b->filled); goto" in text
    header = (PROGRAMS / "many_names.h").read_text()
    header = header.replace("own_cond filled;", "tm_cond filled;")
    written = (tmp_path / "out/many_names.h").read_text()
    assert [line for line in written.splitlines() if "syncopate" not in line] == header.splitlines()
    expected = run(PROGRAMS, ["many_names.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["many_names.c"], tmp_path / "rewritten") == expected


def test_a_lock_that_is_taken_through_a_variable_function_stays(tmp_path):
    program = tmp_path / "variable.c"
    program.write_text(
        "#include <pthread.h>\nstatic pthread_mutex_t guard; long n;\n"
        "int (*take)(pthread_mutex_t*) = pthread_mutex_lock;\n"
        "void a(void) { pthread_mutex_lock(&guard); ++n; pthread_mutex_unlock(&guard); }\n"
        "void b(void) { take(&guard); ++n; pthread_mutex_unlock(&guard); }\n"
    )
    done = transactionalize(program)
    assert done.returncode == 3
    assert "variable.c:3: guard: pthread_mutex_lock may be called for it through a" in done.stderr
    assert "guard: 0 of 1 sections, stays a lock" in done.stderr
    program.write_text(program.read_text().replace("(*take)", "(*const take)"))
    done = transactionalize(program)
    assert "guard: 2 of 2 sections" in done.stderr
    assert done.returncode == 0


HIDING = """\
#define INC(m) { pthread_mutex_lock(&(m)); n++; pthread_mutex_unlock(&(m)); }
#define ENTER { pthread_mutex_lock(&entered); depth++; }
#define LEAVE() { depth--; pthread_mutex_unlock(&entered); }
"""


OF_SOURCE = """\
#include <pthread.h>
pthread_mutex_t whole, around, entered, waited, other;
pthread_cond_t changed;
int n, depth;
#include "hiding.h"
static void take(pthread_mutex_t *m) { int bad = pthread_mutex_lock(m); (void)bad; }
static void give(pthread_mutex_t *m) { int bad = pthread_mutex_unlock(m); (void)bad; }
#define in2(m, l) for (int i_##l = 0; i_##l ? (give(&(m)), 0) : (take(&(m)), 1); i_##l = 1)
#define in1(m, l) in2(m, l)
#define in(m) in1(m, __LINE__)
#define UNTIL(what) while (!(what)) pthread_cond_wait(&changed, &waited)
void hidden(void) {
  INC(whole);
  in(around) { n++; }
  ENTER;
  LEAVE();
  take(&waited); UNTIL(n); n--; give(&waited);
}
"""


def test_locks_that_macros_hide_stay(tmp_path):
    """Else one section would be a transaction, and the other one would not know."""
    locks = ("whole", "around", "entered", "waited", "other")
    plain = [f"void plain_{k}(void) {{ take(&{k}); n++; give(&{k}); }}" for k in locks]
    (tmp_path / "hiding.h").write_text(HIDING)  # not given: its macros are known all the same
    (tmp_path / "hiding.c").write_text(OF_SOURCE + "\n".join(plain) + "\n")
    done = transactionalize(tmp_path / "hiding.c")
    assert done.returncode == 3, done.stderr
    for line, lock, macro in [(13, "whole", "INC"), (14, "around", "in"), (15, "entered", "ENTER"),
                              (16, "entered", "LEAVE"), (17, "waited", "UNTIL")]:  # fmt: skip
        assert f"hiding.c:{line}: {lock}: the macro {macro} does not just" in done.stderr
    begun = [line for line in done.stdout.splitlines() if "__transaction" in line]
    assert begun == ["+void plain_other(void) { __transaction_relaxed { n++; } }"]


CHECKED = """\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
pthread_mutex_t comma, either, choice, waited, hinted, counts, after, chosen, inverse;
pthread_cond_t changed;
int n;
#define COMMA(m) ((void)(pthread_mutex_lock(m) && (abort(), 0)))
#define GIVE(m) ((void)(pthread_mutex_unlock(m) && (abort(), 0)))
#define EITHER(m) (void)(pthread_mutex_lock(&(m)) == 0 || (abort(), 0))
#define NOT(m) (void)(!pthread_mutex_unlock(&(m)) || (fprintf(stderr, "bad: %d, ?", 1), 0))
#define CHOICE(m) (pthread_mutex_lock(m) != 0 ? abort() : (void)0)
#define INVERSE(m) (pthread_mutex_unlock(m) == 0 ? (void)0 : abort())
#define HINTED(m) (__builtin_expect(pthread_mutex_lock(m), 0) && (abort(), 0))
#define WAIT(c, m) ((void)(pthread_cond_wait((c), (m)) && (abort(), 0)))
#define SIGNAL(c) ((void)(pthread_cond_signal(c) && (abort(), 0)))
#define COUNTS(m) (pthread_mutex_lock(m) || (n++, 1))
#define AFTER(m) (pthread_mutex_lock(m) && (abort(), 0), n++)
#define CHOSEN(m) (pthread_mutex_lock(m) ? abort() : (void)n++)
#define ON_SUCCESS(m) (!pthread_mutex_lock(m) && (n++, 1))
void all(void) {
  COMMA(&comma); n++; GIVE(&comma);
  EITHER(either); n++; NOT(either);
  CHOICE(&choice); n++; INVERSE(&choice);
  HINTED(&hinted); n++; GIVE(&hinted);
  COMMA(&waited); n++; SIGNAL(&changed); GIVE(&waited);
  COMMA(&waited); while (n == 0) WAIT(&changed, &waited); n--; GIVE(&waited);
  COUNTS(&counts); n++; GIVE(&counts);
  AFTER(&after); n++; GIVE(&after);
  CHOSEN(&chosen); n++; GIVE(&chosen);
  ON_SUCCESS(&inverse); n++; GIVE(&inverse);
}
"""


def test_macros_that_check_within_an_expression(tmp_path):
    """What such a macro does besides where it succeeds keeps it from being seen through, and its
    unlock is not said to be of another function's section."""
    program = tmp_path / "checked.c"
    program.write_text(CHECKED)
    done = transactionalize("--atomic", "--json", tmp_path / "done.json", program)
    assert done.returncode == 3, done.stderr
    locks = json.loads((tmp_path / "done.json").read_text())["locks"]
    sections = {"comma": 1, "either": 1, "choice": 1, "hinted": 1, "waited": 2}
    assert {n: k["sections"] for n, k in locks.items() if k["rewritten"]} == sections
    for line, name, macro in [(27, "counts", "COUNTS"), (28, "after", "AFTER"),
                              (29, "chosen", "CHOSEN"), (30, "inverse", "ON_SUCCESS")]:  # fmt: skip
        why = f"checked.c:{line}: {name}: the macro {macro} does not just lock or unlock it"
        assert why in done.stderr
    assert "another function" not in done.stderr


def test_macros_over_functions_of_a_structure_that_other_files_do_not_know(tmp_path):
    """They are calls of these, and are not listed as more."""
    (tmp_path / "own.h").write_text(
        "typedef struct own own;\nvoid own_take(own*, const char*, int);\n"
        "void own_give(own*);\nextern own* one;\nextern long n;\n"
        "#define take(l) own_take(l, __FILE__, __LINE__)\n#define give(l) own_give(l)\n"
        "#define count(l) (take(l), n++, give(l))\n"
    )
    (tmp_path / "own.c").write_text(
        '#include <pthread.h>\n#include <stdio.h>\n#include "own.h"\n'
        "struct own { pthread_mutex_t inside; };\n"
        "void own_take(own* o, const char* file, int line) {\n"
        "  int bad = pthread_mutex_lock(&(o->inside));\n  if (bad) perror(file);\n}\n"
        "void own_give(own* o) { pthread_mutex_unlock(&(o->inside)); }\n"
    )
    user = tmp_path / "user.c"
    user.write_text(
        '#include "own.h"\nvoid a(void) { take(one); n++; give(one); }\n'
        "int b(void) { take(one); n++; if (n) { give(one); return 1; } give(one); return 0; }\n"
    )
    files = [tmp_path / name for name in ("own.h", "own.c", "user.c")]
    done = transactionalize("--atomic", *files)
    assert done.returncode == 0, done.stderr
    assert "own.inside: 2 of 2 sections, 2 atomic" in done.stderr
    user.write_text(user.read_text() + "void c(void) { count(one); }\n")
    done = transactionalize("--atomic", *files)
    listed = "user.c:4: own.inside: the macro count does not just lock or unlock it"
    assert [line for line in done.stderr.splitlines() if "macro" in line] == [listed]
    assert "own.inside: 0 of 2 sections" in done.stderr


def test_functions_over_a_structure_that_other_files_do_not_know(tmp_path):
    (tmp_path / "own.c").write_text(
        "#include <pthread.h>\nstruct own { pthread_mutex_t lock; };\n"
        "struct other { pthread_mutex_t lock; } it; struct own mine; long n;\n"
        "void own_lock(struct own* o) { pthread_mutex_lock(&o->lock); }\n"
        "void own_unlock(struct own* o) { pthread_mutex_unlock(&o->lock); }\n"
        "void f(void) { pthread_mutex_lock(&it.lock); ++n; pthread_mutex_unlock(&it.lock); }\n"
    )
    (tmp_path / "user.c").write_text(
        "struct own; void own_lock(struct own*); void own_unlock(struct own*); long m;\n"
        "void g(struct own* o) { own_lock(o); ++m; own_unlock(o); }\n"
    )
    done = transactionalize("--atomic", tmp_path / "own.c", tmp_path / "user.c")
    assert done.returncode == 0, done.stderr
    assert "other.lock: 1 of 1 sections, 1 atomic" in done.stderr
    assert "own.lock: 1 of 1 sections, 1 atomic" in done.stderr


def test_functions_that_coccinelle_misreads_are_not_overlooked(tmp_path):
    """A parameter with the name of a type, and a macro that stands for statements."""
    (tmp_path / "types.h").write_text("typedef struct item { struct item* next; } item;\n")
    program = tmp_path / "misread.c"
    program.write_text(
        '#include <pthread.h>\n#include "types.h"\n'
        "typedef struct node { struct node* next; } NODE;\n"
        "static pthread_mutex_t list, sums, odd; static NODE* head; long a, b;\n"
        "void pop(void) { pthread_mutex_lock(&list); head = 0; pthread_mutex_unlock(&list); }\n"
        "void push(NODE *item) {\n  pthread_mutex_lock(&list);\n  item->next = head;\n"
        "  head = item;\n  pthread_mutex_unlock(&list);\n}\n"
        "#define FIELDS X(a) X(b)\nvoid reset(void) {\n  pthread_mutex_lock(&sums);\n"
        "#define X(name) name = 0;\n  FIELDS\n#undef X\n  pthread_mutex_unlock(&sums);\n}\n"
        "void add(void) { pthread_mutex_lock(&sums); ++a; pthread_mutex_unlock(&sums); }\n"
        "#define begin {\nvoid never(void) { begin pthread_mutex_lock(&odd); ++b;"
        " pthread_mutex_unlock(&odd); } }\n"
        "void seen(void) { pthread_mutex_lock(&odd); ++b; pthread_mutex_unlock(&odd); }\n"
    )
    done = transactionalize("--atomic", program, tmp_path / "types.h", "--", "-I", tmp_path)
    assert "list: 2 of 2 sections, 2 atomic" in done.stderr
    assert "sums: 2 of 2 sections, 2 atomic" in done.stderr
    assert "odd: 0 of " in done.stderr, "a lock whose other section nobody has understood"
    assert done.returncode == 3


def test_members_of_one_name_in_what_coccinelle_misreads(tmp_path):
    """Which structure it is follows from declarations then."""
    program = tmp_path / "members.c"
    program.write_text(
        "#include <pthread.h>\n#define FIELDS X(a)\n"
        "struct stats { pthread_mutex_t mutex; long a; };\n"
        "typedef struct { struct stats stats; int n; } WORKER;\n"
        "struct cache { pthread_mutex_t mutex; long b; };\n"
        "static WORKER *workers; static struct cache all;\n"
        "void reset(int i) {\n  pthread_mutex_lock(&workers[i].stats.mutex);\n"
        "#define X(name) workers[i].stats.name = 0;\n  FIELDS\n#undef X\n"
        "  ++workers[i].n;\n  pthread_mutex_unlock(&workers[i].stats.mutex);\n}\n"
        "void add(WORKER *w) { pthread_mutex_lock(&w->stats.mutex); ++w->stats.a;"
        " pthread_mutex_unlock(&w->stats.mutex); }\n"
        "void fill(void) { pthread_mutex_lock(&all.mutex); ++all.b;"
        " pthread_mutex_unlock(&all.mutex); }\n"
    )
    done = transactionalize("--atomic", program)
    assert "cache.mutex: 1 of 1 sections, 1 atomic" in done.stderr
    assert "stats.mutex: 2 of 2 sections, 2 atomic" in done.stderr
    assert done.returncode == 0


def test_functions_of_one_lock_belong_together(tmp_path):
    """Two locks whose functions take no argument, one around the other."""
    program = tmp_path / "around.c"
    program.write_text(
        "#include <pthread.h>\nstatic pthread_mutex_t all, one; long n;\n"
        + "".join(
            f"void {what}_{lock}(void) {{ pthread_mutex_{what}(&{lock}); }}\n"
            for what in ("lock", "unlock")
            for lock in ("all", "one")
        )
        + "void f(int k) { lock_all(); if (k) { lock_one(); ++n; unlock_one(); } unlock_all(); }\n"
    )
    done = transactionalize("--atomic", program)
    assert done.returncode == 0, done.stderr
    assert "all: 1 of 1 sections, 1 atomic" in done.stderr
    assert "one: 1 of 1 sections, 1 atomic" in done.stderr


STRUCTURES = """
#include <pthread.h>
typedef struct tagged { pthread_mutex_t lock; pthread_cond_t filled; long n; } tagged_t;
typedef tagged_t again_t;
typedef struct { pthread_mutex_t lock; long n; } untagged_t;
typedef const untagged_t constant_t;
struct other { pthread_mutex_t lock[4]; tagged_t in, *to; };
#define FIELD(p) ((p)->in)
static again_t* get(struct other* o) { return o->to; }
void a(tagged_t* p) { pthread_mutex_lock(&p->lock); p->n++; pthread_mutex_unlock(&p->lock); }
void b(again_t p[]) { pthread_mutex_lock(&p[1].lock); p[1].n++; pthread_mutex_unlock(&p[1].lock); }
void c(struct other* o) {
  pthread_mutex_lock(&(FIELD(o).lock)); o->in.n++; pthread_mutex_unlock(&(FIELD(o).lock));
  pthread_mutex_lock(&get(o)->lock); o->to->n++; pthread_mutex_unlock(&get(o)->lock);
  pthread_mutex_lock(&o->lock[2]); o->in.n++; pthread_mutex_unlock(&o->lock[2]);
}
void d(untagged_t* p, const constant_t* q) {
  pthread_mutex_lock(&p->lock); p->n++; pthread_mutex_unlock(&p->lock);
  pthread_mutex_lock((pthread_mutex_t*)&q->lock); p->n = q->n;
  pthread_mutex_unlock((pthread_mutex_t*)&q->lock);
}
HERE
"""


@pytest.mark.sampled(3)
@pytest.mark.crossed("stays", "flags")
@pytest.mark.parametrize("flags", [(), ("-w", "-Wno-incompatible-pointer-types")])
@pytest.mark.parametrize("stays", ["", "struct tagged", "again_t"])
def test_a_structure_is_one_under_all_its_names(tmp_path, stays, flags):
    """A lock of which one use stays, stays everywhere: by its tag, its typedefs, in expressions
    whose type no declaration in the function tells. Others of its name do not."""
    here = f"void e({stays}* p) {{ pthread_mutex_lock(&p->lock); if (p->n) return;\n"
    here += "pthread_mutex_unlock(&p->lock); }"
    (tmp_path / "s.c").write_text(STRUCTURES.replace("HERE", here if stays else ""))
    done = transactionalize("--json", "-", tmp_path / "s.c", "--", *flags)
    made = json.loads(done.stdout)["locks"]
    sections = {name: (lock["sections"], lock["rewritten"]) for name, lock in made.items()}
    of_it = (5, 0) if stays else (4, 4)
    assert sections == {
        "tagged.lock": of_it, "other.lock": (1, 1), "untagged_t.lock": (2, 2),
    }, done.stderr  # fmt: skip


BRACKETS = """\
#include <pthread.h>
struct account { pthread_mutex_t m, each[3]; int n; } one;
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
int n;
#define GIVE(m) pthread_mutex_unlock(&(m))
#define OF(a) (&((a)->m))
void named(void) { pthread_mutex_lock(&guard); n++; GIVE(guard); }
void plain(void) { pthread_mutex_lock(&(guard)); n++; pthread_mutex_unlock(&guard); }
void tried(void) { while (pthread_mutex_trylock(&(guard)) != 0) ; n++; GIVE(guard); }
void member(struct account *a) {
  pthread_mutex_lock(&a->m); a->n++; GIVE((a)->m);
  pthread_mutex_lock((&a->m)); a->n++; pthread_mutex_unlock(&(a->m));
  pthread_mutex_lock(&(a->each[1])); a->n++; pthread_mutex_unlock(&(a)->each[1]);
  pthread_mutex_lock(&(*a).m); a->n++; pthread_mutex_unlock(&(*a).m);
}
void cast(void *p) {
  pthread_mutex_lock(&((struct account *)p)->m);
  n++;
  pthread_mutex_unlock(&(((struct account *)p)->m));
}
"""


def test_brackets_around_a_name_make_no_other_lock(tmp_path):
    (tmp_path / "brackets.c").write_text(BRACKETS)
    done = transactionalize("--json", tmp_path / "left.json", tmp_path / "brackets.c")
    locks = json.loads((tmp_path / "left.json").read_text())["locks"]
    counts = {name: (of["rewritten"], of["sections"]) for name, of in locks.items()}
    assert counts == {"guard": (3, 3), "account.m": (4, 4), "account.each": (1, 1)}, done.stderr
    assert done.returncode == 0
