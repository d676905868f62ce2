"""Writes beside a lock that lies in an object, read from programs compiled here in several ways."""

import shutil

import pytest
from conftest import compile_c

from syncopate.records.besides import Objects
from syncopate.records.codewalk import Walker
from syncopate.symbols.machinecode import Program, plain_symbol
from syncopate.symbols.symboltable import SymbolTable

SOURCE = r"""
#include <pthread.h>
#define FAR(name) __attribute__((noinline)) void name
struct pool { long hits; pthread_mutex_t lock; long seen, n, more[16], last; };
struct user { long id; struct pool* pool; };
struct pool* the;
FAR(note)(struct pool* p) { __atomic_fetch_add(&p->seen, 1, __ATOMIC_RELAXED); }
FAR(take)(struct pool* p) { pthread_mutex_lock(&p->lock); }
FAR(leave)(struct pool* p) { pthread_mutex_unlock(&p->lock); }
FAR(elsewhere)(void) { __asm__ volatile("" ::: "memory"); }
#define LOOP(name, what, body) void name(what) { for (int i = 0; i < 1000; i++) { body } }
#define SECTION(p) pthread_mutex_lock(&(p)->lock); (p)->n++; pthread_mutex_unlock(&(p)->lock);
#define ADD(x) __atomic_fetch_add(&(x), 1, __ATOMIC_RELAXED);
LOOP(before, struct pool* p, ADD(p->hits) SECTION(p))
LOOP(behind, struct pool* p, ADD(p->seen) elsewhere(); SECTION(p))
LOOP(by_pointer, struct user* u, ADD(u->pool->hits) SECTION(u->pool))
LOOP(by_global, void, ADD(the->hits) elsewhere(); SECTION(the))
LOOP(by_function, struct pool* p, note(p); SECTION(p))
LOOP(by_wrapper, struct pool* p, ADD(p->hits) take(p); p->n++; leave(p);)
void once_a_section(struct pool* p) { ADD(p->hits) SECTION(p) }
LOOP(inside, struct pool* p, pthread_mutex_lock(&p->lock); p->n++; ADD(p->seen) ADD(p->hits)
     pthread_mutex_unlock(&p->lock);)
LOOP(far_away, struct pool* p, ADD(p->last) SECTION(p))
void other(struct pool* p, struct pool* q) {
  for (int i = 0; i < 99; i++) { ADD(q->hits) SECTION(p) }
}
void at_first(struct pool* p) {
  p->hits = 0;
  for (int i = 0; i < 99; i++) { SECTION(p) }
}
LOOP(only_read, struct pool* p, if (p->hits > i) elsewhere(); SECTION(p))
int main(void) { return 0; }
"""
FOUND = {
    "before": -8, "behind": 40, "by_pointer": -8, "by_global": -8, "by_function": 40,
    "by_wrapper": -8, "once_a_section": -8,
    "inside": None, "far_away": None, "other": None, "at_first": None, "only_read": None,
}  # fmt: skip
LINE = range(-8, 56)  # of a lock 8 bytes behind a line's begin


@pytest.fixture(
    scope="module",
    params=[(c, level) for c in ("gcc", "clang") for level in ("-O0", "-O1", "-O2", "-O3")],
    ids="".join,
)
def program(request, tmp_path_factory):
    compiler, level = request.param
    assert shutil.which("objdump") and shutil.which(compiler), "scripts/setup.sh test installs it"
    path = tmp_path_factory.mktemp("besides") / "program"
    return compile_c(SOURCE, path, level, "-pthread", "-fno-inline-functions", compiler=compiler)


def within(code: Program, call) -> list[tuple[int, int]]:
    """Where a wrapper that does not jump to it calls what takes the lock."""
    function = code.function(call.target)
    return [
        (function.start, each.following)
        for each in (function.at.values() if plain_symbol(call.symbol) == "take" else ())
        if each.is_call and plain_symbol(each.symbol) == "pthread_mutex_lock"
    ]


@pytest.mark.parametrize("name", FOUND)
def test_what_is_written_beside_the_lock(program, name):
    code = Program(str(program))
    ((start, _),) = SymbolTable(str(program)).functions(name)
    calls = [each for each in code.function(start).at.values() if each.is_call]
    taking = [each for each in calls if plain_symbol(each.symbol) in ("pthread_mutex_lock", "take")]
    leaving = [
        each for each in calls if plain_symbol(each.symbol) in ("pthread_mutex_unlock", "leave")
    ]
    assert taking
    objects, released = Objects(code, Walker(code)), {each.following for each in leaving}
    found = {
        write.offset
        for call in taking
        for write in objects.writes(
            [*within(code, call), (start, call.following)], released, (), LINE
        )
    }
    wanted = FOUND[name]
    assert found - set(range(40)) == (set() if wanted is None else {wanted})
