"""Who waits at OpenMP's speculating barrier runs ahead: what the record tells of that, and the same
under LLVM's runtime, by clang. (tests/emulated/openmp: GCC's.)"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from syncopate.base import preloading

ROOT = Path(__file__).resolve().parents[3]
BUILD = (
    Path(os.environ.get("SYNCOPATE_BUILD_DIR", ROOT / "build/release")) / "tests/emulated/openmp"
)
LIBRARY = str(BUILD / "libemulated_openmp.so")
SOURCE = ROOT / "tests/emulated/openmp/ahead.c"
# The runtimes' threads do not spin: two of them may share a processor here.
SETTINGS = {"SYNCOPATE_OMP_BARRIER": "speculating", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="nobody runs ahead on one processor"
)


def run(program, **variables):
    done = subprocess.run(
        [program],
        env=preloading.changed({**os.environ, **SETTINGS, **variables}, {"LD_PRELOAD": LIBRARY}),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "each phase was done once" in done.stdout + done.stderr
    return done.stdout + done.stderr


def report(path, *options):
    done = subprocess.run(
        [sys.executable, "-m", "syncopate", "report", *options, path],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_the_report_tells_of_the_runs(tmp_path):
    run(BUILD / "emulated_openmp_ahead", SYNCOPATE_RECORD=str(tmp_path / "ahead.rec"))
    found = {}
    for path in tmp_path.iterdir():  # one of pthread's locks, and one of OpenMP
        (record,) = json.loads(report(path, "--json"))["records"]
        runs = {lock["name"]: lock["speculation"] for lock in record["locks"]}
        found |= {name: (path, each) for name, each in runs.items() if each}
    assert len(found) >= 2  # barriers at different lines
    for name, (path, each) in found.items():
        assert "ahead.c:" in name
        assert each["runs"] == each["whole"] + sum(each["aborts"].values()), name
        assert "Runs ahead of locks and barriers" in report(path)
    runs = [each for _, each in found.values()]
    assert sum(each["runs"] for each in runs) >= 100
    assert sum(each["whole"] for each in runs) > 0  # to the next call of OpenMP
    assert sum(each["aborts"]["conflict"] for each in runs) > 0  # the late thread came
    assert sum(each["lines"] for each in runs) > 0


def test_llvms_threads_run_ahead(tmp_path):
    clang = next(filter(None, map(shutil.which, ("clang", "clang-14"))), None)
    if clang is None:
        pytest.skip("no clang")
    runtime = Path(clang).resolve().parents[1] / "lib/libomp.so"  # Debian's place for it
    if not runtime.exists():
        pytest.skip(f"no {runtime}: {clang} has no OpenMP runtime here")
    program = tmp_path / "ahead"
    words = ["--machine=emulated", f"--compiler={clang}", "-O3", "-fopenmp", SOURCE, "-o", program]
    words += [f"-L{runtime.parent}", f"-Wl,-rpath,{runtime.parent}"]
    subprocess.run([sys.executable, "-m", "syncopate", "cc", *words], check=True, timeout=100)
    said = run(program, SYNCOPATE_STATS="1")
    begun = re.findall(r"^  syncopate::waits.* ([0-9.]+(?: k)?)  +(-|[0-9.]+ %)  ", said, re.M)
    assert begun, said
    assert {committed for _, committed in begun} == {"-"}
