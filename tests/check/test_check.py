"""Every primitive under every interleaving: passed, or bounded where that is known; every mutant
caught."""

import functools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "tests" / "check"

# Our own waits are all in loops: a sleep that ends without a cause is one more turn of its loop.
# The first executions with such sleeps are explored by test_primitive_that_sleeps_restlessly, more
# of them in the long tests.
SOUNDLY = "spurious=0"
FIRST_RESTLESS = 100
RESTLESS_AFTER_LONG = 2_000

# More executions than any scenario needs that can be explored in seconds.
ENOUGH = 150_000

# With the default environment (each thread's two time-outs at will and one jump of the clock or a
# loop, two aborts) there are too many executions to explore all of them: how many are, every time.
# The search is deterministic, so these are always the same ones. The long tests explore more.
ENOUGH_OF_MANY = 2_000
MANY_AFTER_LONG = 10_000
BOUNDED = {
    ("lock_check", "auto two_threads"),
    ("lock_check", "auto three_threads"),
    ("lock_check", "auto try_lock_again"),
    ("lock_check", "tatas:park three_threads"),
    ("lock_check", "tatas:spin_then_park three_threads"),
    ("lock_check", "ticket:park three_threads"),
    ("lock_check", "ticket:spin_then_park three_threads"),
    ("lock_check", "ticket:spin_then_park try_lock_again"),
    ("lock_check", "htm_10_fb_aahtm three_threads"),
    # Each of the sleepers polls twice with a deadline before it sleeps.
    ("lock_check", "mcs:spin_then_park three_threads"),
    ("lock_check", "mcs:spin_then_park try_lock_again"),
    ("lock_check", "clh:spin_then_park three_threads"),
    ("lock_check", "cna:spin_then_park three_threads"),
    ("lock_check", "cna:spin_then_park try_lock_again"),
    ("lock_check", "hmcs:spin_then_park two_threads"),
    ("lock_check", "hmcs:spin_then_park three_threads"),
    ("lock_check", "hmcs:spin_then_park try_lock_again"),
    ("lock_check", "reciprocating:spin_then_park three_threads"),
    ("lock_check", "tatas:speculate three_threads"),
    ("lock_check", "ticket:speculate three_threads"),
    ("lock_check", "ticket:speculate try_lock_again"),
    ("lock_check", "mcs:speculate two_threads"),
    ("lock_check", "mcs:speculate three_threads"),
    ("lock_check", "mcs:speculate try_lock_again"),
    ("lock_check", "elided_auto two_threads"),
    ("lock_check", "elided_auto three_threads"),
    ("lock_check", "elided_auto try_lock"),
    ("lock_check", "elided_auto try_lock_again"),
    ("lock_check", "elided_auto destroy_after_unlock"),
    ("lock_check", "elided_auto timed"),
    ("condition_check", "two_waiters_notify_all"),
    ("condition_check", "two_waiters_two_signals"),
    ("elided_condition_check", "two_waiters_notify_all"),
    ("elided_condition_check", "two_waiters_two_signals"),
    ("elided_check", "rwlock_writer_and_reader"),
    ("rwlock_check", "writer_and_two_readers"),
    ("rwlock_check", "try_beside_two_writers"),
    ("rwlock_check", "timed_writer_is_overtaken"),  # two that time out
    ("rwlock_check", "invariants"),
    ("rwlock_check", "readers_meet_inside"),
    ("barrier_check", "poll_then_futex_barrier three"),  # each polls a thousand times, then sleeps
    ("fork_join_check", "one_member"),
    ("fork_join_check", "two_members"),
    ("fork_join_check", "one_of_two_calls"),
    ("gil_check", "enter_and_leave"),
    ("gil_check", "yield_beside_one"),
    ("gil_check", "beside_the_holder"),
    ("gil_check", "two_holders"),
    ("gil_check", "a_second_thread_comes"),
}

# Bounded above, exhaustive in the long tests: with so many executions at most.
PASSED_AFTER_LONG = {
    ("elided_check", "rwlock_writer_and_reader"): 3_000_000,
    ("lock_check", "tatas:park three_threads"): 150_000,
    ("lock_check", "tatas:spin_then_park three_threads"): 150_000,
    ("lock_check", "ticket:spin_then_park try_lock_again"): 150_000,
    ("lock_check", "ticket:speculate try_lock_again"): 150_000,
    ("lock_check", "htm_10_fb_aahtm three_threads"): 150_000,
    ("lock_check", "mcs:speculate two_threads"): 150_000,
    ("lock_check", "mcs:spin_then_park try_lock_again"): 150_000,
    ("lock_check", "hmcs:spin_then_park two_threads"): 150_000,
    ("lock_check", "mcs:spin_then_park three_threads"): 700_000,
    ("lock_check", "clh:spin_then_park three_threads"): 300_000,
    ("lock_check", "cna:spin_then_park three_threads"): 700_000,
    ("lock_check", "cna:spin_then_park try_lock_again"): 150_000,
    ("lock_check", "hmcs:spin_then_park try_lock_again"): 250_000,
    ("lock_check", "reciprocating:spin_then_park three_threads"): 100_000,
    ("rwlock_check", "timed_writer_is_overtaken"): 800_000,
    ("rwlock_check", "invariants"): 300_000,
    ("barrier_check", "poll_then_futex_barrier three"): 100_000,
}

# Sleepers that choose how to wait, and three participants of barriers that sleep or speculate: each
# combination has more executions than are worth their time every day, since the parts (strategies,
# counters) are explored by themselves. The first of each; whether they are all may change.
FIRST = 500
FIRST_ONLY = re.compile(
    r"\S+:adaptive .*|combined\S* (?!two_threads)\w+|one_spinner:(?!spin )\S+ .*"
    r"|\w+_barrier:(park|spin_then_park) (two|three)"
    r"|(auto_barrier|futex_barrier|speculating_barrier:\w+|dissemination_barrier:yield) (two|three)"
)

# All of these are explored to the end where the environment is calm: no timed wait expires and no
# loop gives up while another thread can run, no clock jumps, and one transaction at most aborts by
# chance.
CALM = f"timeouts=0,jumps=0,aborts=1,{SOUNDLY}"
ENOUGH_WHEN_CALM = 40_000
# But for those that take more: to the end in the long tests, with so many executions at most,
PASSED_AFTER_LONG_WHEN_CALM = {
    ("lock_check", "tatas:speculate three_threads"): 400_000,
    ("lock_check", "ticket:park three_threads"): 500_000,
    ("lock_check", "mcs:speculate three_threads"): 700_000,
    ("lock_check", "one_spinner:park three_threads"): 400_000,
    ("lock_check", "one_spinner:park try_lock_again"): 100_000,
    ("lock_check", "elided_auto three_threads"): 100_000,
    ("rwlock_check", "writer_and_two_readers"): 600_000,
    ("gil_check", "beside_the_holder"): 300_000,
    ("barrier_check", "auto_barrier three"): 60_000,
    ("barrier_check", "futex_barrier three"): 60_000,
    ("barrier_check", "dissemination_barrier:yield three"): 200_000,
}
# Or, of these, where a turn of a polling loop that has only read is taken to leave nothing behind
# (turns=0). Theirs leave how long to pause, and `auto`'s successor how often it has found it free.
LAST_TURNS = "turns=0"
PASSED_WITH_LAST_TURNS = {
    ("lock_check", "auto three_threads"): 350_000,
    ("gil_check", "two_holders"): 300_000,
}
# And for those of which no end has been seen without that: many in the long tests.
BOUNDED_WHEN_CALM = {
    ("lock_check", "auto three_threads"),
    ("condition_check", "two_waiters_notify_all"),
    ("condition_check", "two_waiters_two_signals"),
    ("elided_condition_check", "two_waiters_notify_all"),
    ("elided_condition_check", "two_waiters_two_signals"),
    ("gil_check", "two_holders"),
    ("rwlock_check", "readers_meet_inside"),
    ("barrier_check", "central_barrier:park three"),
    ("barrier_check", "combining_tree_barrier:park three"),
    ("barrier_check", "dissemination_barrier:park three"),
    ("barrier_check", "two_level_barrier:park three"),
    ("barrier_check", "speculating_barrier:adaptive three"),
    ("barrier_check", "speculating_barrier:monitor three"),
    ("barrier_check", "speculating_barrier:park three"),
    ("barrier_check", "speculating_barrier:spin three"),
    ("barrier_check", "speculating_barrier:spin_then_park three"),
    ("barrier_check", "speculating_barrier:yield three"),
}


@functools.cache
def scenarios(program: str) -> list[str]:
    environment = {**os.environ, "SYNCOPATE_QUIET": "1"}
    command = [str(PROGRAMS / program)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, env=environment, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


def explore(program: str, scenario: str, executions: int, **variables: str) -> dict:
    """Runs one scenario; returns the explored machine's verdict, with its output beside it."""
    environment = {
        **os.environ,
        "SYNCOPATE_EXPLORE": f"executions={executions},{SOUNDLY}",
        "SYNCOPATE_STATS": "json",
        **variables,
    }
    if scenario.endswith("_on_two_processors"):
        environment["SYNCOPATE_EXPLORE"] += ",processors=2"
    done = subprocess.run(
        [str(PROGRAMS / program), *scenario.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
        check=False,
        timeout=600,
    )
    verdicts = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert verdicts, done.stdout
    return {"output": done.stdout, "status": done.returncode, **json.loads(verdicts[-1])}


def of(*programs: str) -> list[tuple[str, str]]:
    return [(program, scenario) for program in programs for scenario in scenarios(program)]


def every_check() -> list[str]:
    names = sorted(
        path.name.removesuffix(".cpp") for path in Path(__file__).parent.glob("*_check.cpp")
    )
    return [name for name in names if name != "mutants_check"]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("program", "scenario"), of(*every_check()))
def test_primitive(program: str, scenario: str) -> None:
    bounded = (program, scenario) in BOUNDED
    if not bounded and FIRST_ONLY.fullmatch(scenario):
        result = explore(program, scenario, FIRST)
        assert result["verdict"] in ("passed", "bounded"), result["output"]
        return
    result = explore(program, scenario, ENOUGH_OF_MANY if bounded else ENOUGH)
    assert result["verdict"] == ("bounded" if bounded else "passed"), result["output"]


def restless(program: str, scenario: str, executions: int) -> dict:
    options = f"timeouts=0,jumps=0,aborts=1,executions={executions}"
    return explore(program, scenario, 0, SYNCOPATE_EXPLORE=options)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("program", "scenario"), of(*every_check()))
def test_primitive_that_sleeps_restlessly(program: str, scenario: str) -> None:
    result = restless(program, scenario, FIRST_RESTLESS)
    assert result["verdict"] in ("passed", "bounded"), result["output"]


@pytest.mark.long
@pytest.mark.parametrize(("program", "scenario"), of(*every_check()))
def test_primitive_that_sleeps_restlessly_for_long(program: str, scenario: str) -> None:
    result = restless(program, scenario, RESTLESS_AFTER_LONG)
    assert result["verdict"] in ("passed", "bounded"), result["output"]


def of_many(program: str, scenario: str) -> bool:
    return (program, scenario) in BOUNDED or FIRST_ONLY.fullmatch(scenario) is not None


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "scenario"), [case for case in of(*every_check()) if of_many(*case)]
)
def test_more_of_many(program: str, scenario: str) -> None:
    result = explore(program, scenario, MANY_AFTER_LONG)
    assert result["verdict"] in ("passed", "bounded"), result["output"]


@pytest.mark.long
@pytest.mark.parametrize(("program", "scenario"), PASSED_AFTER_LONG)
def test_primitive_to_the_end(program: str, scenario: str) -> None:
    result = explore(program, scenario, PASSED_AFTER_LONG[(program, scenario)])
    assert result["verdict"] == "passed", result["output"]


def calm(program: str, scenario: str, executions: int) -> dict:
    return explore(program, scenario, 0, SYNCOPATE_EXPLORE=f"{CALM},executions={executions}")


def not_to_the_end() -> list[tuple[str, str]]:
    """Whatever the default environment leaves bounded."""
    return [each for each in of(*every_check()) if each in BOUNDED or FIRST_ONLY.fullmatch(each[1])]


def passed_when_calm() -> list[tuple[str, str]]:
    left_out = BOUNDED_WHEN_CALM | set(PASSED_AFTER_LONG_WHEN_CALM)
    return [each for each in not_to_the_end() if each not in left_out]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("program", "scenario"), passed_when_calm())
def test_primitive_when_calm(program: str, scenario: str) -> None:
    result = calm(program, scenario, ENOUGH_WHEN_CALM)
    assert result["verdict"] == "passed", result["output"]


@pytest.mark.long
@pytest.mark.parametrize(("program", "scenario"), sorted(PASSED_AFTER_LONG_WHEN_CALM))
def test_primitive_to_the_end_when_calm(program: str, scenario: str) -> None:
    result = calm(program, scenario, PASSED_AFTER_LONG_WHEN_CALM[(program, scenario)])
    assert result["verdict"] == "passed", result["output"]


@pytest.mark.long
@pytest.mark.parametrize(("program", "scenario"), sorted(PASSED_WITH_LAST_TURNS))
def test_primitive_to_the_end_of_last_turns(program: str, scenario: str) -> None:
    executions = PASSED_WITH_LAST_TURNS[(program, scenario)]
    options = f"{CALM},{LAST_TURNS},executions={executions}"
    result = explore(program, scenario, 0, SYNCOPATE_EXPLORE=options)
    assert result["verdict"] == "passed", result["output"]
    assert "turns" in result["withheld"]


@pytest.mark.long
@pytest.mark.parametrize(("program", "scenario"), sorted(BOUNDED_WHEN_CALM))
def test_primitive_deeper_when_calm(program: str, scenario: str) -> None:
    result = calm(program, scenario, 1_000_000)
    assert result["verdict"] in ("passed", "bounded"), result["output"]


def test_names_of_bounded_scenarios() -> None:
    known = set(not_to_the_end())
    assert known >= BOUNDED | BOUNDED_WHEN_CALM | set(PASSED_AFTER_LONG_WHEN_CALM)


# Of them, what takes long.
ORDERED_TASKS = ("task_wait_check", "wait_for_ordered")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("program", "scenario"),
    [
        pytest.param(*each, marks=[pytest.mark.long] if each == ORDERED_TASKS else [])
        for each in of("tm_waiting_check", "team_wait_check", "task_wait_check")
    ],
)
def test_waiting_of_transactions_and_teams(program: str, scenario: str) -> None:
    result = explore(program, scenario, ENOUGH)
    assert result["verdict"] == "passed", result["output"]


# Two threads that time out and abort at will: every day the first executions, and all where the
# environment is calm.
REGIME_AFTER_LONG = {
    "quick_and_quick": 150_000,
    "alone_and_in_hardware": 300_000,
    "in_hardware_until_it_is_not": 300_000,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("program", "scenario"), of("regime_check"))
def test_regime_of_transactions(program: str, scenario: str) -> None:
    bounded = scenario in REGIME_AFTER_LONG
    result = explore(program, scenario, ENOUGH_OF_MANY if bounded else ENOUGH)
    assert result["verdict"] == ("bounded" if bounded else "passed"), result["output"]
    if bounded:
        result = calm(program, scenario, ENOUGH_WHEN_CALM)
        assert result["verdict"] == "passed", result["output"]


@pytest.mark.long
@pytest.mark.parametrize("scenario", REGIME_AFTER_LONG)
def test_regime_of_transactions_to_the_end(scenario: str) -> None:
    result = explore("regime_check", scenario, REGIME_AFTER_LONG[scenario])
    assert result["verdict"] == "passed", result["output"]


# Transactions have more executions than can be explored. Few preemptions first, which finds most
# mistakes; then some at random, which finds those that take more (commits in the middle of others).
TM_ALGORITHMS = (
    "auto",
    "global_lock",
    "norec",
    "eager_norec",
    "lazy",
    "tl2",
    "encounter_time",
    "two_phase",
    "htm",
    "htm+global_lock",
)


def of_short(program: str) -> list[tuple[str, str]]:
    return [each for each in of(program) if not each[1].startswith(("three_", "starvation"))]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("search", ["preemptions=2,executions=400", "random=1,executions=250"])
@pytest.mark.parametrize(("program", "scenario"), of_short("tm_check"))
@pytest.mark.parametrize("algorithm", TM_ALGORITHMS)
def test_transactions(algorithm: str, program: str, scenario: str, search: str) -> None:
    result = explore(program, scenario, 0, SYNCOPATE_TM=algorithm, SYNCOPATE_EXPLORE=search)
    assert result["verdict"] in ("passed", "bounded"), result["output"]


@pytest.mark.long
@pytest.mark.parametrize("search", ["preemptions=3,executions=100000", "random=2,executions=50000"])
@pytest.mark.parametrize(("program", "scenario"), of("tm_check"))
@pytest.mark.parametrize("algorithm", TM_ALGORITHMS)
def test_transactions_deeper(algorithm: str, program: str, scenario: str, search: str) -> None:
    result = explore(program, scenario, 0, SYNCOPATE_TM=algorithm, SYNCOPATE_EXPLORE=search)
    assert result["verdict"] in ("passed", "bounded"), result["output"]


@pytest.mark.long
@pytest.mark.parametrize(("program", "scenario"), sorted(BOUNDED))
def test_primitive_deeper(program: str, scenario: str) -> None:
    result = explore(program, scenario, 1_000_000)
    assert result["verdict"] in ("passed", "bounded"), result["output"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("program", "scenario"), of("mutants_check"))
def test_mutant_is_caught(program: str, scenario: str) -> None:
    result = explore(program, scenario, ENOUGH)
    assert result["verdict"] == "failed", result["output"]
    assert result["failure"]["schedule"], result["output"]
    replayed = explore(program, scenario, ENOUGH, SYNCOPATE_SCHEDULE=result["failure"]["schedule"])
    assert replayed["verdict"] == "failed", replayed["output"]
    assert replayed["failure"]["kind"] == result["failure"]["kind"]
    if scenario.startswith("broken_"):  # found by the lock's own invariants
        assert re.search(r"::check_(invariants|held|at_rest|waiting)\(", result["output"])


def to_the_end() -> list[tuple[str, str, str]]:
    """Every scenario of which a search of one process has seen the end every day, or whose mistake
    it finds, with its options."""
    late = set(REGIME_AFTER_LONG)
    ends = [each for each in of(*every_check()) if each not in set(not_to_the_end())]
    ends += of("mutants_check", "tm_waiting_check", "team_wait_check", "task_wait_check")
    ends += [each for each in of("regime_check") if each[1] not in late]
    calm = passed_when_calm() + [each for each in of("regime_check") if each[1] in late]
    return [(*each, SOUNDLY) for each in ends] + [(*each, CALM) for each in calm]


# (A limit of executions would keep the search in one process.)
@pytest.mark.long
@pytest.mark.parametrize(("program", "scenario", "options"), to_the_end())
def test_two_processes_say_what_one_says(program: str, scenario: str, options: str) -> None:
    said = [
        explore(program, scenario, 0, SYNCOPATE_EXPLORE=f"{options},jobs={jobs}") for jobs in (1, 2)
    ]
    of_one, of_two = (
        (
            each["verdict"],
            each["executions"],
            [each.get("failure", {}).get(part) for part in ("kind", "schedule")],
        )
        for each in said
    )
    assert of_one == of_two
    assert of_one[0] == ("failed" if program == "mutants_check" else "passed"), said[0]["output"]
