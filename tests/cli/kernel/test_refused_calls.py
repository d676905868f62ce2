"""A recorded program for which the kernel refuses what looks into processes: the same answers."""

import errno
import json
import platform
import re
import subprocess
import sys

import pytest
from conftest import COMMAND, HERE, run_cli

from syncopate.records.recordfile import Record

# ptrace, process_vm_readv, process_vm_writev, kcmp, pidfd_getfd
NUMBERS = {"x86_64": "101,310,311,312,438", "aarch64": "117,270,271,272,438"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    for name in ("refuse", "every_wait"):
        source = HERE / f"{name}.c"
        options = ["-g", "-O1", "-pthread", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", *options, source, "-o", folder / name], check=True)
    return folder


def told(record, refusing, *command) -> tuple[dict, list[str]]:
    """The acquisitions of every lock, by its name; and the libraries whose build is known."""
    words = [*refusing, *COMMAND, "record", "-q", "-o", record, "--", *command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = json.loads(run_cli("report", "--json", record).stdout)["records"][0]
    maps = Record(str(record)).maps()
    builds = re.findall(r"^build-id \S+ \S+ (\S+)$", maps, re.MULTILINE)
    return {lock["name"]: lock["acquisitions"] for lock in found["locks"]}, sorted(builds)


def test_that_calls_are_refused(programs):
    numbers = NUMBERS[platform.machine()]
    for number in numbers.split(","):
        code = (
            "import ctypes; libc = ctypes.CDLL(None, use_errno=True);"
            f" print(libc.syscall({number}, -1, 0, 0, 0, 0, 0), ctypes.get_errno())"
        )
        words = [programs / "refuse", numbers, sys.executable, "-c", code]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout == f"-1 {errno.EPERM}\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["semaphore_lock", "tryrdlock", "spinlock"])
def test_counts_and_builds_are_as_without(programs, tmp_path, kind):
    command = [programs / "every_wait", kind]
    alone = told(tmp_path / "alone", [], *command)
    refusing = [programs / "refuse", NUMBERS[platform.machine()]]
    counts, builds = told(tmp_path / "refused", refusing, *command)
    assert counts == alone[0] and any(counts.values())
    assert builds == alone[1] and builds
