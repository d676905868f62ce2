"""What is left of tests with many cases when the long ones are not run."""

import itertools
from types import SimpleNamespace

import crossed
import pytest


class Item:
    def __init__(self, function, mark, *args, **params):
        self.function, self.callspec = function, SimpleNamespace(params=params)
        self.marks = {mark: SimpleNamespace(args=args)}

    @property
    def long(self) -> bool:
        return "long" in self.marks

    def get_closest_marker(self, name):
        return self.marks.get(name)

    def add_marker(self, mark):
        assert mark.name == "long"
        self.marks["long"] = mark


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


def test_of_what_is_crossed_and_sampled_some_of_what_is_crossed_stay():
    values = {"what": range(6), "compiler": "gc", "how": "kl"}
    items = [
        Item(len, "crossed", *values, **dict(zip(values, each, strict=True)))
        for each in itertools.product(*values.values())
    ]
    crossed.pytest_collection_modifyitems(items)
    all_left = left_of(items, len)
    for item in items:
        item.marks.pop("long", None)
        item.marks["sampled"] = SimpleNamespace(args=(3,))
    crossed.pytest_collection_modifyitems(items)
    left = left_of(items, len)
    assert len(left) == 2 and all(each in all_left for each in left)


def test_what_is_marked_long_by_itself_is_not_what_stays():
    items = [Item(len, "sampled", 3, case=case) for case in range(4)]
    for item in items[:3]:
        item.add_marker(pytest.mark.long)
    crossed.pytest_collection_modifyitems(items)
    assert [each["case"] for each in left_of(items, len)] == [3]
