"""bench/programs.py, on made-up programs: what is missing or stopped costs nothing else."""

import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import ROOT, SECONDS, waited

SCRIPT = ROOT / "bench" / "programs.py"


@pytest.fixture
def comparison(tmp_path):
    """start(zstd=TEXT, xz=TEXT): the comparison of both, with these as their programs."""
    bin_folder, report = tmp_path / "bin", tmp_path / "report.json"
    bin_folder.mkdir()
    environment = {**os.environ, "PATH": str(bin_folder)}
    words = ["--quick", "--rounds", "2", "--only", "T2", "--configs", "glibc,glibc+OURS=1"]

    def start(**programs):
        for name, text in programs.items():
            (bin_folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            (bin_folder / name).chmod(0o755)
        command = [sys.executable, SCRIPT, *words, "--json", report]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)

    start.measured = lambda: [
        row["workload"] for row in json.loads(report.read_text(encoding="utf-8"))["workloads"]
    ]
    return start


def complaints(error):
    return [line for line in error.splitlines() if line.startswith("programs.py: ")]


def test_a_missing_program_is_named_and_the_others_go_on(comparison):
    output, error = (process := comparison(xz=":")).communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert complaints(error) == [
        "programs.py: zstd -T2: zstd is not installed; it is in Debian's package zstd"
    ]
    assert comparison.measured() == ["xz -T2"]
    assert "xz -T2" in output


def test_a_failing_program_is_quoted(comparison):
    process = comparison(zstd="echo 'no room' >&2; exit 3", xz=":")
    _, error = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    (line,) = complaints(error)
    assert line.endswith("zstd: exit status 3: no room")


def test_stopped_early_it_shows_what_is_done(comparison, tmp_path):
    began = tmp_path / "began"
    process = comparison(zstd=":", xz=f"echo > {began}; exec /bin/sleep {SECONDS}")
    waited(began.exists, "the second workload")
    process.send_signal(signal.SIGTERM)
    output, error = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + signal.SIGTERM
    assert complaints(error) == ["programs.py: stopped before its end, after these:"]
    assert comparison.measured() == ["zstd -T2"]
    assert "zstd -T2" in output
    assert "xz" not in output
