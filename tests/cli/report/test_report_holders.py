"""Who held what threads waited for, from records whose every event is known."""

import json
import random
from collections import Counter

import pytest
from conftest import run_cli
from make_record import RecordBuilder
from record_results import BEGIN, CODE_A, CODE_B, CODE_C, names, results_of

from syncopate.records.blame import Holds
from syncopate.records.recordformat import Event


def test_holders_are_found_by_overlap(tmp_path):
    """One wait of 1000; a held it for its first 250, b for the remaining 750."""
    builder = RecordBuilder()
    waiting, by_a, by_b = builder.stack(CODE_A), builder.stack(CODE_B), builder.stack(CODE_C)
    w, a, b = (builder.thread(10 + n, name) for n, name in enumerate("wab"))
    lock, other = builder.lock(0x9000), builder.lock(0x9100)
    builder.row(w, lock, 1, [1000])
    builder.wait(w, lock, BEGIN + 5000, BEGIN + 6000, waiting, holder=11)
    builder.hold(a, lock, BEGIN + 4000, BEGIN + 5250, by_a)
    builder.hold(b, lock, BEGIN + 5250, BEGIN + 6000, by_b)
    builder.hold(b, lock, BEGIN + 7000, BEGIN + 9000, waiting)  # afterwards
    builder.hold(a, other, BEGIN + 5000, BEGIN + 6000, waiting)  # another lock
    results = results_of(builder, tmp_path)
    found = next(lock for lock in results["locks"] if lock["addresses"] == ["0x9000"])
    assert names(found["waiters"]) == [["0xa000"]]
    assert names(found["holders"]) == [["0xc000"], ["0xb000"]]
    assert [stack["ns"] for stack in found["holders"]] == [750, 250]
    blocks = [(row["waiter"], row["holder"], row["ns"]) for row in results["blocks"]]
    assert blocks == [("w/10", "b/12", 750), ("w/10", "a/11", 250)]


def test_of_many_holds_some_are_looked_at_and_the_known_holders_in_any_case(tmp_path):
    """A wait of 100,000: a held the lock for the first half, then b 1000 times for 10."""
    builder = RecordBuilder()
    stack, by_a, by_b = builder.stack(CODE_A), builder.stack(CODE_B), builder.stack(CODE_C)
    w, a, b = (builder.thread(10 + n, name) for n, name in enumerate("wab"))
    lock = builder.lock(0x9000)
    builder.row(w, lock, 1, [100_000])
    builder.wait(w, lock, BEGIN + 5_000, BEGIN + 105_000, stack, holder=11)
    builder.hold(b, lock, BEGIN + 4_900, BEGIN + 5_001, by_b)  # the first that is looked at
    builder.hold(a, lock, BEGIN + 5_001, BEGIN + 55_000, by_a)
    for number in range(1_000):
        at = BEGIN + 55_000 + 50 * number
        builder.hold(b, lock, at, at + 10, by_b)
    found = results_of(builder, tmp_path)
    shares = {block["holder"]: block["ns"] / 100_000 for block in found["blocks"]}
    assert shares["a/11"] == pytest.approx(5 / 6, abs=0.03)
    assert shares["b/12"] == pytest.approx(1 / 6, abs=0.03)


def test_pairs_of_many_threads_are_bounded(tmp_path):
    """200 threads wait for 200: the 10,000 pairs with most time, and the sum of the others."""
    builder = RecordBuilder()
    stack = builder.stack(CODE_A)
    lock = builder.lock(0x9000)
    threads = [builder.thread(10 + n, f"t{n}") for n in range(200)]
    for thread in threads:
        waits = 1_000 * (200 if thread != threads[-1] else 199)  # until all others have had it
        builder.row(thread, lock, 1, [waits])
        builder.wait(thread, lock, BEGIN, BEGIN + waits, stack)
    for number, thread in enumerate(threads):
        builder.hold(thread, lock, BEGIN + 1_000 * number, BEGIN + 1_000 * (number + 1), stack)
    record = builder.write(tmp_path / "rec")
    document = json.loads(run_cli("report", "--json", record).stdout)["records"][0]
    assert len(document["blocks"]) == 10_000
    left_out = document["blocks_left_out"]
    assert left_out["pairs"] == 200 * 199 - 10_000
    total = sum(block["ns"] for block in document["blocks"]) + left_out["ns"]
    assert total == pytest.approx(document["lost_ns"], rel=1e-3)


def test_known_holder_without_a_sampled_hold_gets_its_usual_stack(tmp_path):
    builder = RecordBuilder()
    waiting, usual, rare = builder.stack(CODE_A), builder.stack(CODE_B), builder.stack(CODE_C)
    w, a = builder.thread(10, "w"), builder.thread(11, "a")
    lock = builder.lock(0x9000)
    builder.row(w, lock, 1, [1000])
    builder.wait(w, lock, BEGIN + 5000, BEGIN + 6000, waiting, holder=11)
    for at in (10_000, 20_000):
        builder.hold(a, lock, BEGIN + at, BEGIN + at + 100, usual)
    builder.hold(a, lock, BEGIN + 30_000, BEGIN + 30_100, rare)
    found = results_of(builder, tmp_path)
    assert names(found["locks"][0]["holders"]) == [["0xb000"]]
    assert found["blocks"][0]["holder"] == "a/11"


def test_hold_of_unknown_start_and_wait_without_holder(tmp_path):
    builder = RecordBuilder()
    stack = builder.stack(CODE_B)
    w, a = builder.thread(10, "w"), builder.thread(11, "a")
    first, second = builder.lock(0x9000), builder.lock(0x9100)
    for lock in (first, second):
        builder.row(w, lock, 1, [1000])
        builder.wait(w, lock, BEGIN + 5000, BEGIN + 6000, stack)
    builder.hold(a, first, 0, BEGIN + 6000, stack)
    blocks = {row["lock"]: row["holder"] for row in results_of(builder, tmp_path)["blocks"]}
    assert blocks == {"0x9000": "a/11", "0x9100": "unknown"}


def test_blame_adds_up_to_the_wait_whatever_is_known_of_holds():
    """Holds of no length are common where the clock ticks slowly, as on Arm."""
    rng = random.Random(1)
    event = dict(lock=1, stack=0, kind=2, wait=0)
    for _ in range(2000):
        holds = []
        for _ in range(rng.randrange(5)):
            end = rng.randrange(1, 30)
            start = rng.choice([0, end, rng.randrange(1, end + 1)])
            weight, thread = rng.choice([0, 1, 16]), rng.randrange(3)
            holds.append(
                Event(thread=thread, start=start, end=end, holder=0, weight=weight, **event)
            )
        start, most = rng.randrange(1, 30), rng.choice([1, 4, 256])
        wait = Event(
            thread=0, start=start, end=start + rng.randrange(20), weight=1,
            holder=rng.choice([0, 101, 102, 109]), **event,
        )  # fmt: skip
        parts = list(Holds(holds, {0: 100, 1: 101, 2: 102}, most).blame(wait))
        assert sum(part.ticks for part in parts) == pytest.approx(wait.end - wait.start)


def test_samples_are_scaled_to_the_exact_sums(tmp_path):
    """The rows know of 10,000 ticks; the events show 1,000 of them with weights 3 and 1."""
    builder = RecordBuilder()
    one, two = builder.stack(CODE_A), builder.stack(CODE_B)
    thread = builder.thread(10)
    lock = builder.lock(0x9000)
    builder.row(thread, lock, 1, [1000] * 10)
    builder.wait(thread, lock, BEGIN, BEGIN + 500, one, weight=3)
    builder.wait(thread, lock, BEGIN + 900, BEGIN + 1400, two, weight=1)
    found = results_of(builder, tmp_path)["locks"][0]
    assert [(s["ns"], s["share"]) for s in found["waiters"]] == [(7500, 0.75), (2500, 0.25)]


def test_samples_of_each_thread_are_scaled_to_what_it_waited(tmp_path):
    """One thread's sample stands for a thousand waits and is longer than all it waited; the third
    has none, and waited as long as the second: its time is laid to all stacks and to nobody."""
    builder = RecordBuilder()
    one, two, stack = builder.stack(CODE_A), builder.stack(CODE_B), builder.stack(CODE_C)
    first, second, third = (builder.thread(10 + i, "w") for i in range(3))
    holder = builder.thread(13, "a")
    lock = builder.lock(0x9000)
    for thread, waited in ((first, 1000), (second, 2000), (third, 2000)):
        builder.row(thread, lock, 1, [waited])
    builder.wait(first, lock, BEGIN, BEGIN + 500, one, weight=1000)
    builder.wait(second, lock, BEGIN, BEGIN + 500, two)
    builder.hold(holder, lock, BEGIN, BEGIN + 500, stack)
    found = results_of(builder, tmp_path)
    blocks = {(block["waiter"], block["holder"]): block["ns"] for block in found["blocks"]}
    assert blocks == {("w/10", "a/13"): 1000, ("w/11", "a/13"): 2000}
    shares = [stack["share"] for stack in found["locks"][0]["waiters"]]
    assert shares == pytest.approx([2 / 3, 1 / 3], abs=1e-3)
    assert sum(each["ns"] for each in found["locks"][0]["holders"]) == 5000


@pytest.mark.parametrize(
    ("starts", "ends", "of_first"),
    [(BEGIN + 100, BEGIN + 200, 100), (0, BEGIN + 200, 200), (BEGIN - 10, BEGIN + 200, 800)],
    ids=["seen to take it", "seen to release it", "had it before"],
)
def test_who_held_it_when_a_wait_began_has_it_until_another_does(starts, ends, of_first):
    """No hold of that thread was sampled."""
    hold = Event(
        thread=2, start=starts, end=ends, holder=0, weight=1, lock=1, stack=0, kind=2, wait=0
    )
    wait = Event(
        thread=0,
        start=BEGIN,
        end=BEGIN + 1000,
        holder=101,
        weight=1,
        lock=1,
        stack=0,
        kind=1,
        wait=1,
    )
    parts = Holds([hold], {0: 100, 1: 101, 2: 102}, 256).blame(wait)
    ticks = {part.holder: part.ticks for part in parts if part.ticks}
    assert ticks.get(101, 0) == of_first
    assert sum(ticks.values()) == 1000


@pytest.mark.parametrize(
    ("weight", "starts", "told"),
    [
        (1, BEGIN - 10, {101: 300, 0: 700}),
        (1, 0, {101: 300, 0: 700}),
        (3, 0, {101: 600, 0: 400}),
        (3, BEGIN + 100, {101: 700, 0: 300}),
        (1, BEGIN + 200, {101: 500, 0: 500}),
    ],
    ids=["seen from its start on", "the only one", "one of three", "short ones", "after others"],
)
def test_what_is_longer_than_all_holds_is_laid_to_nobody(weight, starts, told):
    """Who waits was woken, and had no processor: nobody is known to have it meanwhile."""
    event = dict(holder=0, lock=1, stack=0)
    hold = Event(thread=1, start=starts, end=BEGIN + 300, weight=weight, kind=2, wait=0, **event)
    event["holder"] = 101
    wait = Event(thread=0, start=BEGIN, end=BEGIN + 1000, weight=1, kind=1, wait=1, **event)
    ticks: Counter[int] = Counter()
    for part in Holds([hold], {0: 100, 1: 101}, 256).blame(wait):
        ticks[part.holder] += part.ticks
    assert {holder: ns for holder, ns in ticks.items() if ns} == told


@pytest.mark.parametrize(
    ("thread", "ends", "had"), [(3, 400, 0), (0, 2000, 103)], ids=["who got it", "who had it"]
)
@pytest.mark.parametrize(("weight", "holder"), [(1, 0), (3, 101)])
def test_a_hold_begins_after_others_were_seen_to_have_the_lock(thread, ends, had, weight, holder):
    """Its start was not seen, and the one before ended long ago. One that stands for others has
    their time, too."""
    event = dict(lock=1, stack=0, holder=0)
    ids = {0: 100, 1: 101, 2: 102, 3: 103}
    holds = [
        Event(thread=2, start=0, end=BEGIN, weight=1, kind=2, wait=0, **event),
        Event(thread=1, start=0, end=BEGIN + 1000, weight=weight, kind=2, wait=0, **event),
    ]
    wait = Event(thread=0, start=BEGIN, end=BEGIN + 350, weight=1, kind=1, wait=1, **event)
    begin = BEGIN + 400 if had else BEGIN - 50
    other = Event(thread, begin, BEGIN + ends, 1, 0, had, 1, 1, 1)
    parts = Holds(holds, ids, 256, [other]).blame(wait)
    assert {part.holder: part.ticks for part in parts if part.ticks} == {holder: 350}
