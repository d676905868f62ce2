"""The litmus tests on the explored machine, against every candidate execution of each.

    check.py EXPLORE_FUZZ TESTS.TXT
    check.py EXPLORE_FUZZ --random SEED PROGRAMS

For each test: the machine's outcomes are those of the consistent executions, but for what it does
not model and the text says so; it lacks no orders of seq_cst; the outcome that the test is about is
allowed or not as the text says; the executions are as many as it says, which is how many consistent
ones there are, but for orders of seq_cst fences: the machine runs both of each, though the reads be
the same; and for orders S that are no order of execution: where there may be some, the search
begins anew. Of random programs the first two are looked at.
"""

import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

from candidates import Counted, count


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


@dataclass
class Found:
    executions: int
    lacks_orders: bool
    begun_anew: bool  # for orders S that are no order of execution
    outcomes: set[tuple[int, ...]]  # of the variables only those that the test has


def read_found(text: str, tests: list[Test]) -> dict[str, Found]:
    """By name."""
    found = {}
    for test, line in zip(tests, text.splitlines(), strict=True):
        head, *outcomes = line.split("|")
        name, executions, *marks = head.split()
        assert name == test.name
        values = [tuple(map(int, each.split())) for each in outcomes]
        unused = 3 - len(test.places())
        outcomes = {each[: len(each) - unused] for each in values}
        found[name] = Found(int(executions), "orders" in marks, "anew" in marks, outcomes)
    return found


def differences(found: Found, counted: Counted) -> list[str]:
    said = []
    if found.outcomes != counted.outcomes:
        said.append(
            f"only on the machine: {sorted(found.outcomes - counted.outcomes)};"
            f" only by the axioms: {sorted(counted.outcomes - found.outcomes)}"
        )
    if found.lacks_orders:
        said.append("it says that orders of seq_cst lack")
    return said


def complaints(test: Test, found: Found) -> list[str]:
    counted = count(test.threads)
    executions = found.executions
    said = differences(found, counted)
    shown = any(map(test.is_weak, found.outcomes))
    if shown != (test.verdict == "allowed"):
        said.append(f"the weak outcome is {test.verdict}, but {'' if shown else 'not '}shown")
    unmodeled = any(map(test.is_weak, counted.thin_air))
    if unmodeled != (test.verdict == "allowed, not modeled"):
        said.append(f"the weak outcome is {test.verdict}; it is unmodeled: {unmodeled}")
    if (executions, counted.graphs) != (test.executions, test.graphs):
        said.append(f"executions {executions}, graphs {counted.graphs}")
    has_fence = any(line == "F sc" for thread in test.threads for line in thread)
    explained = executions > counted.graphs and (has_fence or found.begun_anew)
    if executions != counted.graphs and not explained:
        said.append("executions are not graphs, and neither a fence nor a new search explains it")
    return said


def random_line(choose: random.Random) -> str:
    kind = choose.choice("WWRRRXF")
    orders = {"W": "rel", "R": "acq", "X": "acq_rel", "F": "acq_rel"}
    # (Mostly such as make the difference.)
    order = choose.choice(["sc", "sc", orders[kind], *(["rlx"] if kind != "F" else [])])
    place = choose.choice("xy") if choose.random() < 0.9 else "z"
    words = {"W": f"W {place} {choose.randint(1, 3)}", "X": f"X {place} {choose.randint(1, 3)}"}
    return f"{words.get(kind, 'F' if kind == 'F' else f'R {place}')} {order}"


def random_tests(seed: int, programs: int) -> list[Test]:
    choose = random.Random(seed)
    found = []
    while len(found) < programs:
        threads = [
            [random_line(choose) for _ in range(choose.choice((1, 2, 2)))]
            for _ in range(choose.choice((3, 3, 4)))
        ]
        places = {line.split()[1] for thread in threads for line in thread if line[0] != "F"}
        if places == set("xyz"[: len(places)]):  # what the program tells of
            found.append(Test(f"random{seed}_{len(found)}", threads))
    return found


def explored(program: str, path: str, tests: list[Test]) -> dict[str, Found]:
    done = subprocess.run(
        [program, "--litmus", path], capture_output=True, text=True, check=True, timeout=600
    )
    return read_found(done.stdout, tests)


def check_random(program: str, seed: int, programs: int) -> int:
    tests = random_tests(seed, programs)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        for test in tests:
            threads = [f"  {'; '.join(thread)}" for thread in test.threads]
            file.write("\n".join([test.name, *threads, ""]))
        file.flush()
        found = explored(program, file.name, tests)
    wrong = others = 0
    for test in tests:
        counted = count(test.threads)
        others += bool(counted.other_s)
        for said in differences(found[test.name], counted):
            print(f"{test.name}: {test.threads}: {said}")
            wrong += 1
    print(f"{programs} programs, {wrong} differences; {others} with an S of no order of execution")
    return 1 if wrong or others == 0 else 0


def main() -> int:
    program, path, *rest = sys.argv[1:]
    if path == "--random":
        return check_random(program, *map(int, rest))
    tests = read_tests(path)
    found = explored(program, path, tests)
    wrong = 0
    for test in tests:
        for said in complaints(test, found[test.name]):
            print(f"{test.name}: {said}")
            wrong += 1
    print(f"{len(tests)} litmus tests, {wrong} differences")
    return 1 if wrong or len(tests) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
