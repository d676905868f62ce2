"""Locks that programs make of a condition variable: who waits there signals it, too. A report says
how much of the waiting that may be, and which; it does not of queues, pools and signals, at which
others give the waiters something to do."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from conftest import HERE, run_cli
from language_support import both, recorded
from make_record import RecordBuilder

from syncopate.records import account
from syncopate.records.recordformat import CONDITION, SIGNALS, WaitKind

MS = 1_000_000


@pytest.fixture(scope="session")
def programs(tmp_path_factory) -> Path:
    """known/condition_locks.cpp, compiled in several ways."""
    folder = tmp_path_factory.mktemp("conditions")
    for compiler in ("g++", "clang++"):
        for level in ("-O2", "-O3"):
            subprocess.run(
                [compiler, level, "-g", "-std=c++20", "-pthread",
                 HERE / "known/condition_locks.cpp", "-o", folder / (compiler + level)], check=True
            )  # fmt: skip
    return folder


def conditions(found: dict) -> dict[str, tuple[int, int]]:
    """By variable, what threads waited for it, and of that where waiters signal it."""
    return {
        lock["called"].partition("+")[0].removesuffix("._M_cond._M_cond"): (
            lock["waited_ns"],
            lock["signaled_by_waiters_ns"],
        )
        for lock in found["locks"]
        if lock["object"] == "condition"
    }


def reported(program, what, record, how=()) -> tuple[dict, str]:
    found, _ = recorded([program, what], record, how)
    return found, " ".join(run_cli("report", record).stdout.split())


@pytest.mark.sampled(8)
@both
@pytest.mark.crossed("how", "build", "what")
@pytest.mark.parametrize("build", ["g++-O2", "clang++-O3"])
@pytest.mark.parametrize(
    ("what", "name"),
    [("semaphore", "tokens"), ("all", "tokens"), ("rwlock", "table"), ("fair", "line")],
)
def test_locks_of_condition_variables(programs, tmp_path, how, build, what, name):
    found, text = reported(programs / build, what, tmp_path / "r", how)
    waited = conditions(found)
    (own,) = [times for called, times in waited.items() if called.endswith(name)]
    assert own[0] == own[1] > account.LARGE * found["thread_time_ns"]
    assert found["account"]["signaled_by_waiters_ns"] == pytest.approx(own[1], rel=1e-3)
    assert ", and perhaps to locks of its own: up to" in text
    assert re.search(rf"most of it at \S*( namespace\)::)?{name}\b", text)
    assert "Condition variables that their waiters signal (perhaps locks" in text
    assert account.unseen(found) >= own[1] / found["thread_time_ns"]


@pytest.mark.sampled(2)
@both
@pytest.mark.crossed("how", "build", "what")
@pytest.mark.parametrize("build", ["g++-O3", "clang++-O2"])
@pytest.mark.parametrize("what", ["queue", "pool", "stages", "done"])
def test_what_gives_others_something_to_do(programs, tmp_path, how, build, what):
    found, text = reported(programs / build, what, tmp_path / "r", how)
    waited = conditions(found)
    assert max(times[0] for times in waited.values()) > account.LARGE * found["thread_time_ns"]
    assert {times[1] for times in waited.values()} == {0}
    assert found["account"]["signaled_by_waiters_ns"] == 0
    assert "that their waiters signal" not in text


PERL = """
use threads; use threads::shared;
my $total :shared = 0;
sub work { my $s = 0; $s += $_ for 1 .. 4000; return $s }
sub body { for (1 .. 1200) { lock($total); work(); $total++ } }
$_->join for map { threads->create(\\&body) } 1 .. 4;
"""


@pytest.mark.long
@both
def test_perls_lock_of_a_shared_variable(tmp_path, how):
    """A lock that nobody here made, of a condition variable: Perl's lock()."""
    found, _ = recorded(["perl", "-e", PERL], tmp_path / "r", how)
    assert found["account"]["signaled_by_waiters_ns"] > 0
    rows = [lock for lock in found["locks"] if lock["signaled_by_waiters_ns"]]
    assert all(lock["object"] == "condition" for lock in rows)
    assert any("shared.so" in lock["name"] for lock in rows), rows


@pytest.mark.long
@both
def test_threads_of_xz_wait_for_something_to_do(tmp_path, how):
    """A pool that nobody here made: one thread gives the others blocks to compress."""
    data = tmp_path / "data"
    data.write_bytes(bytes(range(256)) * (12 << 12))
    command = ["xz", "-T4", "-1", "-k", "--block-size=1MiB", data]
    found, _ = recorded(command, tmp_path / "r", how)
    assert any("condition" in lock["waits"] for lock in found["locks"])
    assert found["account"]["signaled_by_waiters_ns"] == 0


@pytest.mark.parametrize(
    ("signals", "is_lock"),
    [
        ((), False),
        ((10, 10, 10, 10), True),
        ((20, 20), True),  # half of those that wait
        ((40,), False),
        ((10, 10), True),
        ((10, 9), False),  # half come from those that wait
    ],
)
def test_who_has_to_signal(tmp_path, signals, is_lock):
    """Four threads wait for what is signaled forty times."""
    builder = RecordBuilder(start=1_000_000, end=1_000_000 + 1000 * MS)
    condition = builder.lock(0x9000, CONDITION, acquisitions=40)
    for number in range(4):
        thread = builder.thread(100 + number, f"w{number}", cpu=MS)
        builder.row(thread, condition, WaitKind.CONDITION, [10 * MS] * 20)
        if number < len(signals):
            builder.row(thread, condition, SIGNALS, [0] * signals[number])
    builder.write(tmp_path / "r")
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    (lock,) = found["locks"]
    assert lock["signaled_by_waiters_ns"] == (lock["waited_ns"] if is_lock else 0)
    assert bool(account.perhaps_other(found)) == is_lock


def test_two_of_one_name_are_told_apart_by_what_each_is_for(tmp_path):
    """A queue's two conditions: whoever waits at one signals the other."""
    builder = RecordBuilder(start=1_000_000, end=1_000_000 + 1000 * MS)
    stack = builder.stack(0xA000, 0xB000)
    filled, emptied = (
        builder.lock(0x9000 + 64 * n, CONDITION, acquisitions=40, create=stack) for n in range(2)
    )
    for number in range(4):
        thread = builder.thread(100 + number, f"w{number}", cpu=MS)
        mine = filled if number % 2 else emptied
        builder.row(thread, mine, WaitKind.CONDITION, [10 * MS] * 20)
        builder.row(thread, mine, SIGNALS, [0])  # at its end
    builder.write(tmp_path / "r")
    found = json.loads(run_cli("report", "--json", tmp_path / "r").stdout)["records"][0]
    (lock,) = found["locks"]
    assert (lock["members"], lock["signaled_by_waiters_ns"]) == (2, 0)
