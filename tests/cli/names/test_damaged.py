"""Damaged records, programs, policies, JSON: a result or one line for each, in bounded memory."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HERE, compile_c
from test_symbols import SOURCE

FEEDER = HERE / "damage.py"
KINDS = {"record", "bundle", "program", "policy", "whatif", "diff", "advise", "interpreter"}


def feed(folder: Path, first: int, last: int) -> None:
    compile_c(SOURCE, folder / "prog", "-g", "-O1", "-pie")
    done = subprocess.run(
        [sys.executable, FEEDER, folder, str(first), str(last)], capture_output=True, text=True
    )
    *wrong, counts = done.stdout.splitlines() or [""]
    again = f"\nto run it again: {FEEDER} FOLDER SEED SEED+1"
    assert not wrong, "\n".join(wrong) + again
    assert counts.startswith(f"fed {last - first}: "), done.stderr
    # Neither was nothing damaged enough, nor everything refused at its first byte.
    answers = set(re.findall(r"(\w+)=([012]) x", counts))
    assert {kind for kind, status in answers if status == "0"} >= {"record", "program"}, counts
    assert {kind for kind, status in answers if status != "0"} >= KINDS - {"program"}, counts


@pytest.mark.long
def test_some_damaged_files(tmp_path):
    feed(tmp_path, 0, 150)


@pytest.mark.long
def test_two_thousand_damaged_files(tmp_path):
    feed(tmp_path, 1000, 3000)
