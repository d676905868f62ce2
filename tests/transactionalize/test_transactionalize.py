"""Programs with locks, rewritten, compiled with -fgnu-tm and run: they count what they did."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from syncopate.transactionalize import bitfields
from syncopate.transactionalize.callgraph import WAITING

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
NATIVE = Path(os.environ.get("SYNCOPATE_NATIVE", ROOT / "build"))
SECONDS = 100


def transactionalize(*arguments, environ=None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "syncopate", "transactionalize", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environ or {})},
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip


def run(
    folder: Path, sources: list[str], program: Path, *flags: str, arguments=None
) -> str | tuple[str, int]:
    """Compiles, runs, and returns what the program prints; with arguments, also its status."""
    files = [folder / source for source in sources]
    subprocess.run(
        ["gcc", "-O1", "-w", "-I", PROGRAMS, *files, "-o", program, "-pthread", *flags], check=True
    )
    done = subprocess.run(
        [program, *(arguments or [])], capture_output=True, text=True, timeout=SECONDS,
        check=arguments is None,
    )  # fmt: skip
    return done.stdout if arguments is None else (done.stdout, done.returncode)


def run_rewritten(folder: Path, sources: list[str], program: Path, arguments=None):
    return run(
        folder, sources, program, "-fgnu-tm", "-I", str(ROOT / "include"),
        "-L", str(NATIVE / "lib"), "-lsyncopate-tm", "-litm", arguments=arguments,
    )  # fmt: skip


def rewrite(tmp_path: Path, names: list[str], *kind: str, status: int = 0) -> dict:
    """Rewrites programs to tmp_path/out; returns the JSON of what was done."""
    done = transactionalize(
        *kind, "-o", tmp_path / "out", "--json", tmp_path / "done.json",
        *(PROGRAMS / name for name in names),
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert not trailing_blanks(tmp_path / "out")
    return json.loads((tmp_path / "done.json").read_text())


def trailing_blanks(folder: Path) -> dict[str, int]:
    """Lines of rewritten sources that end in blanks, which those that were given do not: there are
    programs whose own tests refuse such lines."""
    return {
        f"{path}:{number}": len(line)
        for path in folder.rglob("*.[ch]")
        for number, line in enumerate(path.read_text().split("\n"), 1)
        if line != line.rstrip()
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("early_exits", "--atomic"),
        ("trylock", "--atomic"),
        ("maintenance", "--relaxed"),
        ("readers_within", "--atomic"),
        ("readers_within", "--relaxed"),
        ("wrappers", "--atomic"),
        ("wrappers", "--relaxed"),
    ],
)
def test_rewritten_programs_count_alike(tmp_path, name, kind):
    files = ["wrappers.c", "account.c", "account.h"] if name == "wrappers" else [f"{name}.c"]
    sources = [file for file in files if file.endswith(".c")]
    done = rewrite(tmp_path, files, kind)
    for lock in done["locks"].values():
        assert lock["rewritten"] == lock["sections"] > 0
        assert lock["atomic"] == (lock["rewritten"] if kind == "--atomic" else 0)
    for source in sources:
        assert "pthread_mutex_trylock" not in (tmp_path / "out" / source).read_text()
    expected = run(PROGRAMS, sources, tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", sources, tmp_path / "rewritten") == expected


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


def test_what_leaves_a_section_and_what_it_declares(tmp_path):
    """Behind an unlock: more than one jump, a call that does not return, one within the section.
    Declared: what is static, of several words, a function pointer, another one of that name."""
    done = rewrite(tmp_path, ["leaving.c"], "--atomic", status=3)
    sections = {"jumps": 2, "ends": 1, "kept": 1, "wide": 1, "called": 1, "caught": 1}
    locks = done["locks"]
    assert {n: k["sections"] for n, k in locks.items() if k["rewritten"]} == sections
    why = {entry["what"]: entry["why"] for entry in done["not_done"]}
    assert "the break behind the unlock at line" in why["stays_within"]
    assert "uses count, declared within" in why["inner"]
    assert re.fullmatch(r"count, declared in line \d+, means something else before", why["before"])
    assert re.fullmatch(r"name, declared in line \d+, is pointed to behind it", why["named"])
    assert why["crashes"].startswith("does not compile as a transaction: ")
    written = (tmp_path / "out/leaving.c").read_text()
    assert "char buffer[32]; __transaction_atomic {" in written
    assert "static int calls = 5; __transaction_atomic {" in written
    for arguments in ([], ["1"], ["2"]):
        expected = run(PROGRAMS, ["leaving.c"], tmp_path / "locked", arguments=arguments)
        rewritten = run_rewritten(
            tmp_path / "out", ["leaving.c"], tmp_path / "rewritten", arguments=arguments
        )
        assert rewritten == expected


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


def test_a_file_that_does_not_compile_is_listed_and_the_rest_goes_on(tmp_path):
    bad = tmp_path / "bad.c"
    bad.write_text(
        '#include "nowhere.h"\n#include <pthread.h>\nextern pthread_mutex_t shared;\n'
        "void f(void) { pthread_mutex_lock(&shared); pthread_mutex_unlock(&shared); }\n"
    )
    good = tmp_path / "good.c"
    good.write_text(
        "#include <pthread.h>\npthread_mutex_t shared, own; long n;\n"
        "void g(void) { pthread_mutex_lock(&shared); ++n; pthread_mutex_unlock(&shared); }\n"
        "void h(void) { pthread_mutex_lock(&own); ++n; pthread_mutex_unlock(&own); }\n"
    )
    done = transactionalize("-o", tmp_path / "out", bad, good)
    assert done.returncode == 3
    assert "bad.c:1: bad.c: nowhere.h: No such file or directory" in done.stderr
    assert "own: 1 of 1 sections" in done.stderr
    assert "shared: 0 of 2 sections, stays a lock" in done.stderr
    assert (tmp_path / "out/bad.c").read_text() == bad.read_text()


def test_pipes_and_devices_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.c")
    (tmp_path / "zero.c").symlink_to("/dev/zero")
    for name, what in (("pipe.c", "a pipe"), ("zero.c", "a device")):
        done = transactionalize(tmp_path / name)
        assert done.returncode == 1
        assert f"{name}: it is {what}; name a plain file" in one_line(done)


@pytest.mark.parametrize("name", ["m.txt", "m.cpp", "m"])
def test_what_is_no_c_by_its_name_is_listed_and_not_rewritten(tmp_path, name):
    """gcc would hand it to the linker without a word, or read it as another language."""
    source = tmp_path / name
    source.write_text(
        "#include <pthread.h>\npthread_mutex_t m; long n;\n"
        "void f(void) { pthread_mutex_lock(&m); ++n; pthread_mutex_unlock(&m); }\n"
    )
    (tmp_path / "other.c").write_text("int x;\n")
    done = transactionalize(source, tmp_path / "other.c")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"{name}:1: {name}: no C source by its name" in done.stderr
    assert "m: 0 of 1 sections, stays a lock" in done.stderr
    assert "no C source" in one_line(transactionalize(source))
    named = transactionalize(source, "--", "-x", "c")
    assert named.returncode == 0
    assert "__transaction_relaxed { ++n; }" in named.stdout


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


def test_words(tmp_path):
    done = rewrite(tmp_path, ["words.c"], "--atomic")
    assert done["locks"]["guard"] == {
        "sections": 2, "rewritten": 2, "atomic": 2, "word": False,
    }  # fmt: skip
    text = (tmp_path / "out/words.c").read_text()
    assert "volatile int" not in text
    assert "__sync" not in text
    expected = run(PROGRAMS, ["words.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["words.c"], tmp_path / "rewritten") == expected


def test_locks_as_words(tmp_path):
    """Item locks that a transaction tries, and a wait in the middle of a loop."""
    name = "word_locks.c"
    done = rewrite(tmp_path, [name], "--atomic", "--words", "^(item_locks|maintenance_lock)$")
    assert done["locks"]["list_lock"] == {
        "sections": 1, "rewritten": 1, "atomic": 1, "word": False,
    }  # fmt: skip
    assert [done["locks"][lock]["word"] for lock in ("item_locks", "maintenance_lock")] == [
        True
    ] * 2
    text = (tmp_path / "out" / name).read_text()
    assert not re.search(r"pthread_(mutex_(lock|unlock|trylock)|cond_)", text)
    assert "tm_word_wait(&maintenance_wanted, &maintenance_lock)" in text
    expected = run(PROGRAMS, [name], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", [name], tmp_path / "rewritten") == expected


def test_words_are_offered():
    """What is offered is what makes all three locks of the program no mutexes."""
    program = [PROGRAMS / "word_locks.c", "--", "-I", PROGRAMS]
    offered = offered_words(program)
    assert offered == "^(item_locks|list_lock|maintenance_lock)$"
    assert transactionalize("--words", offered, *program).returncode == 0


def offered_words(program: list) -> str:
    said = transactionalize(*program).stderr.splitlines()[-1]
    return re.fullmatch(r"These can be words: --words '(.*)'", said)[1]


def test_only_what_can_be_a_word_is_offered(tmp_path):
    """Not what is recursive or checks, has time limits, or shares a pointer with such a one; nor is
    that a word when it is asked for, and a pointer to it takes it as what it is."""
    program = [PROGRAMS / "offered.c", "--", "-I", PROGRAMS]
    assert offered_words(program) == "^(adaptive|one|other|plain)$"
    done = rewrite(tmp_path, ["offered.c"], "--words", ".", status=3)
    words = {name for name, lock in done["locks"].items() if lock["word"]}
    assert words == {"adaptive", "one", "other", "plain", "?i%3?&one:&other"}
    assert not words & {entry["what"] for entry in done["not_done"]}
    text = (tmp_path / "out/offered.c").read_text()
    assert "take_which(i % 2 ? &timed : &or_timed)" in text
    expected = run(PROGRAMS, ["offered.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["offered.c"], tmp_path / "rewritten") == expected


def test_without_words_these_locks_stay(tmp_path):
    done = rewrite(tmp_path, ["word_locks.c"], "--atomic", status=3)
    assert not any(lock["rewritten"] for lock in done["locks"].values())
    reasons = {(entry["what"], entry["why"]) for entry in done["not_done"]}
    held = "the function returns with the lock held (line "
    assert any(what == "item_locks" and why.startswith(held) for what, why in reasons)
    assert ("list_lock", "waits for a lock that stays") in reasons


def test_a_timed_wait_keeps_a_word_from_being_one(tmp_path):
    copy = tmp_path / "timed.c"
    copy.write_text(
        (PROGRAMS / "word_locks.c").read_text().replace(
            "pthread_cond_wait(&maintenance_wanted, &maintenance_lock)",
            "pthread_cond_timedwait(&maintenance_wanted, &maintenance_lock, &(struct timespec){0})",
        )
    )  # fmt: skip
    done = transactionalize("--words", "maintenance", "--lock", "main", copy, "--", "-I", PROGRAMS)
    assert done.returncode == 3
    assert "maintenance_lock: cannot be a word: a wait with a time limit" in done.stderr


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


def test_diff_is_the_default_and_files_stay(tmp_path):
    copy = Path(shutil.copy(PROGRAMS / "early_exits.c", tmp_path))
    before = copy.read_text()
    done = transactionalize("--atomic", copy, "--", "-I", PROGRAMS)
    assert done.returncode == 0, done.stderr
    assert copy.read_text() == before
    assert done.stdout.startswith("--- a/early_exits.c")
    assert "+  long seen; __transaction_atomic {" in done.stdout


def test_a_lock_that_was_not_asked_for(tmp_path):
    done = transactionalize("--lock", "^guard$", PROGRAMS / "early_exits.c")
    # `inner` stays, and so `guard`, whose section waits for it, has to.
    assert done.returncode == 3
    assert done.stdout == ""
    assert "early_exits.c:12: guard: waits for a lock that stays" in done.stderr


def test_in_place(tmp_path):
    copy = Path(shutil.copy(PROGRAMS / "trylock.c", tmp_path))
    done = transactionalize("--in-place", copy, "--", "-I", PROGRAMS)
    assert done.returncode == 0, done.stderr
    assert copy.read_text().count("__transaction_relaxed {") == 7


def one_line(done: subprocess.CompletedProcess) -> str:
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_missing_spatch_names_the_package(tmp_path):
    done = transactionalize(PROGRAMS / "trylock.c", environ={"PATH": str(tmp_path)})
    assert done.returncode == 127
    assert "coccinelle" in one_line(done)


def test_spatch_without_its_python_library_names_the_package(tmp_path):
    spatch = tmp_path / "spatch"
    spatch.write_text("#!/bin/sh\necho 'Py.find_library: unable to find the library' >&2\nexit 2\n")
    spatch.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = transactionalize(PROGRAMS / "trylock.c", environ={"PATH": path})
    assert done.returncode == 1
    assert "libpython3-dev" in one_line(done)


def test_neither_another_python_in_front_nor_no_home_disturbs_spatch(tmp_path, monkeypatch):
    monkeypatch.delenv("HOME")
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = transactionalize(PROGRAMS / "trylock.c", environ={"PATH": path})
    assert done.returncode == 0, done.stderr


def test_mistakes(tmp_path):
    assert transactionalize("--help").returncode == 0
    assert transactionalize("--lock", "(", "x.c").returncode == 2
    assert "--words" in one_line(transactionalize("--words", "(", "x.c"))
    missing = transactionalize(tmp_path / "absent.c")
    assert missing.returncode == 1
    assert "absent.c" in one_line(missing)
    broken = tmp_path / "broken.c"
    broken.write_text('#include "nowhere.h"\nint x;\n')
    done = transactionalize(broken)
    assert done.returncode == 1
    assert "broken.c:1: nowhere.h" in one_line(done)
    assert "after --" in done.stderr


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


def test_headers_named_like_the_systems(tmp_path):
    """A folder of the program's is no place where <string.h> is looked for, unless -I says so; and
    what -I names is looked for among the rewritten headers first."""
    files = {
        "lib/string.h": "#pragma once\nint of_ours(const char*);\n",
        "lib/a.c": '#include <string.h>\n#include "string.h"\n#include <shared.h>\n'
        "pthread_mutex_t m;\nint n;\nint of_ours(const char* s) {\n  int all;\n"
        "  pthread_mutex_lock(&m);\n  all = n += strlen(s);\n  pthread_mutex_unlock(&m);\n"
        "  one_more();\n  return all;\n}\n",
        "inc/alone.h": "extern int n;\n",
        "inc/shared.h": '#include <pthread.h>\n#include "alone.h"\nextern pthread_mutex_t m;\n'
        "static inline void one_more(void) {\n"
        "  pthread_mutex_lock(&m);\n  ++n;\n  pthread_mutex_unlock(&m);\n}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    done = transactionalize(
        "--atomic", "-o", tmp_path / "out", tmp_path / "lib/a.c", tmp_path / "inc/shared.h",
        "--", f"-I{tmp_path}/inc",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "m: 2 of 2 sections, 2 atomic" in done.stderr
    assert "__transaction_atomic" in (tmp_path / "out/inc/shared.h").read_text()


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


def test_reader_writer_and_spin_locks(tmp_path):
    """Sections of readers, of writers and of spin locks are transactions as those of a mutex are,
    under macros that go around any call, too; and none of these is a word."""
    done = rewrite(tmp_path, ["other_locks.c"], "--atomic", "--words", "plain|quick$", status=3)
    sections = {"table.lock": 2, "tried": 1, "quicker": 1}
    kept = {"plain": 3, "upgraded": 2, "timed": 1, "quick": 1}
    counted = {
        name: (lock["sections"], lock["rewritten"], lock["atomic"], lock["word"])
        for name, lock in done["locks"].items()
    }
    assert counted == {
        **{name: (count, count, count, False) for name, count in sections.items()},
        **{name: (count, 0, 0, False) for name, count in kept.items()},
    }
    why = {(entry["what"], entry["why"].partition(" (")[0]) for entry in done["not_done"]}
    assert {("quick", "cannot be a word: it is no mutex"), ("plain", "no unlock is its own alone"),
            ("timed", "is locked with a time limit")} <= why  # fmt: skip
    text = (tmp_path / "out/other_locks.c").read_text()
    assert text.count("__transaction_atomic") == 4
    for as_before in ("TO_WRITE(&upgraded);", "typedef pthread_rwlock_t table_lock;",
                      "QUICK(&quick);", "pthread_rwlock_timedwrlock(&timed, &end)"):  # fmt: skip
        assert as_before in text
    expected = run(PROGRAMS, ["other_locks.c"], tmp_path / "locked")
    assert run_rewritten(tmp_path / "out", ["other_locks.c"], tmp_path / "rewritten") == expected


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


def test_an_include_within_a_function_is_no_place_for_another(tmp_path):
    """As redis has its logo. A table may be included, too."""
    (tmp_path / "logo.h").write_text("static const int rows = 3;\n")
    (tmp_path / "table.h").write_text("1, 2, 3\n")
    (tmp_path / "s.c").write_text(
        "#include <pthread.h>\n#include <string.h>\nstatic pthread_mutex_t m;\nlong n;\n"
        'static const int table[] = {\n#include "table.h"\n};\n'
        'int of(int at) {\n#include "logo.h"\n  return table[at % rows];\n}\n'
        "void set(const char* s) {\n  pthread_mutex_lock(&m);\n  n += strlen(s);\n"
        "  pthread_mutex_unlock(&m);\n}\n"
    )
    done = transactionalize("--atomic", "-o", tmp_path / "out", tmp_path / "s.c")
    assert (done.returncode, done.stderr) == (0, "m: 1 of 1 sections, 1 atomic\n")
    lines = (tmp_path / "out/s.c").read_text().splitlines()
    assert lines.index("#include <syncopate/tm/wrap_libc.h>") == 2


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
