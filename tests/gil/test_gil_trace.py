"""A trace of the interpreter lock: recorded on the emulated machine, it holds what the threads did;
played again under every way of choosing lengths, nothing is lost."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"])
TOY = BUILD / "tests" / "gil" / "programs" / "toy.emulated"
ROOT = Path(__file__).resolve().parents[2]
COMPARE = ROOT / "bench" / "gil_replay.py"


def record(path: Path, program: str, threads: int, turns: int) -> list[list[str]]:
    """The items of the trace, each a list of words."""
    environment = os.environ | {
        "SYNCOPATE_GIL_TRACE": str(path),
        "SYNCOPATE_EMULATED": "yield=3000",
    }
    command = [TOY, program, str(threads), str(turns)]
    done = subprocess.run(
        command, capture_output=True, env=environment, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    first, *lines = path.read_text().splitlines()
    assert first == "syncopate-gil-trace 1"
    return [line.split() for line in lines]


@pytest.fixture(scope="module")
def bank(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "bank.trace"
    record(path, "bank", 3, 200)
    return path


def play(machine: str, trace: Path, gil: str) -> subprocess.CompletedProcess:
    settings = {"SYNCOPATE_MACHINE": "zec12-12c", "SYNCOPATE_QUIET": "1"}
    settings["SYNCOPATE_MACHINES"] = str(ROOT / "machines")
    program = BUILD / "papers/workloads" / ("gil_replay" + (f".{machine}" if machine else ""))
    return subprocess.run(
        [program, "--trace", trace, "--gil", gil],
        capture_output=True,
        env=os.environ | settings,
        text=True,
        check=False,
        timeout=100,
    )


def test_a_trace_has_the_threads_stretches(tmp_path):
    items = record(tmp_path / "own.trace", "own", 3, 300)
    kinds = {words[0] for words in items}
    assert kinds <= {"thread", "after", "s", "l"}
    assert sum(words[0] == "thread" for words in items) >= 3
    stretches = [words for words in items if words[0] == "s"]
    assert len(stretches) > 300
    for _, pc, accesses, *lines in stretches:
        int(pc, 16)
        assert int(accesses) >= len(lines) > 0
        assert any(line.endswith("+") for line in lines)
        assert all(int(line.rstrip("+"), 16) > 0 for line in lines)


def test_no_trace_unless_asked(tmp_path):
    done = subprocess.run([TOY, "own", "2", "50"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("machine", ["", "emulated", "simulated"])
@pytest.mark.parametrize("gil", ["gil", "htm:16", "paper", "balance"])
def test_a_trace_plays_again(bank, machine, gil):
    """`consistent`: each recorded write was made once, and none was lost."""
    done = play(machine, bank, gil)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    text = bank.read_text()
    assert result["consistent"] is True
    assert result["operations"] == text.count("\ns ") + text.count("\nl ")
    if machine == "simulated":
        assert (result["lock"]["transactions"] > 0) == (gil != "gil")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no trace of an interpreter lock"),
        ("syncopate-gil-trace 1\n", "it has no stretches"),
        ("syncopate-gil-trace 1\nthread\ns 1f 9 zz\n", "line 3 is not understood"),
        ("syncopate-gil-trace 1\ns 1f 9 40\n", "line 2 is not understood"),
    ],
)
def test_what_is_no_trace_is_told(tmp_path, text, message):
    (tmp_path / "bad.trace").write_text(text)
    done = play("", tmp_path / "bad.trace", "gil")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "no lock works as 'x'" in play("", tmp_path / "bad.trace", "x").stderr


def load_compare():
    spec = importlib.util.spec_from_file_location("gil_replay", COMPARE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
def test_the_comparison_shows_every_way(bank):
    done = subprocess.run(
        [sys.executable, COMPARE, bank, "--programs", BUILD / "papers/workloads"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if " % |" in line]
    assert rows == list(load_compare().WAYS)


def test_the_comparisons_shares():
    lock = {"transactions": 100, "aborts": 60, "fallbacks": 20}
    run = {"seconds": 2.0, "operations": 1000, "lock": lock}
    compare = load_compare()
    runs = {way: run | {"seconds": 4.0 if way == "gil" else 2.0} for way in compare.WAYS}
    rows = compare.table(Path("x.trace"), runs)
    assert "| gil | 1.00 | 0.50 | 42.9 % | 20.0 % |" in rows
    assert "| balance | 2.00 | 1.00 | 42.9 % | 20.0 % |" in rows


def test_bad_use_of_the_comparison_is_told(tmp_path):
    done = subprocess.run(
        [sys.executable, COMPARE, tmp_path / "none", "--programs", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "build with `make`" in done.stderr
