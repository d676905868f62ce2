"""What `simulate --from` takes from a record, what it asks the replay, and how it answers."""

import json
import math
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, compile_c, one_line, run_cli
from make_record import RecordBuilder

from syncopate.base import compactjson, optiontable, ownsettings
from syncopate.base.errors import Failure
from syncopate.machines import machinefiles, whatif
from syncopate.records import lockuse
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record

LIFE = 1_000_000  # ns of every thread
RELEASE = 11  # of wait_kind


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


OUTSIDE, AWAY, INSIDE = 18, 19, 20


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


def test_unknown_lock_lists_those_that_waited(tmp_path):
    with pytest.raises(Failure, match=r"no lock of .* is called 'cache'.*'0x1000'"):
        use_of(two_threads(), tmp_path, "cache")


@pytest.mark.parametrize(
    ("recorder", "acquisitions", "said"),
    [
        (0, 5, "no hold of '0x1000' was measured; record again, longer"),
        (0, 0, "how long '0x1000' is held is not seen of such locks, only who waits"),
        (1, 0, "is not seen from the kernel; without --kernel, of pthread's locks"),
        (2, 0, "how long '0x1000' is held a Java VM does not tell"),
    ],
)
def test_record_without_holds_says_how_to_get_them(tmp_path, recorder, acquisitions, said):
    """If that is possible: as a longer record of what is never seen is not."""
    builder = RecordBuilder()
    builder.recorder = recorder
    lock = builder.lock(0x1000, acquisitions=acquisitions)
    builder.row(builder.thread(11), lock, 1, [1000] * 20)
    with pytest.raises(Failure) as failed:
        use_of(builder, tmp_path)
    assert said in str(failed.value)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("halve", {}, {"length": "50"}),
        ("length=25", {}, {"length": "25"}),
        ("move=40", {}, {"length": "60", "moved": "40"}),
        ("shard=8", {}, {"shards": "8"}),
        ("rwlock=95", {"reads": "95"}, {"reads": "95", "lock": "rwlock"}),
        ("elide", {"conflicts": "10"}, {"conflicts": "10", "lock": "elided_auto"}),
    ],
)
def test_changes(text, before, after):
    change = whatif.parse(text)
    assert (change.before, change.after) == (before, after)


@pytest.mark.parametrize(
    "text", ["", "faster", "halve=2", "shard", "shard=x", "shard=0", "shard=1025", "move=101"]
)
def test_unknown_changes_are_refused(text):
    with pytest.raises(Failure, match="--what"):
        whatif.parse(text)


def test_swaps_are_checked(native, monkeypatch):
    monkeypatch.setenv("SYNCOPATE_NATIVE", str(native))
    assert whatif.parse("lock=mcs:spin").after == {"lock": "mcs:spin"}
    assert whatif.parse("lock=glibc").after == {"lock": "pthread"}
    with pytest.raises(Failure, match=r"no lock is named 'mcsx' \(did you mean mcs"):
        whatif.parse("lock=mcsx")
    with pytest.raises(Failure, match="lock mcs does not wait by 'sleep'"):
        whatif.parse("lock=mcs:sleep")


def test_range_is_what_nine_of_ten_predictions_keep_to():
    measured = Path(__file__).parents[2] / "papers/results/measured/whatif_check.json"
    rows = compactjson.read(measured.read_text())["rows"]
    assert whatif.error_of_nine_in_ten(rows) == pytest.approx(whatif.MODEL_ERROR, abs=0.001)
    model = 1 + whatif.MODEL_ERROR
    held = [1 / model <= each["predicted"] / each["measured"] <= model for each in rows]
    assert sum(held) >= 0.88 * len(held)


def test_error_bar_covers_spread_and_model():
    steady = whatif.answer(whatif.parse("halve"), 4, [100, 100], [150, 150])
    assert steady.gain == 1.5
    assert steady.high == pytest.approx(1.5 * (1 + whatif.MODEL_ERROR))
    assert steady.low == pytest.approx(1.5 / (1 + whatif.MODEL_ERROR))
    wide = whatif.answer(whatif.parse("halve"), 4, [100, 100], [100, 200])
    assert wide.high / wide.gain > steady.high / steady.gain


@pytest.mark.parametrize(
    ("recorded", "new", "low"),
    [
        (0, 300, 3 / 1.515),  # elsewhere
        (90, 300, 3 / 1.515),  # on a busy machine
        (110, 300, 3 / 1.515),
        (200, 300, 1.5),
        (1000, 300, 1.0),
        (1000, 120, 1.2 / 1.515),  # may lose in any case
    ],
)
def test_a_program_that_is_faster_than_its_replay_may_gain_less(recorded, new, low):
    """Threads that take turns by time slices hardly meet at a lock."""
    found = whatif.answer(whatif.parse("halve"), 4, [100, 100], [new, new], recorded)
    assert (found.gain, found.low) == (new / 100, pytest.approx(low))


@pytest.mark.parametrize(("processors", "low"), [(2, 1.0), (4, 3 / 1.515)])
def test_a_record_bounds_gains_on_machines_like_its_own(tmp_path, processors, low):
    use = replace(use_of(two_threads(), tmp_path), processors=processors, rate=1e9)
    replayer = whatif.Replayer(use, str(ROOT / "machines/small-2c.toml"), str(tmp_path), "none")
    replayer.rate = lambda settings, threads, seed: 300.0 if "length" in settings else 100.0
    for threads, at_least in ((2, low), (3, 3 / 1.515)):
        (found,) = whatif.answers(replayer, [whatif.parse("length=10")], [threads])
        assert found.low == pytest.approx(at_least)


# Stands in for the replay: its rate is threads times what --length leaves.
REPLAY = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in --threads) threads=$2;; --length) length=$2;; esac
  shift 2
done
echo "{\\"operations\\": $((threads * 10000 / ${length:-100})), \\"seconds\\": 1}"
"""


def simulate(cli, native, builder, tmp_path, *words, replay=REPLAY, **others):
    program = native / "libexec/syncopate/replay.simulated"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(replay)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    record = builder.write(tmp_path / "some.rec")
    machine = () if "--machine" in words else ("--machine", "test-4c")
    return cli("simulate", "--from", record, *machine, *words, **others)


def test_elision_is_for_machines_with_transactions(cli, native, tmp_path):
    """Elsewhere the replay would take the lock, and what it says be told as elision's."""
    for machine, has in (("test-4c", True), ("small-2c", False)):
        done = simulate(cli, native, two_threads(), tmp_path, "--machine", machine)
        assert done.returncode == 0, done.stderr
        assert "halve the section" in done.stdout
        assert ("elide" in done.stdout) == has
        for change in ("elide", "elide=3", "halve,elide"):
            words = ("--machine", machine, "--what", change)
            done = simulate(cli, native, two_threads(), tmp_path, *words)
            assert done.returncode == (0 if has else 2)
            assert has or "machine small-2c has no transactions" in one_line(done)


def test_settings_of_the_user_are_not_those_of_the_replays(cli, native, tmp_path):
    """A lock of the user's own would stand behind every `glibc`; other programs' load is a part of
    the question."""
    set_by_user = {name: "1" for name in optiontable.rows() if name != "SYNCOPATE_MACHINE"}
    set_by_user |= {"SYNCOPATE_NATIVE": str(native), "SYNCOPATE_LOCK": "mcs"}
    given = tmp_path / "given"
    words = ("--what", "lock=glibc")
    told = f"#!/bin/sh\nenv > {given}\n"
    done = simulate(
        cli, native, two_threads(), tmp_path, *words,
        environ=set_by_user, replay=REPLAY.replace("#!/bin/sh\n", told),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = {line.partition("=")[0] for line in given.read_text().splitlines()}
    ours = {"SYNCOPATE_FOREIGN_BUSY", "SYNCOPATE_FOREIGN_LOAD", "SYNCOPATE_FOREIGN_REST"}
    ours |= {"SYNCOPATE_MACHINE", "SYNCOPATE_QUIET", *ownsettings.KEPT}
    assert {name for name in names if name.startswith("SYNCOPATE")} == ours


def test_table_and_json(cli, native, tmp_path):
    out = tmp_path / "answers.json"
    words = ("--threads", "1,4", "--what", "halve,lock=mcs", "--json", out)
    done = simulate(cli, native, two_threads(), tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert "halve the section" in done.stdout
    assert "As recorded:" not in done.stdout  # with 2 threads, which were not asked for
    assert "threads beyond the 2 recorded ones" in done.stdout
    answers = json.loads(out.read_text())["answers"]
    assert [(a["what"], a["threads"], a["gain"]) for a in answers] == [
        ("halve", 1, 2.0), ("lock=mcs", 1, 1.0), ("halve", 4, 2.0), ("lock=mcs", 4, 1.0),
    ]  # fmt: skip


def test_replay_stands_beside_the_record(cli, native, tmp_path):
    done = simulate(cli, native, two_threads(), tmp_path, "--threads", "2", "--what", "elide,halve")
    words = " ".join(done.stdout.split())
    assert "As recorded: 2,000,000 sections a second; replayed unchanged: 200" in words
    assert (
        "As recorded"
        not in simulate(
            cli, native, two_threads(), tmp_path, "--threads", "2", "--what", "elide"
        ).stdout
    )


def test_bad_use_is_one_line(cli, native, tmp_path):
    for words, said in (
        (("--threads", "0"), "--threads needs whole numbers"),
        (("--lock", "none such"), "no lock of"),
        (("--json", "answers"), "give the file a name in .json"),
        (("--stats",), "--stats does not go with --from"),
        (("--", "program"), "--from needs no program"),
    ):
        done = simulate(cli, native, two_threads(), tmp_path, *words)
        assert done.returncode == 2
        assert said in one_line(done)
    assert "needs --from RECORD" in one_line(cli("simulate", "--what", "halve"))
    # The record that is not there comes first, also where this machine was not measured.
    absent = cli("simulate", "--from", "absent.rec", environ={"XDG_CONFIG_HOME": str(tmp_path)})
    assert "cannot read absent.rec" in one_line(absent)


@pytest.mark.parametrize(
    ("name", "processors"), [("small-2c", 2), ("opteron-6272", 64), ("sapphire-rapids-2s", 224)]
)
def test_threads_take_turns_beyond_the_processors_of_the_whole_machine(tmp_path, name, processors):
    """A file's cores are those of all sockets."""
    file = str(ROOT / f"machines/{name}.toml")
    assert machinefiles.summary(machinefiles.read(file))["threads"] == str(processors)
    use = replace(use_of(two_threads(), tmp_path), hold_ns=10.0)
    use.threads[:] = [replace(each, outside_ns=1e5) for each in use.threads]
    replayer = whatif.Replayer(use, file, str(tmp_path), "none")
    slices = whatif.TIME_SLICES * replayer.slice_ns / 1000
    assert replayer.microseconds(processors + 1) >= min(2 * slices, replayer.microseconds(1))
    assert replayer.processors == processors


def test_a_section_that_a_change_empties_is_not_replayed_for_ever(tmp_path):
    """A program that does nothing but hold its lock, for 10 ms each time."""
    use = replace(use_of(two_threads(), tmp_path), holds=[(10_000_000, 10_000_000, 1)],
                  hold_ns=10_000_000.0)  # fmt: skip
    use.threads[:] = [replace(each, outside_ns=0.0, away_chance=0.0) for each in use.threads]
    replayer = whatif.Replayer(use, str(ROOT / "machines/small-2c.toml"), str(tmp_path), "none")
    usual = replayer.microseconds(2)
    assert usual == whatif.SECTIONS * 10_000
    for length, moved in ((100, 0), (50, 0), (20, 0), (0, 100)):
        assert replayer.microseconds(2, length, moved) == usual
    for length in range(10):
        left = max(length * 100.0, whatif.LEAST_SECTION_NS / 1000)  # us
        assert replayer.microseconds(2, length) == pytest.approx(whatif.MOST_SECTIONS * left)


@pytest.mark.parametrize(
    "text",
    ["", "x = 1\n", "topology = 5\n", "[topology]\nsockets = 'x'\n",
     "[topology]\nsockets = 0\ncores = 1\nsmt = 1\n[os]\ntime_slice_microseconds = 1\n"],
)  # fmt: skip
def test_a_machine_file_that_lacks_something_is_one_line(tmp_path, text):
    file = tmp_path / "m.toml"
    file.write_text(text)
    with pytest.raises(Failure, match=r"m\.toml is damaged .*machine-files\.md"):
        whatif.Replayer(None, str(file), str(tmp_path), "none")
