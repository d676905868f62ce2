"""The programs of known truth that what-if answers are held against, and their changes."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, SECONDS

sys.path.insert(0, str(ROOT / "bench"))

import whatif_truth

EACH = 60  # sections of a thread: those that wait at conditions do after each 20th


@pytest.mark.sampled(6)
@pytest.mark.parametrize("truth", whatif_truth.PROGRAMS, ids=lambda each: each.name)
def test_its_threads_go_on_with_many_locks(truth):
    program = os.path.join(os.environ["SYNCOPATE_BUILD_DIR"], whatif_truth.PROGRAM)
    _, (_, *words) = truth.run_with(f"shard={whatif_truth.SHARDS}")
    done = subprocess.run([program, *words, "--seconds", "0.2"], capture_output=True, text=True,
                          timeout=SECONDS, check=True)  # fmt: skip
    assert json.loads(done.stdout)["operations"] >= EACH * int(truth.options["threads"])
