"""A pytest plugin: of tests with many cases, some are daily and the others long.

`@pytest.mark.crossed("compiler", "level", "kind")` names parameters of which all combinations are
cases: each value of each stays, in as many cases as the longest of them has values.
`@pytest.mark.sampled(3)`: of a test's cases, each third; which, differs between tests. With both,
each third of what is left of the combinations. They mark the others as `long`.
"""

import binascii
from collections import defaultdict

import pytest


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    crossed, sampled = defaultdict(list), defaultdict(list)  # by function
    for item in items:
        if item.get_closest_marker("crossed"):
            crossed[item.function].append(item)
        if item.get_closest_marker("sampled"):
            sampled[item.function].append(item)
    for of_function in crossed.values():
        _keep_each_value(of_function, of_function[0].get_closest_marker("crossed").args)
    for function, cases in sampled.items():
        of_function = [item for item in cases if not item.get_closest_marker("long")] or cases
        (every,) = of_function[0].get_closest_marker("sampled").args
        first = binascii.crc32(function.__qualname__.encode()) % min(every, len(of_function))
        _make_long(item for n, item in enumerate(of_function) if n % every != first)


def _keep_each_value(items, names):
    places = {name: {} for name in names}  # of its values, in the order of their coming
    for item in items:
        for name, known in places.items():
            known.setdefault(repr(item.callspec.params[name]), len(known))
    longest = max(names, key=lambda name: len(places[name]))
    others = [name for name in names if name != longest]
    for item in items:
        at = {name: known[repr(item.callspec.params[name])] for name, known in places.items()}
        # The first values of the longest come with each value of an other one; from then on they
        # come with others than these did.
        chosen = (
            (at[longest] + n * (at[longest] // len(places[name]))) % len(places[name]) == at[name]
            for n, name in enumerate(others, 1)
        )
        if not all(chosen):
            _make_long([item])


def _make_long(items):
    for item in items:
        item.add_marker(pytest.mark.long)
