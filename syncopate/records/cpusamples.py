"""Where threads ran, by samples of the processors, and which of these places spin.

The kernel's view has them alone. A place is a function; of what no symbol names, what the unwind
tables say is one. Whether code spins is read from the program's file (spinloops.py), where that is
the build that was recorded and objdump is there; only places with some samples are looked at.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from syncopate.base.terminal import in_sentence
from syncopate.base.units import count, percent
from syncopate.records.analysis import Analysis
from syncopate.records.naming import telling
from syncopate.symbols import spinloops
from syncopate.symbols.symbols import Frame

_FURTHER = re.compile(r"\+0x[0-9a-f]+$")  # behind a symbol's begin
_OPENMP = re.compile(r"lib(gomp|omp|iomp5)\b")
MANY, MOST_SAID = 0.1, 3  # of all samples: places told on a report's first screen
FEW = 20  # samples that say nothing yet
MOST_NAMED = 4000  # addresses, those of most samples first
MOST_READ = 60  # addresses of which the code is read
LEAST_READ = 0.002  # of all samples
PLACES_KEPT = 10
ELSEWHERE = "elsewhere"
OF_KERNEL = "the vDSO, the code of the kernel in each process that reads clocks"
MADE_AT_RUN_TIME = "code that is in no file, as compilers make while programs run"


@dataclass
class _Place:
    """A function in which threads ran."""

    samples: int = 0
    spinning: int = 0
    module: str = ""
    at: Counter[str] = field(default_factory=Counter)  # lines, or what stands for these
    spins_at: Counter[str] = field(default_factory=Counter)


class CpuSamples:
    """Of one record."""

    def __init__(self, analysis: Analysis):
        self._of = analysis
        self._samples = analysis.record.cpu_samples()
        self._count = sum(map(sum, self._samples.values()))
        self._unread = 0  # samples at places that were worth a look, whose code cannot be read

    def as_data(self) -> dict | None:
        """The `cpu_samples` of docs/reference/report-schema.md; None where there are too few."""
        if self._count < FEW:
            return None
        places = self._places()
        kept = sorted(places.items(), key=lambda each: (-each[1].samples, each[0]))
        return {
            "count": self._count,
            "in_kernel": sum(in_kernel for _, in_kernel in self._samples.values()),
            "spinning": sum(each.spinning for each in places.values()),
            "unread": self._unread,
            "places": [_told(name, place) for name, place in kept[:PLACES_KEPT]],
        }

    def _places(self) -> dict[str, _Place]:
        in_program = {at: of[0] for at, of in self._samples.items() if of[0]}
        by_samples = sorted(in_program, key=lambda at: -in_program[at])
        named = [at for at in by_samples[:MOST_NAMED] if at]
        self._of.symbolizer.resolve(at + 1 for at in named)  # as of calls that return there
        spins = self._spins([at for at in named[:MOST_READ] if self._is_worth_it(in_program[at])])
        places: dict[str, _Place] = defaultdict(_Place)
        for at in named:
            name, module, line = OF_KERNEL, "", ""
            if not self._of.symbolizer.is_in_vdso(at):
                name, module, line = self._loop(spins[at]) if at in spins else self._name(at)
            place = places[name]
            place.samples += in_program[at]
            place.module = module
            place.at[line] += in_program[at]
            if at in spins:
                place.spinning += in_program[at]
                place.spins_at[line] += in_program[at]
        if left := sum(in_program.values()) - sum(in_program[at] for at in named):
            places[ELSEWHERE].samples += left
        return places

    def _is_worth_it(self, samples: int) -> bool:
        return samples > 1 and samples >= LEAST_READ * self._count

    def _spins(self, addresses: list[int]) -> dict[int, list[int]]:
        """Of these the ones that spin, and the instructions of their loops, at run time."""
        found = {}
        for address in addresses:
            if self._of.symbolizer.is_in_vdso(address):
                continue
            place = self._of.symbolizer.code_at(address)
            program = self._of.symbolizer.names.program(place[0]) if place else None
            if program is None or program.instruction(place[1]) is None:
                self._unread += self._samples[address][0]
                continue
            loop = spinloops.spinning(program, place[1])
            if loop:
                found[address] = [each + address - place[1] for each in loop]
        return found

    def _loop(self, addresses: list[int]) -> tuple[str, str, str]:
        """As _name() of the innermost function that has all of a loop, and its first line there:
        not of one inlined there that loads a word, or pauses."""
        self._of.symbolizer.resolve(at + 1 for at in addresses)
        stacks = [self._of.symbolizer.frames(at + 1)[::-1] for at in addresses]
        common = 0
        for each in zip(*stacks):
            if len({(frame.function, frame.file) for frame in each}) > 1:
                break
            common += 1
            if len(set(each)) > 1:  # what is inlined there stands at several places
                break
        begin = min(stacks, key=lambda each: each[max(common, 1) - 1].line or math.inf)
        return self._told(begin[: max(common, 1)][::-1])

    def _name(self, address: int) -> tuple[str, str, str]:
        """Function, module, and line; of what no symbol names, the place in the module."""
        return self._told(self._of.symbolizer.frames(address + 1))

    def _told(self, frames: list[Frame]) -> tuple[str, str, str]:
        frame = telling(frames)
        if not frame.module:
            return MADE_AT_RUN_TIME, "", ""
        if frame.file:
            return frame.function, frame.module, frame.place()
        if not frame.is_unnamed:
            return _FURTHER.sub("", frame.function), frame.module, frame.function
        begin = f"{os.path.basename(frame.module)}+{frame.start:#x}"
        return begin if frame.start else frame.function, frame.module, frame.function


def _told(name: str, place: _Place) -> dict:
    at = place.spins_at or place.at
    (line, _), *_ = at.most_common(1) or [("", 0)]
    if not line or not place.spinning:
        called = name
    else:  # without a line in the source it is the function's name, or the module's, and a distance
        called = line if _FURTHER.search(line) else f"{name} at {line}"
    return {
        "function": name,
        "called": called,
        "module": place.module,
        "samples": place.samples,
        "spinning": place.spinning,
    }


def where(results: dict, state: str) -> str:
    """What to add to a line of the account about threads that ran: where many of them did."""
    samples = results.get("cpu_samples")
    if not samples:
        return ""
    at, key = (" at", "spinning") if state == "spinning" else (" in", "samples")
    places = [each for each in samples["places"] if bool(each["spinning"]) == (key == "spinning")]
    found = [(each[key], f"{at} {in_sentence(each['called'])}") for each in places]
    if key == "samples":
        found.append((samples["in_kernel"], " in the kernel"))
    many = [each for each in found if each[0] >= MANY * samples["count"]]
    shares = (f"{percent(of / samples['count'])}{place}" for of, place in sorted(many)[::-1])
    said = ", ".join(itertools.islice(shares, MOST_SAID))
    return f"; of {count(samples['count'])} CPU samples {said}" if said else ""


def spins_as_locks(results: dict) -> tuple[int, str]:
    """Of the time spent spinning, nanoseconds that may be for locks of the program's own, and what
    most of it is called: without what OpenMP's run-times do, which spin at barriers."""
    samples, ns = results.get("cpu_samples"), results["account"]["parts"].get("spinning", 0)
    if not samples or not samples["spinning"]:
        return ns, ""
    places = [each for each in samples["places"] if each["spinning"]]
    of_openmp = sum(each["spinning"] for each in places if _OPENMP.match(_file(each)))
    own = [each for each in places if not _OPENMP.match(_file(each))]
    most = max(own, key=lambda each: each["spinning"], default=None)
    part = round(ns * (1 - of_openmp / samples["spinning"]))
    is_most = most is not None and most["spinning"] * 2 >= samples["spinning"] - of_openmp
    return part, most["called"] if is_most else ""


def _file(place: dict) -> str:
    return os.path.basename(place["module"])
