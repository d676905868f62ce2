"""Where an output cannot be written, every command says so in a line that names it, returns neither
0 nor a traceback, and leaves nothing half-written. outputs.py has the commands."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import stat
import subprocess
import threading
from pathlib import Path

import pytest
from conftest import NATIVE, run
from outputs import NOT_WRITTEN, PRINTED, PROGRAMS, WRITTEN, Written

from syncopate.__main__ import ALSO, COMMANDS
from syncopate.bench.command import ACTIONS
from syncopate.commands import commandhelp

HIDDEN = {"go-on-recording"}  # which is no user's
CLOSED = ["sh", "-c", 'exec "$@" >&-', "sh"]
# A small disk on the folder, full but for the name of a file; else, where nobody may mount, files
# that may not grow. What is there at the end is told on standard error.
FULL = """
if mount -t tmpfs -o size=4k none "$0" 2>/dev/null; then
  head -c 4096 /dev/zero >"$0/ballast"
else
  trap '' XFSZ
  ulimit -f 0
fi
"$@"
status=$?
echo left: $(ls -A "$0" | grep -v ballast) >&2
exit $status
"""
WITHOUT_RIGHTS = ["--bounding-set", "-dac_override,-dac_read_search",
                  "--inh-caps", "-dac_override,-dac_read_search"]  # fmt: skip


def words(text: str, **places) -> list[str]:
    return [word.format(**places) for word in shlex.split(text)]


def complains(done: subprocess.CompletedProcess, what: str) -> None:
    said = done.stderr.decode()
    assert done.returncode in (1, 2), said
    assert "Traceback" not in said
    assert [line for line in said.splitlines() if line.startswith("syncopate: ") and what in line]


# ---- what is printed ----------------------------------------------------------------------------


@pytest.mark.sampled(12)
@pytest.mark.parametrize("text", PRINTED)
def test_standard_output_that_takes_nothing(files, tmp_path, text):
    with open("/dev/full", "wb") as full:
        complains(run(words(text, files=files), tmp_path, stdout=full), "cannot write the output")
    done = run(words(text, files=files), tmp_path, CLOSED)
    complains(done, "cannot write the output: Bad file descriptor")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", PRINTED)
def test_standard_output_that_nobody_reads(files, tmp_path, text):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run(words(text, files=files), tmp_path, stdout=writing)
    finally:
        os.close(writing)
    assert done.returncode == 141, done.stderr
    assert b"Traceback" not in done.stderr and b"cannot write" not in done.stderr


# ---- what is written ----------------------------------------------------------------------------


def full(folder: Path, name: str) -> list[str]:
    as_root = [] if os.geteuid() == 0 else ["-r"]
    possible = subprocess.run(["unshare", *as_root, "-m", "true"], capture_output=True, check=False)
    apart = ["unshare", *as_root, "-m"] if possible.returncode == 0 else []
    return [*apart, "sh", "-c", FULL, str(folder)]


def in_the_way(folder: Path, name: str) -> None:
    (folder / name).mkdir()


def a_file_in_the_way(folder: Path, name: str) -> None:
    (folder / name).write_text("it was there before\n")


def dangling(folder: Path, name: str) -> None:
    (folder / name).symlink_to(folder / "target")


def not_allowed(folder: Path, name: str) -> list[str]:
    folder.chmod(0o555)
    return ["setpriv", *WITHOUT_RIGHTS] if os.geteuid() == 0 else []


FAILURES = {"full": full, "in the way": in_the_way, "dangling": dangling, "rights": not_allowed}


# A link in an older record's place is moved aside as that is: no failure.
MOVED = ("record --output", "dangling")


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("option", "way"), [pair for pair in itertools.product(WRITTEN, FAILURES) if pair != MOVED]
)
def test_file_that_cannot_be_written(files, tmp_path, option, way):
    row: Written = WRITTEN[option]
    folder = tmp_path / "place"
    folder.mkdir()
    make = a_file_in_the_way if way == "in the way" and row.is_folder else FAILURES[way]
    before = make(folder, row.name) or []
    there = sorted(os.listdir(folder))
    try:
        done = run(words(row.words, files=files, out=folder / row.name), tmp_path, before)
    finally:
        folder.chmod(0o755)
    complains(done, str(folder / row.name))
    assert sorted(os.listdir(folder)) == there
    left = re.findall(rb"^left: *(.*)$", done.stderr, re.M)
    assert left in ([], [b""]) or (row.is_folder and left == [row.name.encode()])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("option", [name for name, row in WRITTEN.items() if not row.is_folder])
def test_pipe(files, tmp_path, option):
    """It stays one, with the rights that it has, and its reader gets all; or it is refused."""
    row = WRITTEN[option]
    pipe = tmp_path / row.name
    os.mkfifo(pipe, 0o640)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    done = run(words(row.words, files=files, out=pipe), tmp_path)
    if not got and reader.is_alive():  # nobody has written
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    reader.join(60)
    found = os.lstat(pipe)
    assert stat.S_ISFIFO(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o640
    if row.pipe:
        assert done.returncode == 0, done.stderr
        assert len(got[0]) > 4
    elif option != "tune --output":  # which has found nothing better
        assert b"".join(got) == b"" or done.returncode == 0


def test_a_file_keeps_its_rights_and_what_it_was_where_the_new_one_fails(files, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("older\n")
    page.chmod(0o600)
    before = full(tmp_path, page.name)
    wanted = words("report {files}/before.rec --html {out}", files=files, out=page)
    complains(run(wanted, tmp_path.parent, before), str(page))
    assert page.read_text() == "older\n"
    assert run(wanted, tmp_path).returncode == 0
    assert page.read_text().startswith("<!") and stat.S_IMODE(page.stat().st_mode) == 0o600


# ---- the products' programs ---------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("what", ["list", "options", "probe", "calibrate", "--help", "--version"])
def test_the_native_tool(what):
    command = [
        NATIVE / "bin/syncopate-native",
        *([what, "0.01"] if what == "calibrate" else [what]),
    ]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr[:30]) == (1, b"syncopate-native: cannot write"), what
    done = subprocess.run([*CLOSED, *command], stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr[:30]) == (1, b"syncopate-native: cannot write"), what


def test_the_tool_of_names_ends():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [NATIVE / "bin/syncopate-names"], input=b"h\0", stdout=full, check=False
        )
    assert done.returncode == 1


# ---- the reports that programs of the machines write by themselves ------------------------------


@pytest.mark.parametrize(
    "variable", ["SYNCOPATE_STATS", "SYNCOPATE_TIMELINE", "SYNCOPATE_SECTIONS"]
)
@pytest.mark.parametrize("way", FAILURES)
def test_reports_of_simulated_programs(files, tmp_path, variable, way):
    reports_of_program(files / "simulated", tmp_path, variable, way)


@pytest.mark.parametrize("way", FAILURES)
@pytest.mark.parametrize("variable", ["SYNCOPATE_STATS", "SYNCOPATE_SITES"])
def test_reports_of_explored_programs(files, tmp_path, variable, way):
    reports_of_program(files / "explored", tmp_path, variable, way)


def reports_of_program(program: Path, tmp_path: Path, variable: str, way: str) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    before = FAILURES[way](folder, "out.json") or []
    try:
        done = subprocess.run(
            [*before, program],
            env={**os.environ, variable: str(folder / "out.json")},
            capture_output=True,
            check=False,
        )
    finally:
        folder.chmod(0o755)
    complains(done, str(folder / "out.json"))
    assert not (folder / "target").exists()
    empty = [b"out.json"] if variable == "SYNCOPATE_SECTIONS" else [b""]  # that the program began
    assert re.findall(rb"^left: *(.*)$", done.stderr, re.M) in ([], [b""], empty)


# ---- nobody is forgotten ------------------------------------------------------------------------


def every_command() -> set[str]:
    plain = {*COMMANDS, *ALSO} - HIDDEN - {"bench"}
    return plain | {f"bench {action}" for action in ACTIONS}


def test_every_command_is_in_the_table():
    rows = [*PRINTED, *(row.words for row in WRITTEN.values())]
    missing = {
        command
        for command in every_command()
        if not any(f"{row} ".startswith(f"{command} ") for row in rows)
    }
    assert missing == set()


def test_every_option_that_names_a_file_is_in_the_table():
    tried = {name.partition(" (")[0] for name in WRITTEN}
    found = set()
    for command in every_command():
        for option in commandhelp.options(commandhelp.page(command.split())):
            if re.search(r"FILE|FOLDER|PICTURE|\bDIR\b|RECORD", option.takes):
                found.add(f"{command} {option.names[-1]}")
    assert found - tried - NOT_WRITTEN.keys() == set()
    assert NOT_WRITTEN.keys() - found == set()
    assert {name for name in tried if "--from --" not in name} - found == set()


def test_every_program_is_in_the_table():
    there = {
        each.name for folder in ("bin", "libexec/syncopate") for each in (NATIVE / folder).iterdir()
    }
    assert there - PROGRAMS.keys() == set()
