"""The microbenchmarks of both compilers: every construct measured, groups, sizes, bad use."""

import json
import math
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads" / "epcc"
BUILT = [name for name in ("epcc_gcc", "epcc_clang") if (BUILD / name).exists()]
GROUPS = {"sync": 13, "task": 9, "schedule": 8}
SHORT = ("--samples", "2", "--time", "20")


def run(program: str, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [BUILD / program, *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "2"},
    )


def measured(program: str, *words: str) -> list[dict]:
    done = run(program, *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_compiler_built_them() -> None:
    assert BUILT


@pytest.mark.parametrize("program", BUILT)
def test_every_construct(program: str) -> None:
    lines = measured(program, *SHORT)
    groups = [line["group"] for line in lines]
    assert {group: groups.count(group) for group in groups} == GROUPS
    assert len({line["construct"] for line in lines}) == len(lines)
    for line in lines:
        assert (line["threads"], line["samples"]) == (2, 2), line
        assert math.isclose(
            line["overhead_us"], line["test_us"] - line["reference_us"], abs_tol=2e-5
        ), line
        assert line["least_us"] <= line["test_us"] <= line["most_us"], line


@pytest.mark.parametrize("program", BUILT)
def test_names_groups_and_sizes(program: str) -> None:
    names = ("LOCK", "schedule", "ATOMIC")
    lines = measured(program, *SHORT, *names)
    assert [lines[0]["construct"], lines[-1]["construct"]] == ["LOCK", "ATOMIC"]
    assert len(lines) == GROUPS["schedule"] + 2
    (line,) = measured(program, "--preset", "small", "--time", "20", "ATOMIC")
    assert line["samples"] == 10


@pytest.mark.parametrize("program", BUILT)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--samples", "1"], "--samples takes a number from 2 to 1000000, not '1'"),
        (["--samples", "many"], "--samples takes a number from 2 to 1000000, not 'many'"),
        (["--samples"], "--samples takes a number from 2 to 1000000, not ''"),
        (["--time", "1us"], "--time takes a number from 1 to 1000000000, not '1us'"),
        (["--delay", "nan"], "--delay takes a number from 0.001 to 1000000, not 'nan'"),
        (["--preset", "huge"], "no preset is called 'huge'; there are small, paper and large"),
        (["--rounds", "3"], "there is no construct, group or option '--rounds'"),
        (["ATOMIC", "ATOMICS"], "there is no construct, group or option 'ATOMICS'"),
    ],
)
def test_bad_use_is_one_line(program: str, words: list[str], said: str) -> None:
    done = run(program, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("program", BUILT)
def test_help_names_every_group(program: str) -> None:
    done = run(program, "--help")
    assert done.returncode == 0
    assert all(group in done.stdout for group in GROUPS)
