"""What the holders of a lock wait for, by what was seen, before anything that their code may do."""

import json

import pytest
from conftest import compile_c, run_cli
from make_record import RecordBuilder
from planted_record import MS, Planted
from test_report_numbers import BEGIN, CODE_A, results_of

MUTEX, CONDITION, YIELD = 1, 6, 17  # kinds of wait


def test_waits_within_holds_are_counted_by_their_share(tmp_path):
    """Of 2000 ticks of the outer lock's holds 1200 went into the inner one's, 100 into another's,
    and one hold stands for three."""
    builder = RecordBuilder()
    stack = builder.stack(CODE_A)
    holder, other = builder.thread(10, "holder"), builder.thread(11, "other")
    outer, inner, third = (
        builder.lock(0x9000 + 0x100 * n, acquisitions=9, holds=[600, 600]) for n in range(3)
    )
    for lock in (outer, inner, third):
        builder.row(other, lock, MUTEX, [1000])
        for thread in (holder, other):
            builder.hold(thread, lock, BEGIN + 100_000, BEGIN + 100_001, stack)
    builder.hold(holder, outer, BEGIN + 1000, BEGIN + 1600, stack, weight=3)
    builder.wait(holder, inner, BEGIN + 1100, BEGIN + 1500, stack)
    builder.hold(holder, outer, BEGIN + 3000, BEGIN + 3198, stack)
    builder.wait(holder, third, BEGIN + 3000, BEGIN + 3100, stack)
    # Of another thread, begun before the hold, going on after it, and no waits for locks.
    builder.wait(other, inner, BEGIN + 1100, BEGIN + 1500, stack)
    builder.wait(holder, inner, BEGIN + 900, BEGIN + 1500, stack)
    builder.wait(holder, inner, BEGIN + 3100, BEGIN + 3300, stack)
    builder.wait(holder, inner, BEGIN + 3100, BEGIN + 3190, stack, kind=CONDITION)
    builder.wait(holder, inner, BEGIN + 3100, BEGIN + 3190, stack, kind=YIELD)
    locks = {lock["addresses"][0]: lock for lock in results_of(builder, tmp_path)["locks"]}
    assert locks["0x9000"]["hold"]["waits_inside"] == {
        "name": "0x9100",
        "share": pytest.approx(1200 / 2000),
        "holds": 1,
        "samples": 4,
    }
    assert locks["0x9100"]["hold"]["waits_inside"] is None


@pytest.mark.parametrize(
    ("watched", "slept", "causes"),
    [(40, 16, ["waits"]), (40, 0, ["waits"]), (40, 40, ["waits", "sleeps"])],
)
def test_a_lock_held_over_another_of_its_row(tmp_path, watched, slept, causes):
    """As nodes of a tree are, child and parent: in 16 of 40 holds the holder waits for another
    one. Where far more of them sleep, that is not all that they sleep for."""
    of = Planted()
    child, parent = (of.lock([MS] * 40, create=of.stack) for _ in range(2))
    for number in range(20):
        begin = of.builder.start + (number + 1) * 10 * MS
        end = begin + (6 if number < 8 else 1) * MS
        for thread, lock, other in ((0, child, parent), (1, parent, child)):
            of.builder.hold(of.threads[thread], lock, begin, end, of.stack)
            if number < 8:
                of.builder.wait(of.threads[thread], other, begin + MS, end - MS, of.stack)
            # Of one lock alone: a reader's hold, in which it comes to write.
            of.builder.wait(of.threads[thread], lock, begin + 100, end - 100, of.stack)
    of.waits(child, 5 * MS)
    of.builder.holder(of.threads[0], child, watched, [0, 0, slept])
    (found,) = of.findings(tmp_path)
    assert found["causes"] == causes, found
    assert found["why"][0] == (
        "who holds one of these 2 locks waits for another of them meanwhile: that takes 53.3 % of"
        " the time of the holds that others waited for, in 16 of 40 seen"
    )
    assert found["do"][0].startswith("release one before the next is taken")


@pytest.mark.parametrize(("each", "told"), [(7, True), (1, False)])
def test_waits_within_are_no_cause_of_more_than_they_can_make(tmp_path, each, told):
    """All eight waited 50 ms each: 60 ms of them at the other lock in all can be why, 8 cannot,
    whatever the few holds show whose beginning is known."""
    of = Planted()
    outer = of.lock([MS] * 40)
    inner = of.lock([MS] * 40, create=of.builder.stack(0xB000))
    of.waits(outer, 5 * MS)
    of.waits(inner, each * MS, times=1)
    for number in range(20):
        begin = of.builder.start + (number + 1) * 10 * MS
        of.builder.hold(of.threads[0], outer, begin, begin + 3 * MS, of.stack)
        of.builder.wait(of.threads[0], inner, begin + MS // 2, begin + 3 * MS - 1, of.stack)
    found = {each["lock"]: each for each in of.findings(tmp_path)}
    assert ("waits" in found["0xa000"]["causes"]) == told, found["0xa000"]


NESTED = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t item_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int verbose, touched, begun, done;
static void touch(const char* key) {
  if (verbose > 2)
    for (; *key; key++) fputc(*key, stderr);
  pthread_mutex_lock(&list_lock);
  touched++;
  pthread_mutex_unlock(&list_lock);
}
static void* get(void* key) {
  for (int i = 0; i < 150; i++) {  // one in 16 of these is looked at
    pthread_mutex_lock(&item_lock);
    touch(key);
    pthread_mutex_unlock(&item_lock);
    usleep(1000);
  }
  return 0;
}
static void* maintain(void* unused) {
  while (!done) {
    pthread_mutex_lock(&list_lock);
    begun = 1;
    usleep(2000);
    pthread_mutex_unlock(&list_lock);
    usleep(200);
  }
  return unused;
}
int main(void) {
  pthread_t threads[4], maintainer;
  pthread_create(&maintainer, 0, maintain, 0);
  while (!begun) usleep(100);
  for (int t = 0; t < 4; t++) pthread_create(&threads[t], 0, get, "key");
  for (int t = 0; t < 4; t++) pthread_join(threads[t], 0);
  done = 1;
  pthread_join(maintainer, 0);
  return 0;
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_lock_held_over_another_is_not_said_to_be_held_over_messages(tmp_path, level):
    """They would be written in a loop, were there any."""
    program = compile_c(NESTED, tmp_path / "prog", "-g", level, "-pthread")
    assert run_cli("record", "-o", tmp_path / "rec", "--", program).returncode == 0
    (found,) = json.loads(run_cli("report", "--json", tmp_path / "rec").stdout)["records"]
    findings = {each["lock"]: each for each in found["findings"]}
    item = findings["item_lock"]
    assert item["causes"][0] == "waits", item
    assert item["why"][0].startswith("who holds it waits for list_lock meanwhile: that takes ")
    assert item["do"][0].startswith("hold list_lock for shorter")
    assert "fputc" not in " ".join([*item["why"], *item["do"]])
    assert findings["list_lock"]["causes"][0] == "sleeps"
