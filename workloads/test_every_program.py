"""Every program of workloads/ at size small, in every variant: in a build with sanitizers, what
they find is a failure. How long each takes is bench/every_program.py's to say, not this test's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "bench" / "every_program.py"
BUILD = os.environ["SYNCOPATE_BUILD_DIR"]


@pytest.mark.long
def test_every_program_ends_well():
    done = subprocess.run(
        [sys.executable, SCRIPT, "--build", BUILD, "--limit", "600"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    count = re.search(r"^(\d+) runs, 0 failed", done.stdout, re.MULTILINE)
    assert count and int(count[1]) > 200, done.stdout


def test_unknown_suites_and_empty_builds(tmp_path):
    def said(*words):
        done = subprocess.run(
            [sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode != 0
        return done.stdout + done.stderr

    assert "no suite of workloads/ is called 'nosuch'; there are array, " in said(
        "--suite", "nosuch"
    )
    assert "nothing was run" in said("--suite", "cache", "--build", tmp_path)
