"""Every program of papers/workloads/ at size small, in every variant: in a build with sanitizers,
what they find is a failure. How long each takes is bench/every_program.py's to say, not this
test's."""

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from syncopate.base import compactjson
from syncopate.bench.suitetable import SUITES

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "every_program.py"
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

    assert "no suite of papers/workloads/ is called 'nosuch'; there are array, " in said(
        "--suite", "nosuch"
    )
    assert "nothing was run" in said("--suite", "cache", "--build", tmp_path)


def test_what_is_missing_runs_within_a_time(tmp_path):
    """One program is in the file already; of the others, none gets any time."""
    file = tmp_path / "runs.json"
    fields = {"suite": "array", "program": "low-small", "variant": "tatas", "error": ""}
    fields |= {"seconds": 1.0, "processor_seconds": 1.0}
    file.write_text(json.dumps({"measured": {"date": "another"}, "runs": [fields]}))
    words = ["--suite", "array", "--size", "tiny", "--first", "--json", file, "--missing"]
    words += ["--build", BUILD]
    runs = [sys.executable, SCRIPT, *words, "--jobs", "2"]
    done = subprocess.run([*runs, "--within", "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "within 0 s" in done.stderr, done.stderr
    done = subprocess.run(runs, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = compactjson.read(file.read_text())
    kept = document["runs"]
    assert kept[0] == fields, "as it was"
    assert document["measured"] == {"date": "another"} and len(document["others"]) == 1
    assert {run["measured"] for run in kept[1:]} == {0}
    assert {run["program"] for run in kept} == set(SUITES["array"].programs)
    done = subprocess.run(runs, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nothing is missing" in done.stdout, done.stderr


# ---- what each program says of itself ----


def told() -> dict[str, tuple[set[str], set[str]]]:
    """The programs that suites run: the options that these give each, and its sizes by name."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for suite in SUITES.values():
        for program in suite.programs.values():
            if not program.path.startswith("papers/workloads/"):
                continue
            options, sizes = found.setdefault(program.path, (set(), set()))
            for size, words in suite.sizes.items():
                given = [word.replace("{size}", size) for word in (*program.words, *words)]
                pairs = itertools.pairwise(given)
                sizes.update(value for name, value in pairs if name == "--preset")
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


# ---- what the build makes is what `bench run` offers ----

NOT_OFFERED = {  # and what runs them
    "papers/workloads/replay": "syncopate simulate --from",
    "papers/workloads/gil_replay": "bench/gil_replay.py",
    "papers/workloads/shrinking_writes": "papers/figures/ruby_gil_fig6_writes.py",
    "papers/workloads/netstack/netserve": "a user, with curl",
}
CHOICES = ("--variant", "--mode", "--locking")


def built() -> set[str]:
    """The programs of papers/workloads/ for this machine and for modeled ones, without
    .simulated."""
    files = [each for each in (Path(BUILD) / "papers/workloads").rglob("*") if each.is_file()]
    names = [str(each.relative_to(BUILD)) for each in files if os.access(each, os.X_OK)]
    other = re.compile(r"CMakeFiles/|\.(emulated|so|cmake|py)$|/test_")
    found = {name.removesuffix(".simulated") for name in names if not other.search(name)}
    return found - {"papers/workloads/lua"}  # launch.py: lua-mt is not the build's


def offered() -> set[str]:
    """The programs of papers/workloads/ that some variant of a suite runs."""
    found = set()
    for suite in SUITES.values():
        for variant in (*suite.variants.values(), *suite.families.values()):
            for build in filter(None, (variant.program, variant.modeled)):
                found |= {build.replace("{program}", each.path) for each in suite.programs.values()}
    return {path for path in found if path.startswith("papers/workloads/")}


def test_every_program_of_the_build_is_offered():
    assert built() - offered() == set(NOT_OFFERED)


def test_every_program_that_is_offered_is_built():
    """But where a compiler or a sanitizer cannot make it."""
    missing = offered() - built()
    if not (Path(BUILD) / "papers/workloads/stamp/bayes.tm").exists():
        missing = {each for each in missing if not re.search(r"\.tm$|\.(ip|it)-", each)}
    assert missing <= {"papers/workloads/epcc/epcc_clang"}


def names_in_help(text: str, option: str) -> set[str]:
    """The names that the option's line has, before what explains them."""
    (line,) = re.findall(rf"^  {option} +(.*) \(default: ", text, re.MULTILINE)
    line = re.sub(r"\([^)]*\)|^of the stack: ", "", line)
    parts = [part.partition(":")[0] for part in line.split(";")] if ";" in line else [line]
    return {name.strip() for part in parts for name in re.split(r", | or ", part)}


@pytest.mark.parametrize("path", TOLD)
def test_every_variant_of_a_program_is_offered(path):
    shown = run(path, "--help").stdout
    for option in CHOICES:
        if not re.search(rf"^  {option} ", shown, re.MULTILINE):
            continue
        known = {
            value
            for suite in SUITES.values()
            if path in {program.path for program in suite.programs.values()}
            for variant in suite.variants.values()
            for name, value in itertools.pairwise(variant.words)
            if name == option
        }
        assert names_in_help(shown, option) <= known


@pytest.mark.parametrize("path", TOLD)
def test_what_is_not_known_is_one_line(path):
    for words in (["--nosuch", "1"], ["--preset", "nosuch"]):
        done = run(path, *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert len(done.stderr.splitlines()) == 1 and "nosuch" in done.stderr
