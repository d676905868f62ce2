"""The litmus tests on the explored machine, against every candidate execution of each.

    check.py EXPLORE_FUZZ TESTS.TXT

For each test: the machine's outcomes are those of the consistent executions, but for what it does
not model and the text says so; the outcome that the test is about is allowed or not as the text
says; the executions are as many as it says, which is how many consistent ones there are, but for
orders of seq_cst fences: the machine runs both of each, though the reads be the same.
"""

import subprocess
import sys
from dataclasses import dataclass, field

from candidates import count


@dataclass
class Test:
    name: str
    threads: list[list[str]] = field(default_factory=list)
    weak: list[str] = field(default_factory=list)
    verdict: str = ""
    executions: int = -1
    graphs: int = -1

    def places(self) -> list[str]:
        words = [line.split() for thread in self.threads for line in thread]
        return sorted({each[1] for each in words if each[0] != "F"})

    def is_weak(self, outcome: tuple[int, ...]) -> bool:
        return all(
            w == "-" or int(w) == value for w, value in zip(self.weak, outcome, strict=False)
        )


def read_tests(path: str) -> list[Test]:
    tests: list[Test] = []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            word, _, rest = line.partition(" ")
            if not line or line.startswith("#"):
                continue
            if line.startswith(" "):
                tests[-1].threads.append([each.strip() for each in line.split(";")])
            elif word == "weak":
                at = min(rest.index(each) for each in ("allowed", "forbidden") if each in rest)
                tests[-1].weak, tests[-1].verdict = rest[:at].split(), rest[at:]
            elif word in ("executions", "graphs"):
                setattr(tests[-1], word, int(rest))
            else:
                tests.append(Test(line))
    return tests


def read_found(text: str, tests: list[Test]) -> dict[str, tuple[int, set[tuple[int, ...]]]]:
    """By name: executions; outcomes, of the variables only those that the test has."""
    found = {}
    for test, line in zip(tests, text.splitlines(), strict=True):
        head, *outcomes = line.split("|")
        name, executions = head.split()
        assert name == test.name
        values = [tuple(map(int, each.split())) for each in outcomes]
        unused = 3 - len(test.places())
        found[name] = (int(executions), {each[: len(each) - unused] for each in values})
    return found


def complaints(test: Test, executions: int, outcomes: set[tuple[int, ...]]) -> list[str]:
    counted = count(test.threads)
    said = []
    if outcomes != counted.outcomes:
        said.append(
            f"only on the machine: {sorted(outcomes - counted.outcomes)};"
            f" only by the axioms: {sorted(counted.outcomes - outcomes)}"
        )
    shown = any(map(test.is_weak, outcomes))
    if shown != (test.verdict == "allowed"):
        said.append(f"the weak outcome is {test.verdict}, but {'' if shown else 'not '}shown")
    unmodeled = any(map(test.is_weak, counted.thin_air | counted.weaker_s))
    if unmodeled != (test.verdict == "allowed, not modeled"):
        said.append(f"the weak outcome is {test.verdict}; it is unmodeled: {unmodeled}")
    if (executions, counted.graphs) != (test.executions, test.graphs):
        said.append(f"executions {executions}, graphs {counted.graphs}")
    has_fence = any(line == "F sc" for thread in test.threads for line in thread)
    if executions != counted.graphs and not (has_fence and executions > counted.graphs):
        said.append("executions are not graphs, and no seq_cst fence explains it")
    return said


def main() -> int:
    program, path = sys.argv[1:]
    tests = read_tests(path)
    done = subprocess.run(
        [program, "--litmus", path], capture_output=True, text=True, check=True, timeout=100
    )
    found = read_found(done.stdout, tests)
    wrong = 0
    for test in tests:
        for said in complaints(test, *found[test.name]):
            print(f"{test.name}: {said}")
            wrong += 1
    print(f"{len(tests)} litmus tests, {wrong} differences")
    return 1 if wrong or len(tests) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
