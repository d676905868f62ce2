"""Every lock of the catalogue, three threads, with the options that users have: wake-ups without a
cause, time-outs, clocks that jump, aborts. Explored to the end, or the first executions of what has
too many: those by name."""

import pytest
from test_check import explore, of

SCENARIO = " three_threads"

# More than any of them needs that comes to an end in seconds.
ENOUGH = 150_000

# Each sleep that ends without a cause, each time-out of a poll before it and each abort is one more
# turn of a loop, between all steps of the others. No end has been seen within 50,000 executions.
FIRST = 1_000
TOO_MANY = {
    "auto",
    "elided_auto",
    "tatas:spin_then_park",
    "tatas:adaptive",
    "tatas:park",
    "tatas:speculate",
    "ticket:spin_then_park",
    "ticket:adaptive",
    "ticket:park",
    "ticket:speculate",
    "mcs:spin_then_park",
    "mcs:adaptive",
    "mcs:speculate",
    "clh:spin_then_park",
    "clh:adaptive",
    "one_spinner:adaptive",
    "one_spinner:park",
    "combined:spin_then_park",
    "combined:adaptive",
    "combined:park",
    "cna:spin_then_park",
    "hmcs:spin_then_park",
    "reciprocating:spin_then_park",
}
LONG = {"futex", "one_spinner:yield", "mcs:park", "clh:park", "htm_10_fb_aahtm"}


def locks() -> list:
    names = [s.removesuffix(SCENARIO) for _, s in of("lock_check") if s.endswith(SCENARIO)]
    return [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in names]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("lock", locks())
def test_three_threads_as_users_check_them(lock: str) -> None:
    too_many = lock in TOO_MANY
    options = f"executions={FIRST if too_many else ENOUGH}"
    result = explore("lock_check", lock + SCENARIO, 0, SYNCOPATE_EXPLORE=options)
    assert result["verdict"] == ("bounded" if too_many else "passed"), result["output"]


def test_the_names_are_locks() -> None:
    known = {parameters.values[0] for parameters in locks()}
    assert known >= TOO_MANY | LONG
