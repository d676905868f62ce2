"""What the code of a critical section does, read from programs compiled here in several ways."""

import json
import shutil

import pytest
from conftest import compile_c, run_cli
from make_record import RecordBuilder
from planted_record import MS, Planted

from syncopate.base.since import zip_equal
from syncopate.records import knowncalls, sectioncode
from syncopate.records.codewalk import Walker
from syncopate.symbols import machinecode
from syncopate.symbols.machinecode import Program, plain_symbol
from syncopate.symbols.names import Names
from syncopate.symbols.symboltable import SymbolTable

SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long table[100], other;
void (*hook)(void);
#define SECTION(name, ...) long name(long x) { pthread_mutex_lock(&lock); __VA_ARGS__; \
  pthread_mutex_unlock(&lock); return x; }
__attribute__((noinline)) static long deep(long x) { usleep(x); return x + 1; }
__attribute__((noinline)) static long sum(long n) {
  long all = 0;
  for (long i = 0; i < n; i++) all += table[i];
  return all;
}
__attribute__((noinline)) static long store(long* to, long x) { *to = x; return x; }
__attribute__((noinline)) static long itself(long x) { return x ? 1 + itself(x - table[x]) : 0; }
struct box { long n; long* to; };
__attribute__((noinline)) static void put(struct box* b, long x) { b->n = x; }
__attribute__((noinline)) static void put_by(struct box* b, long x) { put(b, x + table[x]); }
__attribute__((noinline)) static void put_behind(struct box* b, long x) { *b->to = x; }
SECTION(own_object, struct box b; put_by(&b, x); x += b.n)
SECTION(others_object, struct box b = {0, &other}; put_behind(&b, x); x += b.n)
SECTION(static_object, static struct box b; put_by(&b, x); x += b.n)
long passed_object(struct box* b) {
  pthread_mutex_lock(&lock); put_by(b, 1); pthread_mutex_unlock(&lock); return 0;
}
__attribute__((noinline)) static long grumble(long x)
  { if (x < 0) fputs("less than nothing\n", stderr); return x + other; }
__attribute__((noinline)) static long tell(long x) { fputs("one more\n", stderr); return x; }
SECTION(grumbles, for (long i = 0; i < x; i++) table[i & 63] += grumble(table[i & 63]))
SECTION(tells, for (long i = 0; i < x; i++) table[i & 63] += tell(i))
SECTION(sleeps, x += deep(x))
SECTION(reads, x += sum(x))
SECTION(compares, x += memcmp(table, table + 50, x) > 0)
SECTION(writes, other += x)
SECTION(writes_deep, x += store(table + x, x))
SECTION(pointer, hook())
SECTION(fails, if (x > 100) { fprintf(stderr, "no\n"); abort(); } x += sum(x))
SECTION(many, for (int i = 0; i < x; i++) free(malloc(i + table[i])))
SECTION(once, x += (long)malloc(x))
SECTION(in_place, free((void*)table[x & 63]); table[x & 63] = (long)malloc(x))
__attribute__((noinline)) static long node(long x) { return (long)malloc(x); }
SECTION(listed, long n = node(x); *(long*)n = other; other = n)
SECTION(seldom, if (other > x) table[3] = (long)malloc(x); other++)
SECTION(after_work, table[5] += sum(x); table[4] = (long)malloc(x))
SECTION(pointer_too, table[4] = (long)malloc(x); hook())
SECTION(recurses, x += itself(x))
SECTION(switches, switch (x) { case 1: puts("a"); break; case 2: usleep(1); break; case 3: abort();
  case 4: other = 3; break; case 5: x += sum(3); break; case 6: deep(3); break; default: x++; })
long early(long x) {
  pthread_mutex_lock(&lock);
  if (table[x]) { pthread_mutex_unlock(&lock); usleep(9); return 1; }
  x = sum(x);
  pthread_mutex_unlock(&lock);
  return x;
}
SECTION(nothing, )
SECTION(reads_one, x = other)
SECTION(yields, usleep(1))
static pthread_mutex_t* each[10];
__attribute__((noinline)) void enter(long x) { if (pthread_mutex_lock(each[x])) abort(); }
void empty_tail(pthread_mutex_t* m) { if (pthread_mutex_lock(m)) abort(); pthread_mutex_unlock(m); }
void tail(long x) { pthread_mutex_lock(&lock); other = sum(x); pthread_mutex_unlock(&lock); }
pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
struct pair { long n; pthread_mutex_t one, two; };
long nested(long x) {
  pthread_mutex_lock(&lock); pthread_mutex_lock(&second); x = sum(x); pthread_mutex_unlock(&second);
  usleep(x); pthread_mutex_unlock(&lock); return x;
}
long crossed(long x) {
  pthread_mutex_lock(&lock); pthread_mutex_lock(&second); x = sum(x); pthread_mutex_unlock(&lock);
  usleep(x); pthread_mutex_unlock(&second); return x;
}
long handed_over(long x) {
  pthread_mutex_lock(&lock); pthread_mutex_unlock(&second); usleep(x); pthread_mutex_unlock(&lock);
  return x;
}
long members(struct pair* p) {
  pthread_mutex_lock(&p->one); pthread_mutex_lock(&p->two); p->n++; pthread_mutex_unlock(&p->two);
  usleep(p->n); pthread_mutex_unlock(&p->one); return 0;
}
long repeated(pthread_mutex_t* const* m) {
  pthread_mutex_lock(m[0]);
  for (int i = 1; i < 3; i++) { pthread_mutex_lock(m[i]); pthread_mutex_unlock(m[i]); }
  usleep(1); pthread_mutex_unlock(m[0]); fsync(1); return 0;
}
long recursive(long x) {
  pthread_mutex_lock(&lock); pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); usleep(x);
  pthread_mutex_unlock(&lock); fsync(1); return x;
}
long retried(const struct timespec* until) {
  long x = 0;
  while (pthread_mutex_timedlock(&lock, until)) usleep(x++);
  x = sum(x);
  pthread_mutex_unlock(&lock);
  fsync(1);
  return x;
}
__attribute__((noinline)) void leave(long x) { if (pthread_mutex_unlock(each[x])) abort(); }
long wrapped(long x) {
  for (long i = 0; i < x; i++) {
    enter(i);
    if (table[i]) { leave(i); usleep(1); continue; }
    pthread_mutex_lock(&second);
    x += sum(x);
    pthread_mutex_unlock(&second);
    free((void*)x);
    leave(i);
    fsync(1);
  }
  return x;
}
int main(void) { return 0; }
"""
KNOWN_CALLS = {
    "sleeps": {"usleep"}, "reads": set(), "compares": set(), "writes": set(), "writes_deep": set(),
    "nested": {"pthread_mutex_lock", "usleep"}, "crossed": {"pthread_mutex_lock"},
    "handed_over": {"usleep"}, "members": {"pthread_mutex_lock", "usleep"},
    "repeated": {"pthread_mutex_lock", "usleep"}, "recursive": {"pthread_mutex_lock", "usleep"},
    "retried": set(), "fails": set(), "many": {"malloc", "free"}, "once": {"malloc"},
    "early": set(), "tail": set(), "own_object": set(), "others_object": set(),
    "static_object": set(), "passed_object": set(),
}  # fmt: skip
TAKES = {"pthread_mutex_lock", "pthread_mutex_timedlock", "enter"}
ONLY_READ = {"reads", "compares", "fails", "early", "retried", "own_object"}


@pytest.fixture(
    scope="module",
    params=[("gcc", "-O0"), ("gcc", "-O2"), ("gcc", "-O3"), ("clang", "-O1"), ("clang", "-O2")],
    ids="".join,
)
def sections(request, tmp_path_factory):
    """Of each function what it does between taking and releasing the lock."""
    compiler, level = request.param
    tools = shutil.which(compiler) and shutil.which("objdump")
    assert tools, "scripts/setup.sh test installs what this needs"
    path = tmp_path_factory.mktemp("code") / "program"
    compile_c(
        SOURCE, path, level, "-pthread", "-fno-inline-functions", "-fno-builtin", compiler=compiler
    )
    table, program = SymbolTable(str(path)), Program(str(path))

    def of(name: str, ask=lambda walker, start, taken: walker.between(start, taken, [])):
        ((start, _),) = table.functions(name)[:1]
        function = program.function(start)
        taken = min(
            each.following
            for each in function.at.values()
            if each.is_call and plain_symbol(each.symbol) in TAKES
        )
        return ask(Walker(program), start, taken)

    return of


@pytest.mark.parametrize(
    ("name", "empty"),
    {
        **dict.fromkeys([*KNOWN_CALLS, "pointer", "recurses", "reads_one", "yields"], False),
        **{"nothing": True, "empty_tail": True, "enter": None},
    }.items(),
)
def test_sections_that_do_nothing(sections, name, empty):
    assert sections(name, Walker.is_empty) is empty


@pytest.mark.parametrize("name", KNOWN_CALLS)
def test_what_a_section_calls(sections, name):
    done = sections(name)
    assert done.ends
    assert set(done.calls) == KNOWN_CALLS[name]


@pytest.mark.parametrize("name", [*KNOWN_CALLS, "pointer"])
def test_only_sections_that_write_nothing_are_said_to_only_read(sections, name):
    done = sections(name)
    assert (done.is_known and not done.writes) == (name in ONLY_READ), done


def test_locks_that_functions_of_the_program_take_and_release(sections):
    """The way that ends early, another lock's, and what comes behind are told apart."""

    def ends(walker, start, _):
        function = walker._program.function(start)
        calls = [each for each in sorted(function.at.values()) if each.is_call]
        names = [plain_symbol(each.symbol) for each in calls]
        last = calls[names.index("fsync") - 1]
        assert plain_symbol(last.symbol) == "leave"
        (taken,) = (each.following for each in calls if plain_symbol(each.symbol) == "enter")
        return walker.between(start, taken, [last.following])

    done = sections("wrapped", ends)
    assert done.ends
    assert set(done.calls) == {"free", "pthread_mutex_lock"}


def test_what_is_called_again_and_again(sections):
    assert sections("many").calls["malloc"][1]
    assert not sections("once").calls["malloc"][1]
    written = {"fputs", "fwrite"}  # as compilers choose
    assert {again for call, (_, again) in sections("tells").calls.items() if call in written} == {
        True
    }


def test_what_a_function_does_seldom_is_not_done_again_and_again(sections):
    """As messages on what has failed, where it is called in a loop."""
    calls = sections("grumbles").calls
    assert calls and not any(again for _, again in calls.values())


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("sleeps", {"sleep"}), ("yields", {"sleep"}), ("nested", {"sleep", "wait"}),
     ("once", {"allocation"}), ("in_place", {"allocation"}), ("listed", {"allocation"}),
     ("many", set()), ("seldom", set()), ("switches", set()), ("fails", set()), ("early", set()),
     ("reads", set())],
)  # fmt: skip
def test_what_every_way_calls(sections, name, kinds):
    """What stands on some ways only is not told."""
    assert sections(name).always == kinds


LITTLE_BUT_ALLOCATE = {"once", "in_place", "listed"}
NOT_ALONE = {"many", "seldom", "after_work", "reads", "pointer_too"}


@pytest.mark.parametrize("name", sorted(LITTLE_BUT_ALLOCATE | NOT_ALONE))
def test_sections_that_do_little_but_allocate(sections, name):
    """On every way, and nothing in a loop besides; what is not known may be anything."""
    assert sectioncode._allocates_alone(sections(name)) == (name in LITTLE_BUT_ALLOCATE)


def test_what_cannot_be_followed_is_not_known(sections):
    assert not sections("pointer").is_known
    done = sections("switches")
    # As jumps through a table, or as comparisons: whatever is told is there.
    assert set(done.calls) <= {"puts", "usleep"}
    assert not done.is_known or done.writes


def test_no_code_where_the_file_is_another_build(tmp_path):
    """A record of a program that is gone says nothing of its code, and the report still comes."""
    of = Planted()
    lock = of.lock([250_000] * 60)
    of.waits(lock, 1 * MS)
    of.builder.maps = "00000000-00100000 r-xp 00000000 00:00 7 /nowhere/program\n"
    assert of.findings(tmp_path)[0]["causes"] == ["long"]


def test_a_damaged_program_stops_no_report(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF" + bytes(range(256)) * 40)
    builder = RecordBuilder()
    thread = builder.thread(1)
    lock = builder.lock(0x9000, 1, 10, 0, builder.stack(0x1100), [30_000] * 20)
    builder.row(thread, lock, 1, [100_000] * 5)
    builder.wait(thread, lock, builder.start, builder.start + 100_000, builder.stack(0x1100))
    builder.hold(thread, lock, builder.start, builder.start + 30_000, builder.stack(0x1150))
    builder.maps = f"00001000-00003000 r-xp 00001000 00:00 7 {program}\n"
    done = run_cli("report", "--json", builder.write(tmp_path / "rec"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"][0]["findings"]


def test_what_calls_itself_comes_to_an_end(sections):
    assert sections("recurses").calls == {}


BY_POINTER = r"""
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long elsewhere(long);
__asm__(".globl elsewhere\n.type elsewhere, @function\nelsewhere: jmp usleep@PLT\n"
        ".size elsewhere, . - elsewhere");
void section(long x) {
  pthread_mutex_lock(&lock); elsewhere(x); pthread_mutex_unlock(&lock);
}
int main(void) { return 0; }
"""


def test_calls_through_pointers_that_the_loader_sets_are_followed(tmp_path):
    """As Rust's of its library, and as -fno-plt makes them."""
    assert shutil.which("objdump"), "scripts/setup.sh test installs it"
    flags = ("-O2", "-fPIE", "-pie", "-fno-plt", "-Wa,-mrelax-relocations=no", "-pthread")
    path = str(compile_c(BY_POINTER, tmp_path / "program", *flags))
    names = Names()
    program = names.program(path)
    ((start, _),) = SymbolTable(path).functions("section")
    calls = [each for each in program.function(start).at.values() if each.is_call]
    assert any("(%rip)" in each.operands and each.symbol == "elsewhere" for each in calls)
    (taken,) = (c for c in calls if plain_symbol(c.symbol) == "pthread_mutex_lock")
    done = Walker(program).between(start, taken.following, [])
    assert done.ends and done.is_known and set(done.calls) == {"usleep"}
    assert done.always == {"sleep"}


@pytest.mark.parametrize(
    ("symbol", "kind"),
    [("_RNvNtNtCsjrHSEGnQ3l9_3std6thread9functions5sleep", "sleep"),
     ("_ZN3std6thread5sleep17hb0bb1c2d3d5e78cbE", "sleep"),
     ("_ZN47_$LT$std..fs..File$u20$as$u20$std..io..Write$GT$5write17h1234567890abcdefE",
      "input or output"),
     ("_RNvXs9_NtNtCsjrHSEGnQ3l9_3std2io5implsINtNtCslNYArtu3iFV_5alloc3vec3VechENtB7_5Write5write",
      None),
     ("_ZN3std6thread5spawn17hb0bb1c2d3d5e78cbE", None)],
)  # fmt: skip
def test_what_functions_of_rust_do(symbol, kind):
    assert knowncalls.kind_of(symbol) == kind


def test_functions_are_read_alike_together_and_alone(tmp_path, monkeypatch):
    """One call of objdump tells of several; the last of these may be cut off."""
    path = str(compile_c(SOURCE, tmp_path / "x", "-O1", "-pthread"))
    starts = sorted(start for start, size in SymbolTable(path).functions_where(bool) if size)
    assert len(starts) > 20
    for longest in (machinecode.LONGEST, 200):  # a few functions at a time, too
        alone = [Program(path).function(start) for start in starts]
        monkeypatch.setattr(machinecode, "LONGEST", longest)
        together = Program(path)
        for start, wanted in zip_equal(starts, alone):
            found = together.function(start)
            if max(wanted.at) - start < longest - 16:
                assert (found.name, found.at) == (wanted.name, wanted.at)
