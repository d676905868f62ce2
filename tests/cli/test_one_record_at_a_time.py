"""Two `syncopate record`s that would write one file: the second says so, and begins nothing."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND, SECONDS
from kernel_support import WHY_NOT, needs_kernel
from launcher_support import LAUNCHER

from syncopate.records.recordfile import Record

WAYS = {
    "launcher": [LAUNCHER, "record"],
    "python": [*COMMAND, "record"],
    "kernel": [*COMMAND, "record", "--kernel"],
}
WAYS = {name: words for name, words in WAYS.items() if name != "kernel" or not WHY_NOT}


def begin(words, record, *, until="there") -> subprocess.Popen:
    """A recording of a program that runs until its input ends; `until` it runs, and at will until
    the Python command looks after it."""
    first = subprocess.Popen(
        [*words, "-q", "-o", record, "--", "sh", "-c", "echo there; read ends"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert first.stdout.readline() == "there\n"
    ends = time.monotonic() + SECONDS
    while until == "python" and "python" not in os.readlink(f"/proc/{first.pid}/exe"):
        assert time.monotonic() < ends
        time.sleep(0.05)
    return first


def record_again(words, record, program=("--", "touch", "began"), **others):
    command = [*words, "-q", "-o", record, *program]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, **others)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("until", ["there", "python"])
@pytest.mark.parametrize("way", WAYS)
def test_a_second_one_is_refused_until_the_first_has_ended(tmp_path, way, until):
    (tmp_path / "link").symlink_to(tmp_path)
    first = begin(WAYS[way], tmp_path / "rec", until=until)
    for words, place in zip(WAYS.values(), ("./rec", tmp_path / "link/rec", "rec"), strict=False):
        second = record_again(words, place, cwd=tmp_path)
        said = f"another `syncopate record` writes {place}; name another file with -o FILE"
        assert (second.returncode, second.stderr) == (1, f"syncopate: {said}\n")
    assert not (tmp_path / "began").exists()
    assert record_again(WAYS[way], "other", cwd=tmp_path).returncode == 0
    first.communicate("\n", timeout=SECONDS)
    assert first.returncode == 0
    assert Record(str(tmp_path / "rec")).header.command[0].endswith("sh")
    assert not list(tmp_path.glob("*.old"))
    assert record_again(WAYS[way], "rec", cwd=tmp_path).returncode == 0
    assert Record(str(tmp_path / "rec.old")).header.command[0].endswith("sh")


@needs_kernel
def test_a_running_process_is_not_recorded_into_a_file_that_is_written(tmp_path):
    first = begin(WAYS["launcher"], tmp_path / "rec")
    running = [*COMMAND, "record", "-p", str(os.getpid()), "--for", "10ms"]
    second = record_again(running, "rec", (), cwd=tmp_path)
    said = "another `syncopate record` writes rec; name another file with -o FILE"
    assert (second.returncode, second.stderr) == (1, f"syncopate: {said}\n")
    first.communicate("\n", timeout=SECONDS)
    assert Record(str(tmp_path / "rec")).header.command[0].endswith("sh")


@pytest.mark.parametrize("way", [way for way in WAYS if way != "kernel"])
def test_what_was_killed_keeps_no_file(tmp_path, way):
    first = begin(WAYS[way], tmp_path / "rec")
    first.send_signal(signal.SIGKILL)
    first.wait(SECONDS)
    assert record_again(WAYS[way], tmp_path / "rec", ("--", "true")).returncode == 0
    first.stdin.close()  # ends the program


def test_many_at_once_into_the_file_that_is_named_when_none_is(tmp_path):
    """As the tests of a project do: one of them is recorded, and its record is whole."""
    command = [LAUNCHER, "record", "--", "sh", "-c", "echo $$; read ends"]
    many = [
        subprocess.Popen(
            command, cwd=tmp_path, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(8)
    ]  # fmt: skip
    said = [each.stdout.readline() for each in many]
    (recorded,) = [int(line) for line in said if line]
    for each in many:
        each.communicate("\n", timeout=SECONDS)
    assert sorted(each.returncode for each in many) == [0] + [1] * 7
    assert Record(str(tmp_path / "syncopate.rec")).header.process_id == recorded
    assert [path.name for path in Path(tmp_path).iterdir()] == ["syncopate.rec"]
