"""A command that is told to end, and alone is told, leaves no file and no process behind."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND

ENDLESS = "int main(void) { for (volatile int turn = 0;; turn = turn + 1) {} }\n"
LARGE = """
#include <atomic>
#include <thread>
std::atomic<int> word;
void turn() { for (int i = 0; i < 40; ++i) word += i; }
int main() { std::thread one(turn), two(turn), three(turn); one.join(); two.join(); three.join(); }
"""
SLOW = "#!/bin/sh\nsleep 300 &\nwait\n"  # a compiler, as its driver is: it has a child
SECONDS = 60  # a tenth of it on a machine that does nothing else

COMMANDS = {
    "simulated": ["simulate", "{}/endless.c"],
    "sweep": ["simulate", "--sweep", "N=1,2", "--jobs", "2", "{}/endless.c"],
    "explored": ["check", "{}/large.cpp"],
    "shipped": ["check", "all"],
    "json": ["check", "--json", "{}/large.cpp"],
    "advised": ["advise", "{}/endless.c"],
    "compiling": ["simulate", "--compiler", "{}/slow", "{}/endless.c"],
    "measured": ["bench", "regret", "--locks", "glibc,auto", "--seconds", "30", "--rounds", "1"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ending")
    (folder / "endless.c").write_text(ENDLESS)
    (folder / "large.cpp").write_text(LARGE)
    (folder / "slow").write_text(SLOW)
    (folder / "slow").chmod(0o755)
    return folder


def of_environment(text: str) -> set[int]:
    """The processes that have a text in their environment."""
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and text.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
        except OSError:
            pass
    return found


def waited(condition, what: str) -> None:
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.02)


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_left_behind(files, tmp_path, name):
    ends_clean(files, tmp_path, name, signal.SIGTERM)


def test_nor_where_the_terminal_is_closed(files, tmp_path):
    ends_clean(files, tmp_path, "sweep", signal.SIGHUP)


def ends_clean(files: Path, tmp_path: Path, name: str, number: int) -> None:
    words = [word.format(files) for word in COMMANDS[name]]
    place = tmp_path / "temporary"
    place.mkdir()
    process = subprocess.Popen(
        [*COMMAND, *words],
        env={**os.environ, "TMPDIR": str(place)},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    mark = f"TMPDIR={place}"
    try:
        waited(lambda: of_environment(mark) - {process.pid}, "it starts something")
        time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
        waited(lambda: not of_environment(mark), "all processes end")
        assert os.listdir(place) == []
        assert os.listdir(tmp_path) == ["temporary"]
    finally:
        for each in of_environment(mark):
            os.kill(each, signal.SIGKILL)
        process.wait()
