"""The NAS-like kernels: with a preset's size, the known value, which for Lua's is what the Lua
programs check; with others, the same value for every number of threads."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads" / "nas"
LUA = Path(__file__).parents[1] / "lua"
SIZES = {  # others than Lua's
    "is": 10_007,
    "cg": 501,
    "ep": 33,
    "ft": 64,
    "mg": 16,
    "bt": 13,
    "lu": 67,
    "sp": 13,
}


def run(program, *words):
    return subprocess.run(
        [BUILD / program, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"OMP_WAIT_POLICY": "passive"},
    )


def measure(program, *words):
    done = run(program, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["consistent"] is True
    assert result["seconds"] > 0
    return result


@pytest.mark.sampled(9)
@pytest.mark.parametrize("program", SIZES)
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("preset", ["lua", "small"])
def test_known_values(program, preset, threads):
    result = measure(program, "--preset", preset, "--threads", threads)
    assert result["known"] is True
    assert result["threads"] == threads


@pytest.mark.parametrize("program", [name for name in SIZES if name != "ep"])
def test_lua_checks_the_same_value(program):
    # The first of the results of its presets: that of the default.
    (expected,) = re.findall(r'\{"([-+.\de]+)"', (LUA / f"{program}.lua").read_text())
    assert measure(program, "--preset", "lua")["result"] == expected


@pytest.mark.parametrize(("program", "size"), SIZES.items())
def test_threads_do_not_change_the_result(program, size):
    results = {measure(program, "--size", size, "--threads", n)["result"] for n in (1, 2, 3, 5)}
    assert len(results) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--size", "0"), "--size needs a whole number from 2 to 32768, not '0'"),
        (("--size", "24"), "--size needs a power of two, not 24"),
        (("--threads", "many"), "--threads needs a whole number from 1 to 4096, not 'many'"),
        (("--preset", "huge"), "no preset is called 'huge'; there are lua, small, paper and large"),
        (("--sise", "16"), "there is no option '--sise'; see --help"),
        (("--size",), "option '--size' needs a value"),
    ],
)
def test_bad_use(words, message):
    done = run("ft", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"ft: {message}\n"


@pytest.mark.parametrize("program", SIZES)
def test_help(program):
    done = run(program, "--help")
    assert done.returncode == 0
    assert "sizes: lua, small, paper or large" in done.stdout
