"""Every program of workloads/ at size small, in every variant: in a build with sanitizers, what
they find is a failure. How long each takes is bench/every_program.py's to say, not this test's."""

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from syncopate.bench.suitetable import SUITES

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


def test_what_is_missing_runs_within_a_time(tmp_path):
    """One program is in the file already; of the others, none gets any time."""
    file = tmp_path / "runs.json"
    fields = {"suite": "array", "program": "low-small", "variant": "tatas", "error": ""}
    fields |= {"seconds": 1.0, "processor_seconds": 1.0}
    file.write_text(json.dumps({"measured": {}, "runs": [fields]}))
    words = ["--suite", "array", "--size", "tiny", "--first", "--json", file, "--missing"]
    words += ["--build", BUILD]
    runs = [sys.executable, SCRIPT, *words, "--jobs", "2"]
    done = subprocess.run([*runs, "--within", "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "within 0 s" in done.stderr, done.stderr
    done = subprocess.run(runs, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kept = json.loads(file.read_text())["runs"]
    assert kept[0] == fields, "as it was"
    assert {run["program"] for run in kept} == set(SUITES["array"].programs)
    done = subprocess.run(runs, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nothing is missing" in done.stdout, done.stderr


# ---- what each program says of itself ----


def told() -> dict[str, tuple[set[str], set[str]]]:
    """The programs that suites run: the options that these give each, and its sizes by name."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for suite in SUITES.values():
        for program in suite.programs.values():
            if not program.path.startswith("workloads/"):
                continue
            options, sizes = found.setdefault(program.path, (set(), set()))
            for size, words in suite.sizes.items():
                given = [word.replace("{size}", size) for word in (*program.words, *words)]
                pairs = itertools.pairwise(given)
                sizes.update(value for name, value in pairs if name in ("--preset", "--size"))
                options.update(word for word in given if word.startswith("--"))
            for variant in suite.variants.values():
                if variant.program == "{program}":
                    options.update(word for word in variant.words if word.startswith("--"))
            options.update(word for word in suite.words if word.startswith("--"))
    return found


TOLD = told()


def run(path: str, *words: str) -> subprocess.CompletedProcess:
    program = Path(BUILD) / path
    assert program.exists(), f"{path} is not built"
    return subprocess.run(
        [program, *words], capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("path", TOLD)
def test_help_names_every_option_and_size(path):
    done = run(path, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    options, sizes = TOLD[path]
    missing = [name for name in (*options, *sizes) if not re.search(rf"{name}\b", done.stdout)]
    assert not missing


@pytest.mark.parametrize("path", TOLD)
def test_what_is_not_known_is_one_line(path):
    for words in (["--nosuch", "1"], *([name, "nosuch"] for name in ("--preset", "--size"))):
        if words[0] != "--nosuch" and words[0] not in TOLD[path][0]:
            continue
        done = run(path, *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert len(done.stderr.splitlines()) == 1 and "nosuch" in done.stderr
