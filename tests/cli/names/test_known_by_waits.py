"""Names of locks of which nobody saw who made or first used them: who waits for them tells."""

import json

from conftest import compile_c, run_cli
from planted_record import MS, US, Planted

from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.tuning import hotlocks

# So many locks, each first used by another way, that hardly one use in a hundred is looked at; then
# threads wait for four of them.
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
enum { locks = 20000, hot = 4 };
__attribute__((noinline)) static void odd(unsigned, pthread_mutex_t*);
__attribute__((noinline)) static void even(unsigned way, pthread_mutex_t* m) {
  if (way > 1) (way & 1 ? odd : even)(way >> 1, m);
  else pthread_mutex_lock(m), pthread_mutex_unlock(m);
  __asm__ volatile("");
}
__attribute__((noinline)) static void odd(unsigned way, pthread_mutex_t* m) {
  if (way > 1) (way & 1 ? odd : even)(way >> 1, m);
  else pthread_mutex_lock(m), pthread_mutex_unlock(m);
  __asm__ volatile("");
}
__attribute__((noinline)) static void use_often(pthread_mutex_t* m) {
  pthread_mutex_lock(m);
  usleep(500);
  pthread_mutex_unlock(m);
}
static void* work(void* last) {
  for (int i = 0; i < 40; i++) use_often((pthread_mutex_t*)last - i % hot);
  return 0;
}
int main(void) {
  pthread_mutex_t* all = calloc(locks, sizeof *all);
  for (unsigned i = 0; i < locks; i++) even(locks + i, all + i);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(threads + i, 0, work, all + locks - 1);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  return 0;
}
"""


def test_of_many_locks_those_that_are_waited_for_have_names(tmp_path):
    program = compile_c(PROGRAM, tmp_path / "p", "-O1", "-g", "-pthread")
    done = run_cli("record", "-q", "-o", tmp_path / "rec", "--", program)
    assert done.returncode == 0, done.stderr
    record = Record(str(tmp_path / "rec"))
    assert len([lock for lock in record.locks() if not lock.first_stack]) > 2_000
    # No policy names them: the library knows a lock by its first user, which may be another one.
    assert not hotlocks.hot_locks(Analysis(record), str(program))
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "rec").stdout)["records"]
    waited = [lock["name"] for lock in found["locks"] if "mutex" in lock["waits"]]
    assert waited and all(name.startswith("use_often at ") for name in waited), waited


def planted() -> Planted:
    """Two locks that one function waits for, of the first of which another one is the first user
    that was seen."""
    of = Planted()
    of.builder.maps = "a000-f000 r-xp 0000a000 08:01 1 /gone/app\n"
    first, waiting = of.builder.stack(0xA001, 0xF000), of.builder.stack(0xB001, 0xF000)
    for number, seen in enumerate((first, 0, 0)):
        lock = of.builder.lock(0x9000 + 64 * number, 1, 100, 0, seen, [250 * US] * 40)
        of.waits(lock, (number + 1) * MS)
        of.builder.wait(of.threads[0], lock, 0, MS, waiting)
    return of


def test_who_waits_tells_where_nobody_else_does(tmp_path):
    record = planted().builder.write(tmp_path / "rec")
    (found,) = json.loads(run_cli("report", "--json", record).stdout)["records"]
    assert [(lock["name"], len(lock["addresses"])) for lock in found["locks"]] == [
        ("app+0xb000", 2),
        ("app+0xa000", 1),
    ]
