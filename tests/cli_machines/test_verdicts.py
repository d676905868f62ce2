"""tests/explored_engine/verdicts: each program has its verdict with every compiler, with and
without optimization, in one process and in two; and no other search says the opposite."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from modeled import BUILD, ROOT

HERE = Path(__file__).parent
VERDICTS = HERE.parent / "explored_engine" / "verdicts"
ROW = re.compile(r"(\S+) +(\S+) +(passed|failed)(?: +(.+))?")
STATUS = {0: "passed", 1: "failed", 3: "bounded"}
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}

# What the checker gets wrong, by compiler, and why (docs/check.md, "What compilers do not tell").
_EXPECTED = "gcc does not announce an expected value that lies in memory"
WRONG = {
    ("gcc", "stack"): _EXPECTED,
    ("gcc", "stack_relaxed_push"): _EXPECTED,
    ("gcc", "stack_relaxed_pop"): _EXPECTED,
    ("clang", "one_weak_attempt"): "clang does not tell weak compare-exchanges from strong ones",
}


def is_wrong(compiler: str, level: str, name: str) -> bool:
    return any((of, name) in WRONG for of in (compiler, f"{compiler} {level}"))


def rows() -> list[tuple[str, str, str, str]]:
    text = (VERDICTS / "table.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = [ROW.fullmatch(line) for line in lines]
    assert all(found)
    return [(f[1], f[2], f[3], f[4] or "") for f in found if f]


SOURCES = sorted({row[0] for row in rows()})


def compiled(source: str | Path, compiler: str, level: str, folder: Path) -> Path:
    """`source`: a path, or a name among the verdicts' programs."""
    c, cxx = COMPILERS[compiler]
    source = VERDICTS / source
    is_c = source.suffix == ".c"
    words = ["cc", f"--compiler={c}"] if is_c else ["c++", f"--compiler={cxx}", "-std=c++20"]
    folder.mkdir(exist_ok=True)
    program = folder / source.name.replace(".", "_")
    words += ["--machine=explored", level, "-pthread", str(source), "-o", str(program)]
    subprocess.run(
        [sys.executable, "-m", "syncopate", *words],
        env={**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=300,
    )
    return program


def explored(program: Path, name: str, options: str) -> tuple[str, str]:
    done = subprocess.run(
        [program, name],
        env={**os.environ, "SYNCOPATE_EXPLORE": f"seconds=60,{options}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return STATUS[done.returncode], done.stdout


def wrong_ones(program: Path, source: str, compiler: str, level: str, options: str) -> list[str]:
    """The programs of a file that have another verdict, and those that are said to and have not."""
    wrong = []
    for of, name, verdict, kind in rows():
        if of != source:
            continue
        got, said = explored(program, name, options)
        if (got == verdict and re.search(kind, said) is not None) == is_wrong(
            compiler, level, name
        ):
            wrong.append(f"{name}: {got}, in the table {verdict} {kind}: {said}")
    return wrong


def test_every_program_has_a_verdict() -> None:
    listed = {
        (source.name, name)
        for source in VERDICTS.glob("*.c*")
        for name in re.findall(r'^    \{"(\w+)"', source.read_text(encoding="utf-8"), re.M)
    }
    assert listed == {(source, name) for source, name, _, _ in rows()}


def test_what_is_wrong_are_programs() -> None:
    assert {name for _, name in WRONG} <= {name for _, name, _, _ in rows()}


def test_verdicts_of_programs_in_c(tmp_path: Path) -> None:
    program = compiled("posix.c", "gcc", "-O2", tmp_path)
    wrong = wrong_ones(program, "posix.c", "gcc", "-O2", "jobs=1")
    assert not wrong, "\n".join(wrong)


ELEMENT = """
#include <pthread.h>
static void *write_one(void *values) { ((int *)values)[1] = 1; return 0; }
int main() {
  int values[2] = {0, 0};
  pthread_t thread;
  pthread_create(&thread, 0, write_one, values);
  values[1] = 2;
  pthread_join(thread, 0);
  return values[1] == 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_races_on_elements_of_locals(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "element.c"
    source.write_text(ELEMENT)
    verdict, said = explored(compiled(source, compiler, "-O2", tmp_path / "out"), "", "jobs=1")
    assert verdict == "failed" and "data race" in said, said


@pytest.mark.long
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("source", SOURCES)
def test_verdicts_of_every_compiler(source: str, compiler: str, level: str, tmp_path: Path) -> None:
    program = compiled(source, compiler, level, tmp_path)
    for jobs in (1, 2):
        wrong = wrong_ones(program, source, compiler, level, f"jobs={jobs}")
        assert not wrong, "\n".join(wrong)


@pytest.mark.long
@pytest.mark.parametrize(
    "search",
    [
        "random=1,executions=300",
        "preemptions=1",
        "every_order,executions=3000",
        "turns=0",
        "timeouts=0,jumps=0,spurious=0",
        "any_waiter",
    ],
)
@pytest.mark.parametrize("source", SOURCES)
def test_no_search_says_the_opposite(source: str, search: str, tmp_path: Path) -> None:
    program = compiled(source, "gcc", "-O2", tmp_path)
    wrong = []
    for of, name, verdict, _ in rows():
        if of != source or is_wrong("gcc", "-O2", name):
            continue
        got, said = explored(program, name, search)
        # Some fail by a wake-up without a cause, or late, which the calm environment leaves out.
        may_pass = verdict == "passed" or "spurious=0" in search
        if (got == "passed" and not may_pass) or (got == "failed" and verdict == "passed"):
            wrong.append(f"{name}: {got}, not {verdict}: {said}")
    assert not wrong, "\n".join(wrong)
