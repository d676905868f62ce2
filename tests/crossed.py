"""A pytest plugin: of tests whose parameters are crossed, half are long.

`@pytest.mark.crossed("compiler", "level", "kind")` names the parameters. The half that stays has
each value of one with half of the values of each other; of three and more, each pair of values.
"""

from collections import defaultdict

import pytest


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    places = defaultdict(dict)  # by function and parameter: values, in the order of their coming
    for item in items:
        if mark := item.get_closest_marker("crossed"):
            sum_of_places = 0
            for name in mark.args:
                known = places[item.function, name]
                sum_of_places += known.setdefault(repr(item.callspec.params[name]), len(known))
            if sum_of_places % 2:
                item.add_marker(pytest.mark.long)
