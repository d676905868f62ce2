"""`syncopate calibrate`: what it writes is a machine that programs run on."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads" / "lock_pingpong.simulated"


def calibrate(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "syncopate", "calibrate", *arguments]
    return subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("config")
    done = calibrate("--seconds", "0.1", XDG_CONFIG_HOME=str(folder))
    assert done.returncode == 0, done.stderr
    assert "SYNCOPATE_MACHINE=this" in done.stdout
    return folder


def test_every_number_says_where_it_comes_from(home: Path) -> None:
    text = (home / "syncopate/machines/this.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    assert found["topology"]["cores"] >= 1
    assert found["topology"]["frequency_hz"] > 10**8
    assert 0 < found["cache"]["l1"]["latency"] <= found["cache"]["llc"]["latency"]
    assert found["coherence"]["migratory"] in (False, True)
    assert 0 <= found["coherence"]["request"] < found["coherence"]["transfer_cluster"]
    assert found["coherence"]["hold"] >= 0
    for line in text.split("[topology]")[1].splitlines():
        assert "=" not in line or "  # " in line, line


def test_programs_run_on_it(home: Path) -> None:
    done = subprocess.run(
        [str(PROGRAM), "--lock", "futex", "--threads", "2", "--pairs", "100"],
        env={**os.environ, "XDG_CONFIG_HOME": str(home), "SYNCOPATE_MACHINE": "this"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "(machine this)" in done.stderr
    result = json.loads(done.stdout)
    assert result["consistent"] and result["operations"] == 200


def test_says_how_a_file_elsewhere_is_used(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.toml"
    done = calibrate("--seconds", "0.01", "-o", str(file))
    assert done.returncode == 0, done.stderr
    assert f"SYNCOPATE_MACHINE={file} " in done.stdout
    assert "SYNCOPATE_MACHINE=this" not in done.stdout


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "1e9", "nan"])
def test_bad_seconds(seconds: str) -> None:
    done = calibrate("--seconds", seconds)
    assert done.returncode == 2
    assert done.stderr.startswith("syncopate: ") and len(done.stderr.splitlines()) == 1


def test_unwritable_output(tmp_path: Path) -> None:
    done = calibrate("--seconds", "0.01", "-o", str(tmp_path))
    assert done.returncode == 1
    assert f"{tmp_path} cannot be written" in done.stderr
    assert not list(tmp_path.iterdir())
