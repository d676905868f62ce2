"""Sizes by name: each program of papers/workloads/ that is built here has small, paper and large,
as its --help shows them, and takes them; what the command line gives counts more."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads"
NAMES = ("small", "paper", "large")
# What says how much they do; --help says so.
WITHOUT = {"replay": "trace", "gil_replay": "trace", "netstack/netserve": "clients"}
# What else makes one a run to its end, with a line of JSON.
WORDS = {"epcc": ["--time", "100", "BARRIER"], "stamp": ["--json"]}


def programs() -> list[str]:
    """All for this machine, in each of their builds."""
    files = [path for path in BUILD.rglob("*") if path.is_file() and os.access(path, os.X_OK)]
    names = [str(path.relative_to(BUILD)) for path in files]
    other = re.compile(r"CMakeFiles/|\.(simulated|emulated|so|cmake|py)$|(^|/)test_")
    return sorted(name for name in names if not other.search(name))


PROGRAMS = programs()
SIZED = [name for name in PROGRAMS if name not in WITHOUT]
# One of each folder: the others there read their command lines by the same code.
FIRST = {name.partition("/")[0]: name for name in reversed(SIZED)}.values()


def run(program: str, *words: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [BUILD / program, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def sizes_of(program: str) -> dict[str, dict[str, str]]:
    """What --help shows: each preset's numbers, by the options that give them."""
    done = run(program, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    (table,) = re.findall(r"^  sizes +(.*\n(?:  \S.*\n)+)", done.stdout, re.MULTILINE)
    columns, *rows = (line.split() for line in table.splitlines())
    # The first row may have nothing: a server's.
    return {row[0]: dict(zip(columns, row[1:], strict=len(row) > 1)) for row in rows}


def measured(program: str, *words: object) -> dict:
    """The last line that a run prints, of which its own check holds."""
    done = run(program, *words, *WORDS.get(program.partition("/")[0], []))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result.get("consistent", True) is True
    return result


def test_all_programs_are_looked_at():
    assert len(SIZED) > 30
    assert set(WITHOUT) < set(PROGRAMS)


@pytest.mark.parametrize("program", SIZED)
def test_the_sizes_differ(program):
    sizes = sizes_of(program)
    high = "high-" if "high-small" in sizes else ""  # of those that have two contentions
    rows = [tuple(sizes[high + name].items()) for name in NAMES]
    assert len(set(rows)) == 3 and all(rows)


@pytest.mark.long
@pytest.mark.parametrize("program", SIZED)
def test_small_runs(program):
    measured(program, "--preset", "small")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "program",
    [pytest.param(name, marks=[] if name in FIRST else [pytest.mark.long]) for name in SIZED],
)
def test_what_the_command_line_gives_counts_more(program):
    """All numbers of the least size, around another one's name."""
    sizes = sizes_of(program)
    rows = {name: row for name, row in sizes.items() if row}
    least = next((name for name in rows if "tiny" in name), next(iter(rows)))
    numbers = rows[least]
    words = [word for name, value in numbers.items() for word in (f"--{name}", value)]
    given = measured(program, *words[:2], "--preset", "large", *words[2:])
    named = measured(program, "--preset", least)
    if "microseconds" in numbers:
        assert given["seconds"] < 2, "the large one takes five"
        return
    # Operations last: those of some depend on the order in which threads come.
    members = ("results", "requests", "size", "samples", "operations")
    told = next(member for member in members if member in named)
    assert given[told] == named[told]


@pytest.mark.parametrize("program", SIZED)
def test_an_unknown_preset_is_one_line(program):
    for words in (["--preset", "nosuch"], ["--preset", ""]):
        done = run(program, *words)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert f"no preset is called '{words[1]}'; there are " in line
        assert all(re.search(rf"\b{name}\b", line) for name in NAMES)


@pytest.mark.parametrize("program", WITHOUT)
def test_those_without_sizes_say_so(program):
    done = run(program, "--help")
    assert "it has no --preset" in " ".join(done.stdout.split())
    assert re.search(rf"[Tt]he {WITHOUT[program]} is its size|what {WITHOUT[program]} ask for",
                     " ".join(done.stdout.split()))  # fmt: skip
    done = run(program, "--preset", "small")
    assert done.returncode == 2 and "there is no option '--preset'" in done.stderr
