"""What is left of tests with crossed parameters when the long ones are not run."""

import itertools
from types import SimpleNamespace

import crossed


class Item:
    def __init__(self, function, **params):
        self.function, self.callspec, self.long = function, SimpleNamespace(params=params), False

    def get_closest_marker(self, name):
        return SimpleNamespace(args=("kind", "level", "compiler")) if name == "crossed" else None

    def add_marker(self, mark):
        assert mark.name == "long"
        self.long = True


def test_each_pair_of_values_is_in_the_half_that_stays():
    values = {"kind": [("a", []), ("b", ["-x"]), "c"], "level": ["-O0", "-O3"], "compiler": "gk"}
    items = [
        Item(function, **dict(zip(values, each, strict=True)), other=1)
        for function in (len, max)
        for each in itertools.product(*values.values())
    ]
    crossed.pytest_collection_modifyitems(items)
    for function in (len, max):
        left = [
            item.callspec.params for item in items if item.function is function and not item.long
        ]
        assert len(left) == 6
        for one, other in itertools.combinations(values, 2):
            pairs = {(repr(params[one]), repr(params[other])) for params in left}
            assert len(pairs) == len(values[one]) * len(values[other])
