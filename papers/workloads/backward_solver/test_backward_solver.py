"""The solver with each barrier, as an OpenMP program, and on the modeled machines."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads" / "backward_solver"
BARRIERS = ("auto", "central", "combining_tree", "dissemination", "two_level", "speculating")
MACHINES = {
    "emulated": {},
    "simulated": {"SYNCOPATE_MACHINE": "broadwell-2x18", "SYNCOPATE_QUIET": "1"},
}
BUILT = [name for name in MACHINES if (BUILD / f"backward_solver.{name}").exists()]
OPENMP = BUILD / "backward_solver.openmp"
# Their shadow memory takes more address space than any limit leaves.
SANITIZED = re.search(
    r"^SYNCOPATE_SANITIZE:\w+=(address|thread)",
    (BUILD / "../../../CMakeCache.txt").read_text(),
    re.M,
)
SMALL = ("--levels", "12", "--solves", "2")
PARALLELISM = {"offshore": 75, "inline_1": 288, "thermal2": 991}


def run(program: str, *words: object, **settings: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [BUILD / program, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | settings,
    )


def solve(program: str, *words: object, threads: int = 2, **settings: str) -> dict:
    done = run(program, *words, "--threads", threads, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = done.stdout.splitlines()
    found = json.loads(line)
    assert found["consistent"] is True
    assert 0 <= found["residual"] <= 4
    assert len(found["per_thread"]) == threads
    assert found["operations"] == found["rows"] * found["solves"]
    assert found["gigabytes_per_second"] > 0
    return found


@pytest.mark.parametrize("barrier", BARRIERS)
@pytest.mark.parametrize("threads", [1, 3])
def test_barriers(barrier, threads):
    assert solve("backward_solver", *SMALL, "--barrier", barrier, threads=threads)["levels"] == 12


@pytest.mark.parametrize(("matrix", "rows"), PARALLELISM.items())
def test_the_papers_parallelism(matrix, rows):
    found = solve("backward_solver", *SMALL, "--matrix", matrix)
    assert found["rows_per_level"] == rows
    assert found["rows"] == 12 * rows


@pytest.mark.skipif(not OPENMP.exists(), reason="the compiler has no OpenMP")
@pytest.mark.parametrize("threads", [1, 2])
def test_openmp(threads):
    assert solve(OPENMP.name, *SMALL, threads=threads)["barrier"] == "openmp"


@pytest.mark.parametrize("machine", BUILT)
@pytest.mark.parametrize("barrier", ["auto", "speculating"])
def test_on_machines(machine, barrier):
    settings = MACHINES[machine]
    words = ("--levels", "6", "--solves", "1", "--barrier", barrier)
    solve(f"backward_solver.{machine}", *words, threads=4, **settings)


@pytest.mark.skipif("simulated" not in BUILT, reason="the simulated machine is not built")
def test_who_is_early_runs_ahead(tmp_path):
    stats = tmp_path / "stats.json"
    settings = MACHINES["simulated"] | {"SYNCOPATE_STATS": str(stats)}
    words = ("--levels", "20", "--solves", "1", "--barrier", "speculating")
    solve("backward_solver.simulated", *words, threads=4, **settings)
    transactions = json.loads(stats.read_text())["transactions"]
    assert sum(each["begins"] for each in transactions) > 0
    assert sum(each["commits"] for each in transactions) == 0


def test_a_file(tmp_path):
    """A bidiagonal matrix has no parallelism at all: each row waits for the next one."""
    rows = 50
    entries = [f"{i} {i} 2" for i in range(1, rows + 1)]
    entries += [f"{i + 1} {i} 1" for i in range(1, rows)]
    file = tmp_path / "chain.mtx"
    head = f"%%MatrixMarket matrix coordinate real symmetric\n{rows} {rows} {len(entries)}\n"
    file.write_text(head + "\n".join(entries) + "\n")
    found = solve("backward_solver", "--matrix", file)
    assert (found["rows"], found["nonzeros"], found["levels"]) == (rows, rows - 1, rows)


def test_a_bad_file_is_told_with_its_line(tmp_path):
    file = tmp_path / "bad.mtx"
    file.write_text("%%MatrixMarket matrix coordinate real general\n% comment\n2 2 1\n1 3 1\n")
    done = run("backward_solver", "--matrix", file)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.endswith(f": {file}:4: rows and columns are 1 to 2, not 3\n")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--matrix", "nosuch"), "nosuch: cannot be read"),
        (("--barrier", "nosuch"), "no barrier is called 'nosuch'"),
        (("--solves", "1001"), "--solves needs at most 1000"),
        (("--solves", "0"), "--solves needs a whole number of at least 1"),
        (("--levels", "2000000"), "--levels needs at most 20000"),
    ],
)
def test_bad_use(words, message):
    done = run("backward_solver", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(SANITIZED is not None, reason="a sanitizer needs the address space")
def test_a_matrix_that_does_not_fit_into_memory(tmp_path):
    file = tmp_path / "huge.mtx"
    rows = 1_900_000_000
    file.write_text(f"%%MatrixMarket matrix coordinate real general\n{rows} {rows} 0\n")
    limited = f'ulimit -v 4000000; exec "{BUILD}/backward_solver" --matrix "{file}"'
    done = subprocess.run(
        ["sh", "-c", limited], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr.endswith("the matrix and its solutions do not fit into memory\n")
