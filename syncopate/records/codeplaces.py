"""A recorded stack as places in code that can be read."""

from syncopate.records.analysis import Analysis
from syncopate.records.naming import is_ours_module, is_runtime
from syncopate.symbols.symbols import CodePlace


def own_places(analysis: Analysis, stack: int) -> list[CodePlace]:
    """The program's own return addresses, innermost first, as far as code can be read."""
    places: list[CodePlace] = []
    for address in analysis.stacks.get(stack, ()):
        code = analysis.symbolizer.code(address)
        if code is None or (not places and (is_ours_module(code[0]) or is_runtime(code[0]))):
            continue
        place = analysis.symbolizer.code_place(address)
        if place is None:
            break
        places.append(place)
    return places
