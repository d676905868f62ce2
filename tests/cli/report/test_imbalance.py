"""What is told of threads that wait at OpenMP's barriers for one with more work, by numbers."""

import json

import pytest
from conftest import run_cli
from make_record import RecordBuilder

MS, US = 1_000_000, 1000
WAITED, CAME_LAST, AT_WORK, MORE_WORK = 7, 10, 25, 26  # wait_kind
THREADS = 4


def findings(folder, last, more, work, waited=10 * MS, times=40, cpu=200 * MS):
    """Of four threads on two processors that met so many `times` in a second: how often each came
    `last`, for how long the others waited for it each time since it had `more` work, and for how
    long each is at `work`."""
    folder.mkdir(exist_ok=True)
    builder = RecordBuilder(0, 1000 * MS)
    barrier = builder.lock(0x9000, 5)
    for n in range(THREADS):
        thread = builder.thread(10 + n, f"w{n}", cpu=cpu)
        builder.row(thread, barrier, WAITED, [waited] * (times - last[n] or 1))
        builder.row(thread, barrier, AT_WORK, [work[n]] * times)
        for kind, each in (CAME_LAST, 50), (MORE_WORK, more[n]):
            if last[n]:
                builder.row(thread, barrier, kind, [each] * last[n])
    done = run_cli("report", "--json", builder.write(folder / "rec"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"][0]["findings"]


def test_one_thread_that_mostly_comes_last(tmp_path):
    (found,) = findings(
        tmp_path, (36, 2, 1, 1), [21 * MS] * 4, (20 * MS, 13 * MS, 13 * MS, 13 * MS)
    )
    assert found["causes"] == ["imbalance"] and not found["may_be_meant"]
    assert found["lost_ns"] == 40 * 21 * MS and found["lost_share"] == pytest.approx(0.21)
    assert found["cost"] == (
        "21.0 % of all thread time (840 ms): threads take unequally long, and threads that are done"
        " wait here"
    )
    assert found["why"][0].startswith(
        "w0/10 comes last, 36 of 40 times: it takes 20.0 ms in the mean to get here, the others"
        " 13.0 ms"
    )
    assert found["reasons"][0]["sure"] == "likely"
    assert found["gain_at_most"] == pytest.approx(1 / 0.79)
    assert found["do"][0].endswith("(nowait), where what follows can do without it")
    assert found["gain"].startswith("at most 1.3x as fast, did all take as long")
    assert "360 ms more of waiting there is for other reasons" in found["why"][1]


def test_no_more_is_lost_than_threads_waited(tmp_path):
    """More work is timed apart: who had less may have come late for another reason."""
    (found,) = findings(
        tmp_path, (36, 2, 1, 1), [21 * MS] * 4, (20 * MS, 13 * MS, 13 * MS, 13 * MS), 6 * MS
    )
    assert found["lost_ns"] == (3 * 40 * 6) * MS < 40 * 21 * MS
    assert "more of waiting" not in " ".join(found["why"])


def test_now_one_now_the_other(tmp_path):
    (found,) = findings(tmp_path, (9, 10, 11, 10), [6 * MS] * 4, [12 * MS] * 4)
    assert found["why"][0] == (
        "it is now this thread that comes last, now that one: most often w2/12, 11 of 40 times; the"
        " last one takes 2.00 ms longer than the others in the mean; so much a slower processor"
        " makes, too, as one whose core other programs, or the host's other machines, use"
    )


@pytest.mark.parametrize(
    ("last", "more", "work"),
    [
        ((9, 10, 11, 10), 3 * 8 * MS, [10 * MS] * 4),  # the last takes 16 ms, the others 8
        ((40, 0, 0, 0), 3 * 9 * MS, (18 * MS, 9 * MS, 9 * MS, 9 * MS)),
    ],
)
def test_what_a_slower_processor_may_make_is_not_called_unevenly_split(tmp_path, last, more, work):
    """From twice as long it is."""
    less = [each - 5 * US for each in work]
    for at_work, cause, sure, condition in (
        (less, "work is unevenly split", "certain", "were it evenly split"),
        (work, "work is unevenly split", "certain", "were it evenly split"),
        ([each + 5 * US for each in work], "threads take unequally long", "likely", "did all take"),
    ):
        (found,) = findings(tmp_path, last, [more] * 4, at_work)
        assert f": {cause}, and threads that are done wait here" in found["cost"]
        assert found["reasons"][0]["sure"] == sure and f", {condition}" in found["gain"]
        assert ("a slower processor" in found["why"][0]) == (sure == "likely")


@pytest.mark.parametrize(
    ("last", "more"),
    [
        ((40, 0, 0, 0), 4 * MS),  # 4 % of the time
        ((10, 10, 10, 10), 0),  # all of the waiting is for something else
    ],
)
def test_what_costs_little_is_told_of_no_thread(tmp_path, last, more):
    assert not findings(tmp_path, last, [more] * 4, [12 * MS] * 4)


def test_where_threads_outnumber_processors_that_are_all_in_use_nothing_is_to_be_gained(tmp_path):
    of = [(40, 0, 0, 0), [20 * MS] * 4, (20 * MS, 13 * MS, 13 * MS, 13 * MS)]
    assert findings(tmp_path, *of)
    assert not findings(tmp_path / "again", *of, cpu=500 * MS)


def test_what_caches_make_of_short_work_is_no_imbalance_but_one_slow_thread_is(tmp_path):
    """A wait of 15 us each, where it is now one thread, now the other."""
    changing = findings(tmp_path, [2500] * 4, [45 * US] * 4, [60 * US] * 4, 30 * US, 10_000)
    assert not changing
    (same,) = findings(
        tmp_path, [10_000, 0, 0, 0], [45 * US] * 4, [75 * US, *[60 * US] * 3], 30 * US, 10_000
    )
    assert same["causes"] == ["imbalance"]


@pytest.mark.parametrize(("last", "is_told"), [((25, 5, 5, 5), False), ((28, 4, 4, 4), True)])
def test_what_a_few_times_have_made_is_no_split(tmp_path, last, is_told):
    """One thread is behind nearly all of it, as where its processor stood still for a while; one
    with more work comes last nearly always."""
    found = findings(tmp_path, last, (30 * MS, 0, 0, 0), (20 * MS, 13 * MS, 13 * MS, 13 * MS))
    assert bool(found) == is_told
