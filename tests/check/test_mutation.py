"""Order mutation: each ordered access of a primitive, made relaxed, makes one of its scenarios
fail; or it stands in survivors.toml with the reason why it does not."""

import sys
from pathlib import Path

import pytest
from test_check import PROGRAMS, scenarios

from syncopate.machines import checkset, mutation

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import mutation_table  # noqa: E402

KNOWN = mutation.read_survivors(str(HERE / mutation.SURVIVORS))

# Executions of a scenario with one mutant, in the systematic search and again at random.
EXECUTIONS = 5_000

QUICK = (
    "tatas:spin",
    "ticket:spin",
    "mcs:spin",
    "futex",
    "wait",
    "pool",
    "central_barrier:spin",
)


# What these rest on has scenarios of its own: only their own orders count.
OWN = {
    "regime": "syncopate::tm::",
    "task_wait": "syncopate::openmp::",
    "team_wait": "syncopate::openmp::",
}


def by_target() -> dict[str, list[checkset.Scenario]]:
    found: dict[str, list[checkset.Scenario]] = {}
    for source in sorted(HERE.glob("*_check.cpp")):
        test = source.name.removesuffix("_check.cpp")
        for line in scenarios(source.stem):
            scenario = checkset.Scenario(test, str(PROGRAMS / source.stem), line.split())
            if not scenario.must_fail:
                found.setdefault(scenario.target(), []).append(scenario)
    for test in OWN:
        for line in scenarios(f"{test}_check"):
            scenario = checkset.Scenario(test, str(PROGRAMS / f"{test}_check"), line.split())
            found.setdefault(test, []).append(scenario)
    return found


SCENARIOS = by_target()


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    "target",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long])
        for name in sorted(SCENARIOS)
    ],
)
def test_every_order_is_needed(target: str) -> None:
    environ = {"SYNCOPATE_EXPLORE": f"executions={EXECUTIONS},spurious=0"}
    mutants = mutation.explore(SCENARIOS[target], environ)
    mutants = [each for each in mutants if each.function.startswith(OWN.get(target, ""))]
    assert mutants, "its scenarios reach no ordered access"
    unexplained = [
        f"{mutant.operation} {mutant.order}, {mutant.position}"
        for mutant in mutants
        if mutant.caught_by is None and mutation.reason_of(mutant, KNOWN) is None
    ]
    assert not unexplained, f"survived, and {mutation.SURVIVORS} does not say why"
    caught_after_all = [
        f"{entry['operation']} {entry['order']}, {entry['function']}"
        for entry in KNOWN
        if (about := [each for each in mutants if mutation.reason_of(each, [entry])])
        and all(each.caught_by is not None for each in about)
    ]
    assert not caught_after_all, f"stands in {mutation.SURVIVORS}, but is caught"


def test_what_the_runtime_does_is_no_site() -> None:
    """Each scenario starts and joins threads (check.h): those orders are not the program's."""
    positions = [site["position"] for site in mutation.sites_of(SCENARIOS["wait"][0], {})[0]]
    assert positions
    assert not [each for each in positions if " at check.h:" in each or each == "?"]


def test_quick_targets_exist() -> None:
    assert set(QUICK) <= set(SCENARIOS)


def test_a_name_means_all_its_scenarios() -> None:
    """What `syncopate check NAME` compiles has them all."""
    known = checkset.tests()
    for target, listed in SCENARIOS.items():
        tests = {scenario.test for scenario in listed} - set(OWN)
        for name in {target, target.partition(":")[0]}:
            if tests:
                assert tests <= set(checkset.candidates(name, known)), name


def test_survivors_name_targets() -> None:
    names = {"*", *SCENARIOS, *(name.partition(":")[0] for name in SCENARIOS)}
    assert {entry["target"] for entry in KNOWN} <= names


PAGE = (ROOT / "docs/internals/order-mutation.md").read_text(encoding="utf-8")


def test_the_page_has_every_primitive() -> None:
    rows = mutation_table.rows_of(PAGE, mutation_table.TOTALS[0])
    written = {
        f"{name}:{way}" if way else name for name, ways, *_ in rows for way in ways.split(", ")
    }
    known = set(SCENARIOS) - set(OWN)
    # hmcs_check's scenarios have no way to wait; the page has them in the row of the lock.
    known -= {name.partition(":")[0] for name in known if ":" in name}
    assert written - {"**all**"} == known


def is_of_a_test(function: str) -> bool:
    """The page has no accesses of the tests themselves, which are in no namespace of ours."""
    return not function.startswith(("syncopate::", "std::"))


def test_the_page_has_every_survivor() -> None:
    rows = mutation_table.rows_of(PAGE, mutation_table.SURVIVORS[0])
    written = {(access, where, reason) for access, where, _, reason in rows}
    known = {
        (
            f"{entry['operation']} {entry['order']}",
            f"`{entry['function'].removeprefix('syncopate::')}`",
            entry["reason"],
        )
        for entry in KNOWN
        if entry["target"] not in OWN and not is_of_a_test(entry["function"])
    }
    assert written == known
