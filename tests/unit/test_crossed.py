"""What is left of tests with many cases when the long ones are not run."""

import itertools
from types import SimpleNamespace

import crossed
import pytest


class Item:
    def __init__(self, function, mark, *args, **params):
        self.function, self.callspec, self.long = function, SimpleNamespace(params=params), False
        self._mark, self._args = mark, args

    def get_closest_marker(self, name):
        return SimpleNamespace(args=self._args) if name == self._mark else None

    def add_marker(self, mark):
        assert mark.name == "long"
        self.long = True


def left_of(items, function) -> list[dict]:
    return [item.callspec.params for item in items if item.function is function and not item.long]


@pytest.mark.parametrize("sizes", [(3, 2, 2), (1, 1), (2, 5), (4, 4, 3), (7, 2, 3, 2)])
def test_each_value_of_what_is_crossed_stays(sizes):
    values = {f"p{n}": [(n, [value]) for value in range(size)] for n, size in enumerate(sizes)}
    items = [
        Item(function, "crossed", *values, **dict(zip(values, each, strict=True)), other=1)
        for function in (len, max)
        for each in itertools.product(*values.values())
    ]
    crossed.pytest_collection_modifyitems(items)
    for function in (len, max):
        left = left_of(items, function)
        assert len(left) == max(sizes)
        for name, known in values.items():
            assert [value for value in known if any(each[name] == value for each in left)] == known


def test_no_two_parameters_keep_step():
    values = {"what": range(6), "compiler": "gc", "how": "kl"}
    items = [
        Item(len, "crossed", *values, **dict(zip(values, each, strict=True)))
        for each in itertools.product(*values.values())
    ]
    crossed.pytest_collection_modifyitems(items)
    left = left_of(items, len)
    assert {(each["compiler"], each["how"]) for each in left} == {*itertools.product("gc", "kl")}


@pytest.mark.parametrize("cases", [1, 2, 3, 4, 10])
def test_of_what_is_sampled_each_third_stays_and_one_at_least(cases):
    def another():
        """Its first case is another one than that of others may be."""

    items = [
        Item(function, "sampled", 3, case=case)
        for function in (len, another)
        for case in range(cases)
    ]
    crossed.pytest_collection_modifyitems(items)
    for function in (len, another):
        left = [each["case"] for each in left_of(items, function)]
        assert len(left) in (cases // 3, -(-cases // 3)) and left
        assert {later - earlier for earlier, later in itertools.pairwise(left)} <= {3}
