"""Programs on the emulated machine, compiled by `syncopate c++`: the switch of a running one, and
libraries that the machine does not see."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SECONDS = 100


def syncopate(*words: object) -> str:
    """The output of a command, which has to succeed."""
    command = [sys.executable, "-m", "syncopate", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def settings(**values: str) -> dict:
    return os.environ | {f"SYNCOPATE_{key}": value for key, value in values.items()}


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """The programs and the library, compiled."""
    out = tmp_path_factory.mktemp("programs")
    library = out / "libforeign.so"
    foreign = ["gcc", "-O2", "-fPIC", "-shared", HERE / "foreign.c", "-o", library, "-pthread"]
    subprocess.run(foreign, check=True)
    compiler = ("c++", "--machine=emulated", "-std=c++20", "-O2", "-pthread")
    syncopate(*compiler, HERE / "counting.cpp", "-o", out / "counting")
    source = HERE / "calls_foreign.cpp"
    syncopate(*compiler, source, library, f"-Wl,-rpath,{out}", "-o", out / "calls_foreign")
    return out


class Counting:
    """counting.cpp while it runs."""

    def __init__(self, process: subprocess.Popen):
        self.process = process

    def counts(self) -> tuple[int, int]:
        self.process.stdin.write(".")
        self.process.stdin.flush()
        elided, locked = self.process.stdout.readline().split()
        return int(elided), int(locked)

    def elided_among_next(self, sections: int) -> int:
        """How many of at least so many further sections run as transactions."""
        time.sleep(0.2)  # those that had begun before have ended
        before = self.counts()
        for _ in range(1000):
            after = self.counts()
            if sum(after) - sum(before) >= sections:
                return after[0] - before[0]
            time.sleep(0.01)
        raise AssertionError("the program does not get on")

    def switch(self, *mode: str) -> str:
        return syncopate("elide", self.process.pid, *mode)


@pytest.fixture
def counting(folder):
    with subprocess.Popen(
        [folder / "counting"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=settings(ELIDE="auto"),
    ) as process:
        yield Counting(process)
        process.stdin.close()
        process.stdout.read()
        assert process.wait(timeout=SECONDS) == 0


@pytest.mark.long
def test_elision_is_switched_while_the_program_runs(counting):
    assert counting.elided_among_next(400) > 0
    assert counting.switch() == "auto"
    assert counting.switch("off") == "off"
    assert counting.elided_among_next(400) == 0
    assert counting.switch("auto") == "auto"
    assert counting.elided_among_next(400) > 0
    assert counting.switch() == "auto"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("elide", ["always", "off"])
@pytest.mark.parametrize("injection", ["seed=1", "abort_at=30", "spurious=100000"])
def test_a_library_that_is_not_instrumented_keeps_its_locks(folder, elide, injection):
    """An abort in the section of such a library would run its first part twice."""
    done = subprocess.run(
        [folder / "calls_foreign"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env=settings(ELIDE=elide, EMULATED=injection),
    )
    assert done.returncode == 0, done.stderr
    under_mutex, under_rwlock, both, elided = map(int, done.stdout.split())
    assert under_mutex == under_rwlock == 900
    assert both == 1800
    assert (elided > 0) == (elide == "always")
