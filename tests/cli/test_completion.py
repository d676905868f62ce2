"""Completion files: what the three shells make of them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, run_cli

from syncopate import __main__
from syncopate.base import locktable, paths
from syncopate.commands import commandhelp, completion


def words(shell: str, tmp_path) -> str:
    path = tmp_path / f"completion.{shell}"
    path.write_text(completion.SHELLS[shell](completion.commands()))
    return str(path)


def in_bash(tmp_path, *line: str) -> list[str]:
    """What bash offers for the last word of the line."""
    script = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _syncopate;'
        ' printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = ["bash", "--norc", "-c", script, "bash", words("bash", tmp_path), *line]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr == ""
    return done.stdout.split()


def test_an_installed_command_completes_without_the_source_tree(tmp_path):
    """It asks every command and action for its help, which none may need the tree for."""
    shutil.copytree(ROOT / "syncopate", tmp_path / "syncopate")
    done = subprocess.run(
        [sys.executable, "-Bm", "syncopate", "completion", "fish"], cwd=tmp_path,
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "SYNCOPATE_MACHINES": f"{ROOT}/machines"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == completion.SHELLS["fish"](completion.commands())


def test_bash_completes_commands_options_and_values(tmp_path):
    assert in_bash(tmp_path, "syncopate", "si") == ["simulate"]
    assert in_bash(tmp_path, "syncopate", "run", "--loc") == ["--lock"]
    assert in_bash(tmp_path, "syncopate", "run", "--lock", "tick") == ["ticket"]
    assert "small-2c" in in_bash(tmp_path, "syncopate", "simulate", "--machine", "s")
    assert in_bash(tmp_path, "syncopate", "bench", "co") == ["compare"]
    assert in_bash(tmp_path, "syncopate", "report", "--sort", "p") == ["p99"]


@pytest.fixture(scope="module")
def without_machines(tmp_path_factory) -> Path:
    """An installation without modeled machines and the recorder of the kernel's view."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(ROOT / "syncopate", folder / "syncopate")
    (folder / "share/syncopate").mkdir(parents=True)
    shutil.copy(paths.require(paths.LOCKS), folder / paths.LOCKS)
    (folder / "program.cpp").write_text("int main() {}\n")
    return folder


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("lacks", "words"),
    [
        ("modeled machines", "check ticket"),
        ("modeled machines", "check program.cpp"),
        ("modeled machines", "simulate program.cpp"),
        ("modeled machines", "simulate --machines"),
        ("modeled machines", "simulate --machine haswell-4c8t program.cpp"),
        ("modeled machines", "simulate --from some.rec"),
        ("modeled machines", "advise program.cpp"),
        ("modeled machines", "c++ --machine=emulated program.cpp"),
        ("recorder of the kernel's view", "record --kernel -- /bin/true"),
    ],
)
def test_an_installed_command_says_what_it_lacks(without_machines, lacks, words):
    """Before it asks for what would not help: a compiler, another name, a calibrated machine."""
    done = subprocess.run(
        [sys.executable, "-Bm", "syncopate", *words.split()], cwd=without_machines,
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(without_machines), "PATH": "/nowhere",
             "HOME": "/nowhere", "SYNCOPATE_NATIVE": str(without_machines)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("\n") == 1, done
    assert f"syncopate: this installation has no {lacks}" in done.stderr
    assert re.search("the package syncopate ha|wheels and packages have it", done.stderr)


@pytest.mark.parametrize("command", ["run", "record", "top"])
def test_locks_that_are_completed_are_those_that_are_accepted(tmp_path, command):
    offered = {lock["name"] for lock in locktable.load() if lock["preload"]}
    assert {"auto", "glibc"} < offered < {lock["name"] for lock in locktable.load()}
    assert set(in_bash(tmp_path, "syncopate", command, "--lock", "")) == offered
    assert {locktable.check_choice(name) for name in offered} == offered


@pytest.mark.parametrize(
    "option", ["--wait", "--omp-lock", "--omp-barrier", "--omp-regions", "--omp-tasks"]
)
def test_what_is_completed_of_openmp_is_accepted(tmp_path, option):
    """And all of it that `run` itself names where it refuses another."""
    offered = in_bash(tmp_path, "syncopate", "run", option, "")
    refused = run_cli("run", option, "bogus", "true")
    assert refused.returncode == 2
    assert all(re.search(rf"\b{name}\b", refused.stderr) for name in offered), refused.stderr
    named = re.search(r"there are ([^(]*)|'bogus'[^;]*; (\w+ or \w+)$", refused.stderr.strip())
    assert set(re.findall(r"\w+", (named[1] or named[2]).replace(" or ", " "))) == set(offered)


def test_bash_completes_files_where_files_stand(tmp_path):
    (tmp_path / "lamp.rec").touch()
    assert in_bash(tmp_path, "syncopate", "report", "la") == ["lamp.rec"]
    assert in_bash(tmp_path, "syncopate", "run", "--policy", "la") == ["lamp.rec"]
    assert in_bash(tmp_path, "syncopate", "run", "--", "program", "la") == ["lamp.rec"]


def test_fish_completes(tmp_path):
    if shutil.which("fish") is None:
        pytest.fail("fish is not installed; run scripts/setup.sh test")
    script = f"source {words('fish', tmp_path)}; complete -C 'syncopate run --lock tick'"
    command = ["fish", "--no-config", "-c", script]
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["ticket"]


def test_zsh_reads_its_file(tmp_path):
    if shutil.which("zsh") is None:
        pytest.fail("zsh is not installed; run scripts/setup.sh test")
    path = words("zsh", tmp_path)
    done = subprocess.run(["zsh", "-fn", path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    with open(path, encoding="utf-8") as file:
        assert "'--lock[which lock, and how it waits" in file.read()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", __main__.COMMANDS)
def test_help_pages_say_the_same_everywhere(tmp_path, command):
    """Packages have manual pages and completions that were made of them on another machine."""
    own = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    page = run_cli(command, "--help", environ=own).stdout
    assert page.startswith("usage: ")
    for place in (str(tmp_path), str(ROOT), os.path.expanduser("~/")):
        assert place not in page


def test_help_pages_are_understood():
    text = (
        "usage: x\n\n  -l, --lock NAME[:WAIT]  which lock\n      --mode {a,b}\n"
        "                        how\n  -f                      flag\n"
    )
    listed = commandhelp.options(text)
    assert [(each.names, each.takes, each.text) for each in listed] == [
        (["-l", "--lock"], "NAME[:WAIT]", "which lock"),
        (["--mode"], "{a,b}", "how"),
        (["-f"], "", "flag"),
    ]
