"""The RMS-TM-like set with small inputs: every variant finds what one thread does without sections,
natively, and on the emulated and the simulated machine, where tsx runs sections as transactions."""

import itertools
import json
import resource
import signal
import subprocess

import pytest
from test_workloads import BUILD, BUILT, check_refused, measure, run

# Inputs that every machine finishes at once.
SIZES = {
    "rmstm/apriori": {"baskets": 120, "items": 40, "support": 60},
    "rmstm/utility_mine": {"baskets": 100, "items": 40, "utility": 100},
    "rmstm/scalparc": {"records": 1500, "depth": 3},
    "rmstm/fluidanimate": {"side": 4, "particles": 150, "steps": 2},
    "rmstm/hmmcalibrate": {"samples": 101, "length": 30},
    "rmstm/hmmsearch": {"sequences": 60, "length": 50, "states": 30},
    "rmstm/hmmpfam": {"models": 40, "queries": 2, "length": 50},
}
VARIANTS = ("fgl", "sgl", "tsx")
RUNS = list(itertools.product(SIZES, VARIANTS))
WRITES_FILES = [program for program in SIZES if program != "rmstm/fluidanimate"]


@pytest.mark.parametrize(("program", "variant"), RUNS)
def test_every_variant_finds_what_one_thread_finds(program, variant):
    results = set()
    for threads, memory, files in ((1, 1, 1), (3, 1, 1), (3, 0, 0), (2, 1, 0)):
        result = measure(
            program, variant=variant, threads=threads, memory=memory, files=files, **SIZES[program]
        )
        assert (result["variant"], result["memory"], result["files"]) == (variant, memory, files)
        results.add(result["results"])
    assert len(results) == 1
    assert results.pop() > 1  # there is something to compare


@pytest.mark.parametrize("program", ["rmstm/apriori", "rmstm/scalparc", "rmstm/hmmpfam"])
def test_full_disk_is_one_line(program):
    """A limit on files takes the same way."""

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    done = subprocess.run(
        [BUILD / program, "--preset", "small"],
        capture_output=True, text=True, check=False, timeout=60, preexec_fn=small_files,
    )  # fmt: skip
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert " a temporary file: " in line


@pytest.mark.skipif("emulated" not in BUILT, reason="no emulated machine in this build")
@pytest.mark.parametrize("program", SIZES)
def test_emulated(program, tmp_path):
    check_transactions(program, "emulated", tmp_path)


@pytest.mark.sampled(6)
@pytest.mark.skipif("simulated" not in BUILT, reason="no simulated machine in this build")
@pytest.mark.parametrize("program", SIZES)
def test_simulated(program, tmp_path):
    check_transactions(program, "simulated", tmp_path)


def check_transactions(program, machine, tmp_path):
    """Sections commit as transactions, and those that write a file do not."""
    counts = {}
    for files in (0, 1):
        stats = tmp_path / f"stats-{files}.json"
        measure(
            program, machine, str(stats), variant="tsx", threads=3, files=files, **SIZES[program]
        )
        transactions = json.loads(stats.read_text())["transactions"]
        counts[files] = sum(each["commits"] for each in transactions)
        assert counts[files] > 0
    if machine == "simulated" and program in WRITES_FILES:
        assert counts[1] < counts[0]


@pytest.mark.parametrize(
    ("program", "parameters", "message"),
    [
        ("rmstm/apriori", {"variant": "tl2"}, "no variant is called 'tl2'; there are fgl, sgl"),
        ("rmstm/apriori", {"preset": "huge"}, "no preset is called 'huge'; there are"),
        ("rmstm/apriori", {"items": 0}, "--items needs a whole number of at least 1"),
        ("rmstm/scalparc", {"depth": 61}, "--depth needs 1 to 60"),
        ("rmstm/fluidanimate", {"side": 1}, "--side needs 2 to 500"),
        ("rmstm/hmmsearch", {"length": 257}, "--length needs 1 to 256"),
        ("rmstm/hmmpfam", {"memory": "yes"}, "--memory needs a whole number"),
    ],
)
def test_bad_use(program, parameters, message):
    check_refused(run(program, **parameters), message)


@pytest.mark.parametrize("program", SIZES)
def test_help_names_presets(program):
    done = run(program, help="")
    assert done.returncode == 0
    assert "sizes: small, paper or large" in done.stdout
