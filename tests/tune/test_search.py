"""The search, on a measured function that is known, with noise that is known: no run, no clock."""

import random

import pytest

from syncopate.launch.openmp import runs_ahead
from syncopate.tuning import choice as candidates
from syncopate.tuning.choice import AS_IS, Choice
from syncopate.tuning.plan import Ground, Outcome, explore
from syncopate.tuning.policyfile import document
from syncopate.tuning.search import CONFIRMING, MOST_CONFIRMING, Dropped, Search

NAMES = ["auto", "tatas", "mcs", "ticket", "tatas:park", "mcs:park", "clh", "futex"]


class Machine:
    """Runs of known cost, with lognormal noise, on a clock of its own; it drifts by 30 %."""

    def __init__(self, cost, noise=0.03, seed=1, budget=10_000.0):
        self.cost, self.noise = cost, noise
        self.random = random.Random(seed)
        self.time = 0.0
        self.runs: list[Choice] = []
        self.search = Search(self.measure, lambda: self.time, budget)

    def measure(self, choice: Choice) -> float:
        self.runs.append(choice)
        true = self.cost(choice)
        drift = 1 + 0.3 * (len(self.runs) % 97) / 97
        value = true * drift * self.random.lognormvariate(0, self.noise)
        self.time += value
        return value


def by_default(costs):
    """The cost of a choice by its default lock; 10 for the program as it is."""
    return lambda choice: costs.get(dict(choice.default).get("lock"), 10.0)


def all_locks():
    return candidates.of_all_locks(Choice(), NAMES)


@pytest.mark.parametrize("seed", range(20))
def test_halving_finds_the_best(seed):
    machine = Machine(by_default({"mcs": 7.0, "ticket": 9.0, "clh": 12.0}), seed=seed)
    winner = machine.search.halve(AS_IS, all_locks(), 1.0)
    assert winner == Choice().with_default("lock", "mcs")


def test_losers_run_less_than_the_winner():
    machine = Machine(by_default({"mcs": 5.0, "clh": 40.0}))
    machine.search.halve(AS_IS, all_locks(), 1.0)
    runs = [dict(choice.default).get("lock") for choice in machine.runs]
    assert runs.count("clh") == 2
    assert runs.count("mcs") == 2 * 4  # 8, 4, 2, 1 left
    assert runs.count(None) == 2 * 4  # the base runs in every round


def test_rounds_interleave_and_begin_with_another_each_time():
    machine = Machine(by_default({}))
    machine.search.confirm(AS_IS, Choice().with_default("lock", "mcs"), 1000.0)
    first = [run.as_is for run in machine.runs[::2]]
    assert first[:4] == [True, False, True, False]
    assert all(a != b for a, b in zip(machine.runs[::2], machine.runs[1::2], strict=True))


def test_confirmation_ends_when_rounds_agree():
    choice = Choice().with_default("lock", "mcs")
    exact = Machine(by_default({"mcs": 9.0}), noise=0.0)
    exact.search.measure = lambda each: 9.0 if each == choice else 10.0
    verdict = exact.search.confirm(AS_IS, choice, 10_000.0)
    assert verdict.rounds == CONFIRMING
    assert verdict.ratio.value == pytest.approx(0.9)
    noisy = Machine(by_default({"mcs": 9.0}), noise=0.2)
    assert noisy.search.confirm(AS_IS, choice, 10_000.0).rounds == MOST_CONFIRMING


def test_what_fails_is_dropped_with_its_reason():
    def cost(choice):
        if dict(choice.default).get("lock") == "mcs":
            raise Dropped("it was killed by SIGSEGV")
        return 10.0

    machine = Machine(cost)
    machine.search.halve(AS_IS, all_locks(), 1.0)
    mcs = Choice().with_default("lock", "mcs")
    assert machine.search.dropped == {mcs: "it was killed by SIGSEGV"}
    assert machine.runs.count(mcs) == 1
    assert machine.search.confirm(AS_IS, mcs, 100.0) is None


def test_a_program_that_fails_by_itself_ends_the_search():
    def cost(choice):
        raise Dropped("it ended with status 1")

    with pytest.raises(Dropped):
        Machine(cost).search.confirm(AS_IS, Choice(), 100.0)


class FailsLater:
    """The cost of `fast`, until it has run so often: then the program fails with it."""

    def __init__(self, runs: int):
        self.left = runs

    def __call__(self, choice):
        name = dict(choice.default).get("lock")
        if name != "mcs":
            return 8.0 if name == "ticket" else 10.0
        self.left -= 1
        if self.left < 0:
            raise Dropped("it was killed by SIGSEGV")
        return 7.0


@pytest.mark.sampled(9)
@pytest.mark.parametrize("runs", range(1, 90))
def test_a_choice_that_fails_after_it_was_adopted_is_left_out(runs):
    """Not the program by itself, which never fails here; and it is not what is recommended."""
    machine, outcome = Machine(FailsLater(runs), budget=4_000.0), Outcome()
    ground = Ground(NAMES, {0: "a", 1: "b"}, elides=True)
    explore(machine.search, ground, outcome, lambda text: None)
    failed = set(machine.search.dropped)
    assert failed
    assert outcome.best not in failed
    assert not failed & {step.choice for step in outcome.steps}
    assert outcome.verdict is None or outcome.verdict.choice not in failed


def test_hopeless_winners_are_not_confirmed():
    machine = Machine(by_default(dict.fromkeys(NAMES, 30.0)))
    assert machine.search.halve(AS_IS, all_locks(), 1.0) is None


def test_the_budget_is_kept():
    machine = Machine(by_default({"mcs": 5.0}), budget=700.0)
    machine.search.measure(AS_IS)
    machine.search.durations.append(10.0)
    explore(machine.search, Ground(NAMES, {0: "a", 1: "b"}, True, True), Outcome(), print)
    assert machine.time <= 700.0 + 2 * 15


def explored(cost, hot=None, seed=1, **others):
    machine = Machine(cost, seed=seed)
    outcome = Outcome()
    explore(machine.search, Ground(NAMES, hot or {}, **others), outcome, lambda text: None)
    return outcome


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(20))
def test_a_better_lock_is_proved(seed):
    outcome = explored(by_default({"mcs": 8.0}), seed=seed)
    assert outcome.best == Choice().with_default("lock", "mcs")
    assert outcome.verdict.is_better
    assert outcome.verdict.rounds >= CONFIRMING
    assert outcome.verdict.ratio.low <= 0.8 * 1.05
    assert outcome.verdict.ratio.high >= 0.8 * 0.95


@pytest.mark.long
def test_nothing_better_is_nothing_claimed():
    """With no difference at all, an interval of 95 % may err; over many seeds, rarely."""
    claims = 0
    for seed in range(30):
        outcome = explored(by_default({}), seed=seed)
        claims += outcome.verdict is not None and outcome.verdict.is_better
    assert claims <= 3


@pytest.mark.parametrize("seed", range(5))
def test_single_locks_are_chosen_on_top(seed):
    def cost(choice):
        total = 4.0
        for number, best in enumerate(("ticket", "tatas")):
            settings = dict(dict(choice.single).get(number, choice.default))
            total += 2.0 if settings.get("lock") == best else 5.0
        return total

    outcome = explored(cost, {0: "a", 1: "b"}, seed=seed)
    chosen = [
        dict(dict(outcome.best.single).get(number, outcome.best.default)).get("lock")
        for number in (0, 1)
    ]
    assert chosen == ["ticket", "tatas"]
    assert outcome.verdict.ratio.high < 8.0 / 14.0 * 1.1


def test_elision_and_barriers():
    def cost(choice):
        default = dict(choice.default)
        total = 5.0 if default.get("omp_barrier") == "dissemination" else 7.0
        return total + (1.0 if dict(dict(choice.single).get(0, ())).get("elide") == "off" else 5.0)

    outcome = explored(cost, {0: "a"}, elides=True, openmp=True)
    assert dict(outcome.best.default)["omp_barrier"] == "dissemination"
    assert dict(dict(outcome.best.single)[0])["elide"] == "off"
    assert outcome.verdict.is_better


def test_a_barrier_that_runs_ahead_has_to_be_asked_for():
    tried = []

    def cost(choice):
        barrier = dict(choice.default).get("omp_barrier", "auto")
        tried.append(barrier)
        return 1.0 if runs_ahead(barrier) else 7.0

    explored(cost, {0: "a"}, openmp=True)
    assert len(set(tried)) > 5
    assert not [each for each in tried if runs_ahead(each)]


def test_a_reader_writer_lock_prefers_whom_it_should():
    def cost(choice):
        return 4.0 if dict(dict(choice.single).get(1, ())).get("prefer") == "writers" else 6.0

    outcome = explored(cost, {0: "a"}, rwlocks={1: "index"})
    assert dict(dict(outcome.best.single)[1]) == {"prefer": "writers"}
    assert outcome.verdict.is_better


def test_a_barrier_waits_as_suits_it():
    def cost(choice):
        return 4.0 if dict(dict(choice.single).get(0, ())).get("barrier") == "yield" else 6.0

    machine, outcome = Machine(cost), Outcome()
    ground = Ground([], {}, barriers={0: "between"}, oversubscribed=True)
    explore(machine.search, ground, outcome, lambda text: None)
    assert dict(outcome.best.single) == {0: (("barrier", "yield"),)}
    assert outcome.verdict.is_better
    assert not [run for run in machine.runs if "barrier=spin" in run.text({}).split()]


def test_every_part_of_openmp_is_tried():
    def cost(choice):
        wanted = {"omp_barrier": "central:park", "omp_lock": "mcs",
                  "omp_regions": "kept"}  # fmt: skip
        default = dict(choice.default)
        return 10.0 - 2 * sum(default.get(key) == value for key, value in wanted.items())

    outcome = explored(cost, openmp=True, oversubscribed=True)
    assert dict(outcome.best.default) | {"lock": ""} == {
        "lock": "",
        "omp_barrier": "central:park",
        "omp_lock": "mcs",
        "omp_regions": "kept",
    }
    assert len(outcome.steps) == 3
    reason = document(outcome.best, {}, outcome)["default"]["reason"]
    assert reason == "this keeping of regions for all is better than what was best before"


def test_elision_is_left_alone_where_nothing_commits():
    machine = Machine(by_default({}))
    explore(machine.search, Ground(NAMES, {0: "a"}), Outcome(), lambda text: None)
    assert not [run for run in machine.runs if "elide" in run.text({})]


TABLE = [
    {"name": "auto", "preload": True, "waits": [], "preload_waits": [], "default_wait": "",
     "collapses_when_oversubscribed": []},
    {"name": "mcs", "preload": True, "waits": ["spin", "park"], "preload_waits": ["park", "spin"],
     "default_wait": "park", "collapses_when_oversubscribed": ["spin"]},
    {"name": "hbo", "preload": False, "waits": ["spin"], "preload_waits": [],
     "default_wait": "spin", "collapses_when_oversubscribed": []},
    {"name": "htm_1", "preload": True, "waits": [], "preload_waits": [], "default_wait": "",
     "collapses_when_oversubscribed": [], "transacts": True},
    {"name": "tatas", "preload": True, "waits": ["yield", "speculate"], "default_wait": "yield",
     "preload_waits": ["yield", "speculate"], "collapses_when_oversubscribed": []},
    {"name": "glibc", "preload": True, "waits": [], "preload_waits": [], "default_wait": "",
     "collapses_when_oversubscribed": []},
]  # fmt: skip


def test_what_is_tried():
    """What runs ahead, or elides by itself, is the user's to ask for."""
    assert candidates.specifications(TABLE, False) == ["auto", "tatas", "mcs", "mcs:spin"]
    assert sorted(candidates.specifications(TABLE, True)) == ["auto", "mcs", "tatas"]
    base = Choice().with_default("lock", "auto")
    tried = candidates.of_one_lock(base, 3, ["auto", "mcs"])
    assert [choice.text({3: "cache"}) for choice in tried] == ["auto, cache: mcs"]
    assert AS_IS.text({}) == "as it is"
