"""`syncopate calibrate`: what it writes is a machine that programs run on."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from syncopate.commands.calibrate import Writer, cache

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


def origins(text: str) -> dict[str, str]:
    """What stands behind each line, by section and key."""
    found, section = {}, ""
    for line in text.splitlines():
        section = line if line.startswith("[") else section
        if "  # " in line:
            found[f"{section}{line.partition(' = ')[0]}"] = line.partition("  # ")[2]
    return found


@pytest.mark.long
def test_nothing_is_called_measured_that_was_not() -> None:
    """One processor measures no pairs. Of each line: is it another one where that is missing?"""
    done = calibrate("--seconds", "0.01", "--print")
    assert done.returncode == 0, done.stderr
    alone = subprocess.run(
        ["taskset", "-c", str(min(os.sched_getaffinity(0))), sys.executable, "-m", "syncopate",
         "calibrate", "--seconds", "0.01", "--print"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    pairs = ("line_transfer", "write_after_read", "contended_", "futex_wake")
    for place, origin in origins(alone.stdout).items():
        assert not any(name in origin for name in pairs), f"{place}: {origin}"
    if len(os.sched_getaffinity(0)) > 1:
        told = origins(done.stdout)
        assert told["[os]ipi_cycles"].startswith("measured: half of (futex_wake_latency")


@pytest.mark.parametrize("missing", ["size", "line"])
def test_what_hwloc_does_not_say_is_an_estimate(missing: str) -> None:
    writer = Writer({"measured": []})
    writer.by_name["latency"] = {"value": 40, "low": 40, "high": 40, "runs": 1}
    one = {"level": 1, "size": 32768, "line": 64, "ways": 8, "shared_by": 1} | {missing: 0}
    cache(writer, {"caches": [one]}, 1, "l1", "latency", 1)
    said = origins("\n".join(writer.lines))[f"[cache.l1]{missing}"]
    assert said == "bytes; estimate: hwloc does not say"


def test_a_file_that_would_not_be_written_is_refused(tmp_path: Path) -> None:
    done = calibrate("--seconds", "0.01", "--print", "-o", str(tmp_path / "this.toml"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "syncopate: calibrate: --print writes no file; leave out -o\n"


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


def test_help_is_had_beside_other_options() -> None:
    done = calibrate("--seconds", "1", "--help")
    assert (done.returncode, done.stdout) == (0, calibrate("-h").stdout)
