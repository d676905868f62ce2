"""Locksets, conditions, coarsening, callbacks and speculation on two simulated machines: each
program checks its own counts (simulated/elision.h)."""

import os
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "tests" / "elide" / "simulated"
MACHINES = Path(__file__).resolve().parents[2] / "machines"
CHECKED = ("actions", "coarsening", "conditions", "lockset", "speculating")


def run(program: str, *arguments: str, machine: str = "haswell-4c8t") -> str:
    environment = {
        **os.environ,
        "SYNCOPATE_MACHINES": str(MACHINES),
        "SYNCOPATE_MACHINE": machine,
        "SYNCOPATE_QUIET": "1",
    }
    done = subprocess.run(
        [PROGRAMS / program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.sampled(12)
@pytest.mark.parametrize("machine", ["haswell-4c8t", "broadwell-2x18"])
@pytest.mark.parametrize(
    ("program", "scenario"), [(p, scenario) for p in CHECKED for scenario in run(p).split()]
)
def test_scenario(program: str, scenario: str, machine: str) -> None:
    run(program, scenario, machine=machine)
