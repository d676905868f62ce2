"""What the heads of headers say of an uncontended call, their field Uncontended, is what it does.

The code is compiled as for the thread sanitizer, and costs/counted_accesses.cpp counts. A thread's
own memory counts where a head says that a line is private, or speaks of thread-local memory.
"""

import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
NUMBERS = {"one": 1, "two": 2, "three": 3}
# Whose head says "nothing", "the lock's", or "one transaction": there is none that commits.
OF_OTHERS = {"locks/htm_lock.h", "locks/null_lock.h", "elide/elided_lock.h"}

Costs = dict[tuple[str, str, str], tuple[list[int], list[int]]]


def counted(folder: Path, *command: str) -> Costs:
    """By header, way to wait and call: RMWs, loads, stores, lines of shared and of own memory."""
    compiler = [*command, "-std=c++20", "-w", f"-I{INCLUDE}", f"-I{HERE / 'costs'}"]
    for name, options in (("costs", ["-fsanitize=thread"]), ("counted_accesses", [])):
        source = str(HERE / "costs" / f"{name}.cpp")
        subprocess.run(
            [*compiler, *options, "-c", source, "-o", f"{name}.o"], cwd=folder, check=True
        )
    objects = ["costs.o", "counted_accesses.o"]
    subprocess.run(["g++", *objects, "-o", "costs", "-pthread"], cwd=folder, check=True)
    text = subprocess.run([folder / "costs"], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in text.splitlines())
    return {
        (header, wait, call): ([int(n) for n in n[:4]], [int(n) for n in n[4:]])
        for header, wait, call, *n in rows
    }


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Costs:
    return counted(tmp_path_factory.mktemp("costs"), "g++", "-O2")


@pytest.mark.long
@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_other_compilers_make_no_more_of_it(tmp_path, costs, compiler, level) -> None:
    """clang reads some words once that are read twice. Of a pair of calls, in which each compiler
    merges others, the lines."""
    others = counted(tmp_path, compiler, level)
    assert others.keys() == costs.keys()
    for call, both in others.items():
        for got, expected in zip(both, costs[call], strict=True):
            assert got[0] == expected[0], call
            known = slice(3, 4) if call[2] == "pair" else slice(4)
            assert all(n <= most for n, most in zip(got[known], expected[known], strict=True)), call


def field(header: str) -> str:
    text = (INCLUDE / "syncopate" / header).read_text(encoding="utf-8")
    found = re.search(r"^// Uncontended  (.*\n(?://    .*\n)*)", text, re.MULTILINE)
    assert found, header
    return " ".join(found[1].replace("\n//", " ").split())


def said(text: str) -> list[int]:
    """RMWs, loads, stores. A fence is none of these: a store may be one that is seq_cst."""
    return [
        sum(int(n) for n in re.findall(rf"\b(\d+) {what}s?\b", text))
        for what in ("RMW", "load", "store")
    ]


def of_call(head: str, call: str, parks: bool) -> list[int]:
    found = re.search(rf"(?:^|[;:] ){call} ([^;(]*)(\(parking: .*?\))?", head)
    assert found, (head, call)
    return said(found[2] if parks and found[2] else found[1])


def parks(wait: str) -> bool:
    return wait in ("adaptive", "park", "spin_then_park")


def test_a_call_does_what_its_head_says(costs: Costs) -> None:
    wrong = []
    for (header, wait, call), (shared, own) in costs.items():
        if header in OF_OTHERS or wait == "speculate" or call == "pair":
            continue
        head = field(header)
        if header == "rwlocks/bravo_rwlock.h" and "shared" not in call:
            continue
        private = "private" in head
        got = [shared[i] + own[i] * private for i in range(3)]
        if header == "elide/condition.h":
            expected = said(head.split("else", 1)[1])
        elif call in ("signal", "broadcast"):
            expected = said(head)
        else:
            expected = of_call(head, call.replace("_", " "), parks(wait))
        expected[1] += call == "lock" and wait == "monitor" and "1 load of a line more" in head
        if got != expected:
            wrong.append((header, wait, call, got, expected))
    assert len(costs) > 100 and not wrong


def test_a_pair_touches_as_many_lines_as_its_head_says(costs: Costs) -> None:
    wrong, looked_at = [], set()
    for (header, wait, call), (shared, own) in costs.items():
        head = field(header)
        found = re.search(r"\b(one|two|three) cache lines?\b(, one (?:of them )?private)?", head)
        if call != "pair" or not found or wait == "speculate":
            continue
        looked_at.add(header)
        got = shared[3] + (own[3] if found[2] else 0)
        if got != NUMBERS[found[1]] + (wait == "monitor" and "of a line more" in head):
            wrong.append((header, wait, got, found[0]))
    assert len(looked_at) > 12 and not wrong


def test_who_may_run_ahead_costs_what_the_head_says(costs: Costs) -> None:
    """Over the lock below, in thread-local memory; one unlock in seven is another one."""
    head = field("locks/speculating_lock.h")
    for (header, wait, call), (_, own) in costs.items():
        if wait == "speculate" and call != "pair":
            assert own[:3] == of_call(head, call, False)
            below = costs[header, "spin_then_park", call]
            assert costs[header, wait, call][0][:3] == below[0][:3]
