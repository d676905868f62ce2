"""Which locks are alike: those whose creation, or first use, reads alike all the way up.

A function that makes or takes locks for others (a class Mutex, a pool) stands innermost in the
stacks of locks that have nothing to do with each other. So stacks are followed outwards, and where
they differ, locks part: no list of such functions is needed. Of a lock that nobody was seen to
create only the first use is known. There the way outwards ends at the function that was seen both
to take and to release a lock: who calls that one says nothing about the lock.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from syncopate.records.languages import PYTHON
from syncopate.symbols.symbols import Frame

CONSTRUCTOR = re.compile(r"(?:^|::)(\w+)(?:<.*>)?::\1(?:<.*>)?(?:[+(\[]|$)")
MOST_PAIRS = 64  # of an acquiring and a releasing stack, looked at for one lock


class Way(NamedTuple):
    """What tells a lock from others: its stack's frames at which theirs differ from it."""

    frames: tuple[Frame, ...]  # innermost first; the first one is the telling frame
    ends: bool  # whether others go on outwards where this stack is not known further


def key(frame: Frame) -> tuple[str, str, int, str]:
    """What two frames have in common that read alike."""
    return frame.function, frame.file, frame.line, frame.module


def function_of(frame: Frame) -> tuple[str, str]:
    """The frame's function, wherever in it the call is."""
    if frame.is_unnamed:
        return f"+{frame.start:#x}" if frame.start else frame.function, frame.module
    if frame.module == PYTHON:
        return frame.function, frame.file
    return frame.function.partition("+0x")[0], frame.module


def outwards(frames: Sequence[Frame]) -> list[Frame]:
    """Frames without what lies between a function and itself further outside: how often it calls
    itself, and from where, says nothing."""
    outermost = {function_of(frame): index for index, frame in enumerate(frames)}
    kept, index = [], 0
    while index < len(frames):
        kept.append(frames[index])
        index = outermost[function_of(frames[index])] + 1
    return kept


def ways(stacks: Mapping[int, Sequence[Frame]]) -> dict[int, Way]:
    """Of each stack the way that tells it from the others. Stacks that read alike have one way."""
    found: dict[int, Way] = {}
    todo = [(list(stacks), 0, ())]
    while todo:
        alike, depth, marks = todo.pop()
        branches = _branches(alike, stacks, depth)
        while len(branches) == 1 and None not in branches:
            if depth == 0:  # the telling frame is always told
                marks = (stacks[alike[0]][0],)
            depth += 1
            branches = _branches(alike, stacks, depth)
        for branch, members in branches.items():
            if branch is None:
                found |= dict.fromkeys(members, Way(marks, len(branches) > 1))
            else:
                todo.append((members, depth + 1, (*marks, stacks[members[0]][depth])))
    return found


def with_owner(way: Way, frames: Sequence[Frame]) -> Way:
    """A lock that a constructor makes for another constructor is a part of the latter's object,
    which says more of it: then the outermost of these is told, too."""
    if not way.frames or way.ends:
        return way
    at = outermost = max(i for i, frame in enumerate(frames) if key(frame) == key(way.frames[-1]))
    while outermost + 1 < len(frames) and all(
        map(_is_constructor, frames[outermost : outermost + 2])
    ):
        outermost += 1
    return way if outermost == at else Way((*way.frames, frames[outermost]), way.ends)


def _is_constructor(frame: Frame) -> bool:
    if frame.module == PYTHON:
        return frame.function.endswith("__init__")
    return CONSTRUCTOR.search(frame.function) is not None


def _branches(
    alike: Iterable[int], stacks: Mapping[int, Sequence[Frame]], depth: int
) -> dict[tuple | None, list[int]]:
    """The stacks by what they have at one depth; None: nothing."""
    branches: dict[tuple | None, list[int]] = defaultdict(list)
    for stack in alike:
        frames = stacks[stack]
        branches[key(frames[depth]) if depth < len(frames) else None].append(stack)
    return branches


def holding_functions(
    pairs: Iterable[tuple[Sequence[Frame], Sequence[Frame]]],
) -> set[tuple[str, str]]:
    """The functions that were seen to hold a lock: of each pair of an acquiring stack and a
    releasing one of the same lock, the innermost that is in both."""
    found = set()
    for acquiring, releasing in pairs:
        common = 0
        for ours, theirs in zip(reversed(acquiring), reversed(releasing)):
            if key(ours) != key(theirs):
                if function_of(ours) == function_of(theirs):
                    common += 1
                break
            common += 1
        if common:
            found.add(function_of(acquiring[-common]))
    return found


def pairs_of(
    acquiring: Iterable[int], releasing: Iterable[int], frames_of: Callable[[int], list[Frame]]
) -> Iterator[tuple[Sequence[Frame], Sequence[Frame]]]:
    """The stacks of one lock, each with each; of many, the first ones."""
    count = 0
    outer = [frames_of(stack) for stack in releasing]
    for stack in acquiring:
        for releases in outer:
            if count == MOST_PAIRS:
                return
            count += 1
            yield frames_of(stack), releases


def up_to_holder(
    frames: Sequence[Frame], holding: set[tuple[str, str]], after: int = 0
) -> Sequence[Frame]:
    """Of a first use, the frames up to the function that holds the lock; all where none does. It
    is none of the first `after` ones."""
    for index, frame in enumerate(frames[after:], after):
        if function_of(frame) in holding:
            return frames[: index + 1]
    return frames
