"""Python wheels that bring OpenMP code and runtimes of their own: with us as without us.

Their modules are opened by a program without OpenMP, each with its own copy of libgomp.
"""

import re
import subprocess
import sys

import pytest
from openmp_runs import environment

PACKAGES = ["lightgbm", "numba", "numpy", "scikit-learn", "xgboost"]
DATA = """
import numpy as np
r = np.random.default_rng(1)
X = r.random((2000, 10))
y = (X[:, 0] + X[:, 1] > 1).astype(int)
"""
LIGHTGBM = """
import lightgbm
fitted = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, deterministic=True).fit(X, y)
print("LightGBM", fitted.score(X, y))
"""
SCIKIT = """
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
print("HistGradientBoosting", HistGradientBoostingClassifier(max_iter=10).fit(X, y).score(X, y))
print("KMeans", round(KMeans(3, n_init=2, random_state=1).fit(X).inertia_, 6))
"""
XGBOOST = """
import xgboost
print("XGBoost", xgboost.XGBClassifier(n_estimators=10).fit(X, y).score(X, y))
"""
NUMBA = """
import numba
numba.config.THREADING_LAYER = "omp"
@numba.njit(parallel=True)
def work(a):
    n = 0
    for i in numba.prange(a.size):
        n += i % 7
    return n
print("numba", work(np.arange(100000)), numba.threading_layer())
"""
NUMPY = """
print("numpy", round(float(np.linalg.norm(X.T @ X)), 6))
"""
PARTS = {
    "lightgbm": LIGHTGBM,
    "scikit-learn": SCIKIT,
    "xgboost": XGBOOST,
    "numba": NUMBA,
    "numpy": NUMPY,
    "all": LIGHTGBM + SCIKIT + XGBOOST + NUMBA + NUMPY,
    "all, the other way": NUMPY + NUMBA + XGBOOST + SCIKIT + LIGHTGBM,
}
SETTINGS = {
    "defaults": {},
    "eight threads": {"OMP_NUM_THREADS": "8"},
    "kept": {"SYNCOPATE_OMP_REGIONS": "kept"},
    "neither": {"SYNCOPATE_OMP_BARRIER": "runtime", "SYNCOPATE_OMP_LOCK": "runtime"},
}
BRING_LIBGOMP = ("lightgbm", "scikit-learn", "xgboost", "all", "all, the other way")
SECONDS = 300

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter with the wheels, from the registry."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    command = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--only-binary=:all:"]
    done = subprocess.run([*command, *PACKAGES], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the wheels cannot be had here: {done.stderr.strip().splitlines()[-1]}")
    return folder / "bin" / "python"


def run(python, part, variables):
    done = subprocess.run(
        ["timeout", str(SECONDS), python, "-c", DATA + PARTS[part]],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{part}: status {done.returncode}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def without_us(python):
    return {part: run(python, part, environment(False)).stdout for part in PARTS}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("part", PARTS)
def test_as_without_us(python, without_us, part, setting):
    variables = environment(True, SYNCOPATE_VERBOSE="1", **SETTINGS[setting])
    done = run(python, part, variables)
    assert done.stdout == without_us[part]
    if setting == "kept" and part in BRING_LIBGOMP:
        assert re.search(r"^syncopate: a team of \S+libgomp\S+ is kept$", done.stderr, re.MULTILINE)
        assert "are not kept" not in done.stderr


def test_recorded(python, without_us, tmp_path):
    record = tmp_path / "program.rec"
    variables = environment(True, SYNCOPATE_RECORD=str(record))
    assert run(python, "all", variables).stdout == without_us["all"]
    assert record.stat().st_size > 0
