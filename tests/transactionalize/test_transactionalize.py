"""Programs with locks, rewritten, compiled with -fgnu-tm and run: they count what they did."""

import os
import re
import shutil
from pathlib import Path

import pytest
from rewriting import PROGRAMS, one_line, rewrite, run, run_rewritten, transactionalize


@pytest.mark.sampled(4)
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


def test_what_leaves_a_section_and_what_it_declares(tmp_path):
    """Behind an unlock: more than one jump, a call that does not return, one within the section.
    Declared: what is static, of several words, a function pointer, another one of that name."""
    done = rewrite(tmp_path, ["leaving.c"], "--atomic", status=3)
    sections = {"jumps": 2, "ends": 1, "kept": 1, "wide": 1, "called": 1, "named": 1, "caught": 1}
    locks = done["locks"]
    assert {n: k["sections"] for n, k in locks.items() if k["rewritten"]} == sections
    why = {entry["what"]: entry["why"] for entry in done["not_done"]}
    assert "the break behind the unlock at line" in why["stays_within"]
    assert "uses count, declared within" in why["inner"]
    assert re.fullmatch(r"count, declared in line \d+, means something else before", why["before"])
    assert why["crashes"].startswith("does not compile as a transaction: ")
    written = (tmp_path / "out/leaving.c").read_text()
    assert "char buffer[32]; __transaction_atomic {" in written
    assert '__typeof__((char []){"name"}) name; __transaction_atomic {' in written
    assert "static int calls = 5; __transaction_atomic {" in written
    for arguments in ([], ["1"], ["2"]):
        expected = run(PROGRAMS, ["leaving.c"], tmp_path / "locked", arguments=arguments)
        rewritten = run_rewritten(
            tmp_path / "out", ["leaving.c"], tmp_path / "rewritten", arguments=arguments
        )
        assert rewritten == expected


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


@pytest.mark.sampled(3)
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


HOISTED = """\
#include <pthread.h>
#include <stdio.h>
struct pair { int a; short c[3]; };
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int n;
static int constant(int a) {
  pthread_mutex_lock(&guard);
  const int k = a & 7;
  n++;
  pthread_mutex_unlock(&guard);
  return k;
}
static int structure(int a) {
  pthread_mutex_lock(&guard);
  struct pair p = {a, {1, 2}};
  n += p.c[0];
  pthread_mutex_unlock(&guard);
  return p.a;
}
static int braces(int a) {
  pthread_mutex_lock(&guard);
  const struct pair p = {.a = a,
                         .c = {1, 2}};
  struct { int x; } unnamed = {a + n};
  pthread_mutex_unlock(&guard);
  return p.a + p.c[1] + unnamed.x;
}
static int several(int a) {
  pthread_mutex_lock(&guard);
  int x = a & 7, y = x + 1, z;
  z = y + n++;
  pthread_mutex_unlock(&guard);
  return x + y + z;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 20; i++) sum = sum * 3 + constant(i) + structure(i) + braces(i) + several(i);
  printf("%d %d\\n", sum, n);
  return 0;
}
"""


def gives_the_same_in_transactions(folder, source: str, sections: int) -> str:
    """That all sections of a program become transactions, and it prints what it did: its new
    text."""
    (folder / "program.c").write_text(source)
    done = transactionalize("--atomic", "-o", folder / "out", folder / "program.c")
    said = f"guard: {sections} of {sections} sections, {sections} atomic\n"
    assert (done.returncode, done.stderr) == (0, said)
    expected = run(folder, ["program.c"], folder / "locked")
    assert run_rewritten(folder / "out", ["program.c"], folder / "rewritten") == expected
    return (folder / "out/program.c").read_text()


def test_variables_that_are_used_behind_a_section_are_declared_before_it(tmp_path):
    """Constants, structures with their members' values, and several in one declaration."""
    text = gives_the_same_in_transactions(tmp_path, HOISTED, 4)
    assert "int x, y, z; __transaction_atomic {" in text


ARRAYS = """\
#include <pthread.h>
#include <stdio.h>
#include <string.h>
struct pair { int a, b; };
struct both { struct pair first; int last; };
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int n, table[2] = {5, 7};
static int twice(int a) { return 2 * a; }
static int thrice(int a) { return 3 * a; }
static int sized(int a) {
  pthread_mutex_lock(&guard);
  int v[3] = {a, n, 1};
  n += v[2];
  pthread_mutex_unlock(&guard);
  return v[0] + v[1] + v[2];
}
static int open(int a) {
  pthread_mutex_lock(&guard);
  const short v[] = {a, 2,
                     [4] = 9};
  n++;
  pthread_mutex_unlock(&guard);
  return v[0] + v[3] + v[4] + sizeof v;
}
static int text(int a) {
  pthread_mutex_lock(&guard);
  char s[] = "abc", room[8] = "x";
  const char *names[2] = {"one", "three"};
  n += a;
  pthread_mutex_unlock(&guard);
  return sizeof s + s[1] + room[0] + room[7] + strlen(names[1]) + names[0][0];
}
static int flat(int a) {
  pthread_mutex_lock(&guard);
  int v[2][3] = {{a}, {1, 2, n}};
  n++;
  pthread_mutex_unlock(&guard);
  return v[0][0] + v[0][2] + v[1][2];
}
static int functions(int a) {
  pthread_mutex_lock(&guard);
  int (*f[2])(int) = {twice, thrice};
  n++;
  pthread_mutex_unlock(&guard);
  return f[0](a) + f[1](a);
}
static int mixed(int a) {
  pthread_mutex_lock(&guard);
  int x, y = a + n, v[2] = {y, 3}, *p = &table[1], z;
  z = x = y++;
  pthread_mutex_unlock(&guard);
  return x + y + v[0] + v[1] + *p + z;
}
static int constants(int a) {
  pthread_mutex_lock(&guard);
  const int k = a & 3, *q = table, *const r = table + 1;
  n += k;
  pthread_mutex_unlock(&guard);
  return k + *q + *r;
}
static int literals(int a) {
  pthread_mutex_lock(&guard);
  struct pair p = (struct pair){a, n}, q = {.b = 2};
  struct both o = {.first = (struct pair){p.b, 4}, .last = ((struct pair){1, 2}).b};
  n++;
  pthread_mutex_unlock(&guard);
  return p.a + p.b + q.a + q.b + o.first.a + o.first.b + o.last;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 20; i++) {
    sum = sum * 3 + sized(i) + open(i) + text(i) + flat(i);
    sum += functions(i) + mixed(i) + constants(i) + literals(i);
  }
  printf("%d %d\\n", sum, n);
  return 0;
}
"""


def test_arrays_with_values_and_mixed_declarations_are_declared_before_it(tmp_path):
    """Whatever stands in one declaration, structures by compound literals, too."""
    gives_the_same_in_transactions(tmp_path, ARRAYS, 8)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "within",
    [
        "struct { int *q; } s = {(int[]){a, 2}};",
        "struct { int *q; } s = {&(int){a}};",
        "struct { int *q; } s = {.q = (pair){a, 2}};",  # a typedef of an array
    ],
)
def test_a_literal_within_braces_that_is_pointed_to_makes_a_section_stay(tmp_path, within):
    text = "#include <pthread.h>\npthread_mutex_t m;\ntypedef int pair[2];\nint n;\n"
    text += f"int f(int a) {{\n  pthread_mutex_lock(&m);\n  {within}\n  n++;\n"
    text += "  pthread_mutex_unlock(&m);\n  return *s.q;\n}\n"
    (tmp_path / "f.c").write_text(text)
    done = transactionalize(tmp_path / "f.c")
    assert done.returncode == 3
    assert "m: 0 of 1 sections, stays a lock" in done.stderr


def test_no_variable_moves_to_where_its_name_means_another(tmp_path):
    text = "#include <pthread.h>\npthread_mutex_t m;\nint y, n;\nint f(void) {\n"
    text += "  pthread_mutex_lock(&m);\n  n = y;\n  int x = n, y = 2;\n"
    text += "  n += y;\n  pthread_mutex_unlock(&m);\n  return x;\n}\n"
    (tmp_path / "f.c").write_text(text)
    done = transactionalize(tmp_path / "f.c")
    assert done.returncode == 3
    assert "y, declared in line 7, means something else before" in done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "before, within",
    [
        ("", "int *p = &(int){a};"),
        ("struct { int *q; } s; int *p = &a;", "s.q = &(int){a};"),
        ("int *p;", "p = &(int){a};"),
        ("int *p;", "p = (int[]){a, 2};"),
    ],
)
def test_a_compound_literal_that_is_kept_makes_a_section_stay(tmp_path, before, within):
    """It would end with the transaction's block."""
    text = "#include <pthread.h>\npthread_mutex_t m;\nint n;\nint f(int a) {\n"
    text += f"  {before}\n  pthread_mutex_lock(&m);\n  {within}\n  n++;\n"
    text += "  pthread_mutex_unlock(&m);\n  return *p;\n}\n"
    (tmp_path / "f.c").write_text(text)
    done = transactionalize(tmp_path / "f.c")
    assert done.returncode == 3
    assert "m: 0 of 1 sections, stays a lock" in done.stderr
