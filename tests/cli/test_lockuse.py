"""What `simulate --from` takes from a record: how a lock is used, and by whom."""

import math
from pathlib import Path

import pytest
from conftest import compile_c, run_cli
from make_record import RecordBuilder

from syncopate.base.errors import Failure
from syncopate.machines import whatif
from syncopate.records import lockuse
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record

LIFE = 1_000_000  # ns of every thread
RELEASE, OUTSIDE, AWAY, INSIDE = 11, 18, 19, 20  # of wait_kind


def two_threads(cpu: int = 0) -> RecordBuilder:
    """Two threads, 1000 sections of 200 ns each; 100 waits of 300 ns each, 50 releases of 400."""
    builder = RecordBuilder()
    lock = builder.lock(0x1000, acquisitions=2000, holds=[200] * 400)
    for number in (11, 12):
        thread = builder.thread(number, cpu=cpu)
        builder.row(thread, lock, 1, [300] * 100)
        builder.row(thread, lock, RELEASE, [400] * 50)
    return builder


def use_of(builder: RecordBuilder, folder: Path, name: str | None = None) -> lockuse.LockUse:
    analysis = Analysis(Record(str(builder.write(folder / "some.rec"))))
    return lockuse.of(analysis, lockuse.choose(analysis, name))


def test_work_outside_is_what_waits_and_releases_leave(tmp_path):
    use = use_of(two_threads(), tmp_path)
    assert (use.acquisitions, use.contended, use.algorithm) == (2000, 200, "futex")
    assert use.holds == [(192, 200, 400)]  # a bucket ends where the longest hold does
    running = LIFE - 100 * 300 - 50 * 392  # a release by the middle of its bucket
    assert [thread.outside_ns for thread in use.threads] == pytest.approx(
        [running / 1000 - use.hold_ns] * 2, rel=0.01
    )
    assert use.rate == pytest.approx(2000 / (LIFE * 1e-9))


def test_processor_time_counts_where_it_is_known(tmp_path):
    use = use_of(two_threads(cpu=500_000), tmp_path)
    left = 500_000 - 100 * 300 - 50 * 392
    assert use.threads[0].outside_ns == pytest.approx(left / 1000 - use.hold_ns, rel=0.01)
    assert not any("kernel" in line for line in use.assumptions)


# Without measurements a wait takes 2 us of a processor, and a release its whole time, up to 10 us.
@pytest.mark.parametrize(("asked", "spent"), [(19, 20 * (2_000 + 9_096)), (20, 20 * 9_000)])
def test_waits_and_wakes_cost_what_was_measured(tmp_path, asked, spent):
    builder = RecordBuilder()
    lock = builder.lock(0x1000, acquisitions=1000, holds=[200] * 400)
    thread = builder.thread(11, cpu=550_000)
    builder.row(thread, lock, 1, [10_000] * 20)
    builder.row(thread, lock, RELEASE, [10_000] * 20)
    for number in range(asked):
        at = 1_000_000 + number * 40_000
        builder.wait(thread, lock, at, at + 10_000, used=(5_000, 1, 0))
        builder.event(thread, 2, lock, at, at + 200, used=(4_000, 0, 0))
    (use,) = use_of(builder, tmp_path).threads
    assert use.outside_ns == pytest.approx((550_000 - spent) / 1000 - 200, rel=0.05)


def measured_gaps(**more: list[int]) -> RecordBuilder:
    """Threads that wait nearly always; the work between their sections was measured."""
    builder = RecordBuilder()
    lock = builder.lock(0x1000, acquisitions=3300, holds=[1_700] * 100 + [900_000] * 5)
    for number in (11, 12, 13):
        thread = builder.thread(number, cpu=900_000)
        builder.row(thread, lock, 1, [200] * 1000)
    builder.gaps(0, lock, OUTSIDE, [1_000] * 50 + [9_000] * 50)
    builder.gaps(1, lock, OUTSIDE, [3_000] * 50)
    for kind, times in more.items():
        builder.gaps(0, lock, {"away": AWAY, "inside": INSIDE}[kind], times)
    return builder


def test_work_that_was_measured_is_not_guessed(tmp_path):
    use = use_of(measured_gaps(), tmp_path)
    assert [thread.outside_ns for thread in use.threads] == [5_000, 3_000]  # the third took it once
    assert not any("exponentially" in line for line in use.assumptions)
    lengths = use.threads[0].lengths
    assert sum(count for _, _, count in lengths) == 1600
    drawn = sum((low + high) / 2 * count for low, high, count in lengths) / 1600
    assert drawn == pytest.approx(5_000, rel=0.01)
    assert f"outside {lengths[0][0]} {lengths[0][1]} {lengths[0][2]}\n" in use.trace()


def test_time_elsewhere_is_no_work(tmp_path):
    busy, other = use_of(measured_gaps(away=[70_000] * 10), tmp_path).threads
    assert (busy.away_chance, busy.away_ns) == (0.1, 70_000)
    assert (other.away_chance, other.away_ns) == (0, 0)


def test_interrupted_holds_are_left_out_where_they_are_known(tmp_path):
    assert use_of(measured_gaps(), tmp_path).hold_ns > 40_000  # too many to be by chance
    assert use_of(measured_gaps(inside=[1_700] * 100), tmp_path).hold_ns == pytest.approx(1_700)


def sleepers(*watched: list[int], inside: int = 0) -> RecordBuilder:
    """Threads whose holds were watched, one in two of them long; `inside` of these wait for another
    lock. `watched`: by thread, how many of 20 holds slept."""
    builder = RecordBuilder()
    lock = builder.lock(0x1000, acquisitions=800, holds=[900] * 50 + [300_000] * 50)
    other = builder.lock(0x9000, acquisitions=800, first=builder.stack(0xA000), holds=[100] * 9)
    for number, slept in enumerate(watched):
        thread = builder.thread(11 + number, cpu=400_000)
        builder.holder(thread, lock, 20, [0, 0, *slept, 0])
        for each in range(inside):
            at = 1_100_000 + 100_000 * each
            builder.hold(thread, lock, at, at + 90_000)
            builder.wait(thread, other, at + 1_000, at + 80_000)
    return builder


def test_holds_that_sleep_take_no_processor(tmp_path):
    """The longest are those; what they take is no part of the processor time of their threads."""
    use = use_of(sleepers([10], [10]), tmp_path, "0x1000")
    ran, slept = (sum(count for _, _, count in each) for each in (use.holds, use.asleep))
    assert (ran, slept) == (50, 50)
    assert max(high for _, high, _ in use.holds) < 2_000 < min(low for low, _, _ in use.asleep)
    assert use.awake_ns() == pytest.approx(450, rel=0.05)
    assert use.threads[0].outside_ns == pytest.approx(400_000 / 400 - 450, rel=0.05)
    assert f"asleep {use.asleep[0][0]} {use.asleep[0][1]} 50\n" in use.trace()
    assert any("50.0 % of the sections" in line for line in use.assumptions)
    awake = use_of(sleepers([0], [0]), tmp_path, "0x1000")
    assert (awake.asleep, awake.awake_ns()) == ([], awake.hold_ns)
    assert "asleep" not in awake.trace()
    assert not any("sleeps" in line for line in awake.assumptions)


@pytest.mark.parametrize(("cpu", "runs"), [(2_000_000, 0.5), (400_000, 0.0), (90_000_000, 1.0)])
def test_what_sections_run_before_they_sleep(tmp_path, cpu, runs):
    """Of 2,500 ns of a processor for each of 800 sections, 500 are work between two; all holds
    sleep, and take 4,000 each."""
    builder = RecordBuilder(end=200_000_000)
    lock = builder.lock(0x1000, acquisitions=800, holds=[4_000] * 99)
    thread = builder.thread(11, cpu=cpu)
    builder.row(thread, lock, 1, [1])
    builder.holder(thread, lock, 50, [0, 0, 50])
    builder.gaps(thread, lock, INSIDE, [4_000] * 50)
    builder.gaps(thread, lock, OUTSIDE, [500] * 50)
    use = use_of(builder, tmp_path)
    assert use.runs == pytest.approx(runs, abs=0.01)
    assert use.awake_ns() == pytest.approx(runs * 4_000, rel=0.01)
    assert f"\nruns {round(1000 * use.runs)}\n" in use.trace()


def test_who_waits_for_another_lock_inside_is_not_asleep(tmp_path):
    """That wait does not go on beside others'."""
    use = use_of(sleepers([20], inside=5), tmp_path, "0x1000")
    assert not use.asleep


def test_sleepers_are_told_by_thread(tmp_path):
    builder = sleepers([20], [0])
    for thread, times in ((0, [9_000] * 40), (1, [3_000] * 40)):
        builder.gaps(thread, 1, INSIDE, times)
    use = use_of(builder, tmp_path, "0x1000")
    assert [sum(count for _, _, count in each) for each in (use.holds, use.asleep)] == [640, 640]
    assert max(high for _, high, _ in use.holds) < min(low for low, _, _ in use.asleep)
    assert use.hold_ns == pytest.approx(6_000, rel=0.01)


def test_sections_of_other_locks_of_the_group_are_not_work_between(tmp_path):
    builder = RecordBuilder()
    stack = builder.stack(0x40)
    for number in range(2):
        lock = builder.lock(0x1000 + 64 * number, acquisitions=400, create=stack, holds=[100] * 99)
        if number == 0:
            thread = builder.thread(11)
        builder.gaps(thread, lock, INSIDE, [100] * 50)
        builder.gaps(thread, lock, OUTSIDE, [900] * 50)  # 400 of work, a section, 400 of work
    (use,) = use_of(builder, tmp_path).threads
    assert use.outside_ns == pytest.approx(400, rel=0.01)


def test_few_measurements_of_a_thread_are_those_of_all(tmp_path):
    builder = measured_gaps()
    builder.gaps(2, 1, OUTSIDE, [1_000] * 9)
    together = (500_000 + 150_000 + 9_000) / 159
    outside = [thread.outside_ns for thread in use_of(builder, tmp_path).threads]
    assert outside == pytest.approx([5_000, 3_000, together])


def test_rare_long_holds_are_interruptions(tmp_path):
    builder = RecordBuilder()
    builder.lock(0x1000, acquisitions=999, holds=[200] * 999 + [5_000_000])
    builder.thread(11)
    use = use_of(builder, tmp_path)
    assert use.hold_ns < 400
    assert any("0.1 % of the measured holds" in line for line in use.assumptions)


def test_from_where_on_holds_are_left_out_is_said(tmp_path):
    """As many are longer than a rare one has to be, and these are what is left out: the others of
    over 200 us are usual."""
    builder = two_threads()
    holds = [50_000] * 1000 + [300_000] * 200 + [9_000_000] * 2
    lock = builder.lock(0x9000, acquisitions=2000, first=builder.stack(0xA000), holds=holds)
    builder.row(0, lock, 1, [1000])
    use = use_of(builder, tmp_path, "0xa000")
    assert max(high for _, high, _ in use.holds) > 200_000
    (said,) = [line for line in use.assumptions if "of the measured holds" in line]
    assert said.startswith("0.17 % of the measured holds were over 1.1"), said
    assert " ms: left out" in said


@pytest.mark.parametrize("started", [0, 2])
def test_who_is_taken_to_use_a_lock_that_nobody_waited_for(tmp_path, started):
    builder = RecordBuilder()
    for number in range(3):
        made = builder.stack(0xB000) if number and started else 0
        builder.thread(10 + number, stack=made)
    builder.lock(0x9000, acquisitions=2000, first=builder.stack(0xA000), holds=[1000] * 40)
    use = use_of(builder, tmp_path)
    others = " that others started" if started else ""
    assert len(use.threads) == (started or 3)
    assert f"nobody waited for it: all threads{others} are taken" in " ".join(use.assumptions)


@pytest.mark.parametrize("measured", [False, True], ids=["guessed", "measured"])
@pytest.mark.parametrize(
    ("lives", "at_once", "spanned"),
    [
        ([(0, 1), (0, 1), (0, 1), (0, 1)], 4, 1),
        ([(0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)], 1, 1),
        ([(0, 0.5), (0, 0.5), (0.5, 1), (0.5, 1)], 2, 1),
        ([(0, 0.25), (0.5, 0.75)], 1, 0.5),  # none lives between them
        ([(0, 0.3), (0.27, 0.57), (0.54, 0.84)], 1, 0.84),
        ([(0, 1), *((i / 10, (i + 1) / 10) for i in range(10))], 2, 1),
        ([(0, 1), *[(0, 0.2)] * 7], 7, 1),  # who lives alone later meets nobody there
    ],
)
def test_threads_that_follow_one_another_are_not_replayed_together(
    tmp_path, lives, at_once, spanned, measured
):
    builder = RecordBuilder()
    lock = builder.lock(0x1000, acquisitions=1000, holds=[200] * 400)
    for number, (start, end) in enumerate(lives):
        begin = builder.start
        thread = builder.thread(
            10 + number, start=begin + round(start * LIFE), end=begin + round(end * LIFE)
        )
        builder.row(thread, lock, 1, [300] * 20)
        if measured:
            builder.row(thread, lock, OUTSIDE, [1000 + number] * 200)
    use = use_of(builder, tmp_path)
    assert len(use.threads) == at_once
    assert use.rate == pytest.approx(1000 / (spanned * LIFE * 1e-9), rel=0.01)
    said = [line for line in use.assumptions if "live at one time" in line]
    assert bool(said) == (at_once < len(lives))
    if at_once > 1 and measured:  # who lived longest is one of them
        assert min(each.outside_ns for each in use.threads) < 1000 + 0.1 * len(lives)


def test_other_waits_are_time_away(tmp_path):
    builder = two_threads()
    condition = builder.lock(0x2000, object_kind=4)
    builder.row(0, condition, 6, [10_000] * 20)
    builder.row(1, condition, 6, [10_000])  # once: when it started
    away, once = use_of(builder, tmp_path).threads
    assert once.away_ns == 0
    assert away.away_chance == pytest.approx(20 / 1000, rel=0.2)  # it runs less, so takes it less
    assert away.away_ns == pytest.approx(10_000)


def test_evenly_used_members_count_whole(tmp_path):
    builder = RecordBuilder()
    stack = builder.stack(0x40)
    for number in range(4):
        builder.lock(0x1000 + 64 * number, acquisitions=100, create=stack, holds=[100])
    builder.thread(11)
    assert use_of(builder, tmp_path).members == 4


def test_more_threads_than_processors_share_them(tmp_path):
    builder = RecordBuilder()
    lock = builder.lock(0x1000, acquisitions=8000, holds=[100] * 50)
    for number in range(8):
        builder.row(builder.thread(number + 1), lock, 1, [100] * 10)
    use = use_of(builder, tmp_path)
    # Two processors for the whole time, 8000 sections.
    assert use.threads[0].outside_ns == pytest.approx(2 * LIFE / 8000 - use.hold_ns, rel=0.01)


@pytest.mark.parametrize(
    ("inner", "most"),
    # Held for 5,000 ns, twice for each section: 100,000 sections a second. A tenth as long: more
    # than all that is replayed.
    [(5_000, 100_000), (500, 1_000_000)],
)
def test_a_lock_that_is_waited_for_inside_bounds_what_is_to_be_gained(tmp_path, inner, most):
    builder = RecordBuilder()
    stacks = [builder.stack(0xA000), builder.stack(0xB000)]
    outer = builder.lock(0x1000, acquisitions=100, first=stacks[0], holds=[8_000] * 99)
    other = builder.lock(0x9000, acquisitions=200, first=stacks[1], holds=[inner] * 99)
    thread = builder.thread(11)
    builder.row(thread, outer, 1, [9_000] * 50)
    for at in range(1_100_000, 1_900_000, 100_000):
        builder.hold(thread, outer, at, at + 8_000)
        builder.wait(thread, other, at + 1_000, at + 2_000)
    use = use_of(builder, tmp_path, "0xa000")
    assert use.most == pytest.approx(most, rel=0.2)  # a bucket's width
    assert any(
        "its sections wait for 0xb000 inside, for 12.5 %" in each for each in use.assumptions
    )
    assert use.under == ""
    within = use_of(builder, tmp_path, "0xb000")
    assert (within.most, within.under) == (math.inf, "0xa000")
    assert any("take it while they hold 0xa000" in each for each in within.assumptions)

    class Replays:
        def recorded_rate(self):
            return 0.0

        def rate(self, settings, threads, seed):
            return 80_000.0 if "shards" not in settings else 500_000.0

    Replays.use = use
    (found,) = whatif.answers(Replays(), [whatif.parse("shard=8")], [1], seeds=1)
    assert (found.before, found.after) == (80_000, min(use.most, 500_000))
    assert found.gain == pytest.approx(found.after / found.before)


@pytest.mark.parametrize(("times", "one"), [(1000, True), (2000, False)])
def test_semaphores_that_several_threads_have_are_not_replayed(tmp_path, times, one):
    """Held for 800 ns each, in a millisecond."""
    builder = RecordBuilder()
    builder.lock(0x1000, object_kind=7, acquisitions=times, holds=[800] * 400)
    builder.thread(11)
    if not one:
        with pytest.raises(Failure, match=r"1\.6 threads have semaphore .* at one time"):
            use_of(builder, tmp_path)
        return
    assert any(
        "one thread has it at a time" in each for each in use_of(builder, tmp_path).assumptions
    )


@pytest.mark.parametrize(("since", "is_said"), [(1_100_000, True), (1_990_000, False)])
def test_waits_that_do_not_end_are_said(tmp_path, since, is_said):
    """Most of the time went into one wait that was still going on; or into those that ended."""
    builder = RecordBuilder()
    lock = builder.lock(0x1000, acquisitions=2000, holds=[200] * 400)
    builder.row(builder.thread(11), lock, 1, [1000] * 50)
    builder.thread(12, end=0, waits=(since, 0, 0x1234, lock, 1, 0, 0, 0))
    said = [line for line in use_of(builder, tmp_path).assumptions if "not over at" in line]
    assert bool(said) == is_said
    assert not said or said[0].startswith("1 wait for it is not over at the record's end")


@pytest.mark.parametrize(("each", "is_said"), [(150_000, True), (300, False)])
def test_waits_that_replayed_holds_do_not_explain_are_said(tmp_path, each, is_said):
    """Two threads that wait for holds of 200 ns wait for far longer than one such hold each."""
    builder = RecordBuilder()
    lock = builder.lock(0x1000, acquisitions=2000, holds=[200] * 400)
    for number in (11, 12):
        builder.row(builder.thread(number), lock, 1, [each] * 5)
    said = [line for line in use_of(builder, tmp_path).assumptions if "no hold replayed" in line]
    assert bool(said) == is_said
    assert not said or said[0].startswith("waits took 150 us in the mean, which no hold replayed")


@pytest.mark.parametrize(
    ("sides", "reads", "said"),
    [
        ([30, 10], 75, "75 % of the sections take it for reading, as of the holds watched"),
        ([0, 40], 0, "0 % of the sections take it for reading, as"),
        ([4, 4], 90, "90 % of the sections take it for reading: the record does not tell"),
        ([], 90, "the record does not tell"),  # of older records
    ],
)
def test_who_reads_is_what_was_seen(tmp_path, sides, reads, said):
    """Of a reader-writer lock; replays of all changes have as many readers."""
    builder = RecordBuilder()
    lock = builder.lock(0x1000, object_kind=2, acquisitions=1000, holds=[200] * 400)
    builder.holder(builder.thread(11), lock, 40, [0] * 7 + sides)
    use = use_of(builder, tmp_path)
    assert (use.algorithm, use.reads) == ("rwlock", reads)
    assert any(said in line for line in use.assumptions)
    asked = []

    class Replays:
        def recorded_rate(self):
            return 0.0

        def rate(self, settings, threads, seed):
            asked.append(settings["reads"])
            return 1.0

    Replays.use = use
    whatif.answers(Replays(), [whatif.parse("halve"), whatif.parse("shard=8")], [1], seeds=1)
    assert asked == [str(reads)] * 3


SIDES = """
#include <pthread.h>
pthread_rwlock_t reading = PTHREAD_RWLOCK_INITIALIZER, writing = PTHREAD_RWLOCK_INITIALIZER;
int main(void) {
  for (int i = 0; i < 4096; ++i) {
    pthread_rwlock_rdlock(&reading);
    pthread_rwlock_wrlock(&writing);
    pthread_rwlock_unlock(&writing);
    pthread_rwlock_unlock(&reading);
  }
}
"""


def test_who_reads_is_recorded(tmp_path):
    """One lock is only read, the other one, taken inside, only written."""
    compile_c(SIDES, tmp_path / "sides", "-g", "-pthread")
    done = run_cli("record", "-q", "-o", "sides.rec", "./sides", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    analysis = Analysis(Record(str(tmp_path / "sides.rec")))
    for name, reads in (("reading", 100), ("writing", 0)):
        use = lockuse.of(analysis, lockuse.choose(analysis, name))
        assert (use.reads, use.acquisitions) == (reads, 4096)
        assert any("as of the holds watched" in line for line in use.assumptions)
