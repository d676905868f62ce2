"""What the launcher does without the Python command, and what it leaves to that."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import SECONDS
from launcher_support import BUILT, LAUNCHER, NO_METERS, programs_of_all_kinds, start


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    return programs_of_all_kinds(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    """An installation whose Python command only says how it was called."""
    prefix = tmp_path_factory.mktemp("alone")
    for folder in ("bin", "lib", "libexec/syncopate"):
        (prefix / folder).mkdir(parents=True)
    shutil.copy(LAUNCHER, prefix / "bin/syncopate")
    (prefix / "lib/libsyncopate-pthread.so.0").symlink_to(BUILT / "lib/libsyncopate-pthread.so.0")
    stub = prefix / "libexec/syncopate/command"
    stub.write_text("#!/bin/sh\nprintf 'Python %s\\n' \"$@\"\nexit 77\n")
    stub.chmod(0o755)
    return prefix / "bin/syncopate"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "tell"], ["run", "-l", "mcs:spin", "--", "./tell"], ["run", "script"],
        ["run", "--elide=always:htm_10", "of_shell"], ["run", "--guard-log", "log", "tell"],
        ["run", "-v", "--preempted-holders", "through_env"], ["record", "tell"],
        ["record", "-q", "-o", "other.rec", "--lock=ticket", "--redact", "tell"],
        ["record", "-qo", "third.rec", "tell"], ["run", "-vlmcs", "tell"],
    ],
)  # fmt: skip
def test_what_needs_no_python(programs, alone, words):
    done = start(alone, words, {}, programs)
    assert done.returncode == 3 and b"Python" not in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--policy", "p.toml", "tell"], ["run", "--omp", "tell"], ["run", "static"],
        ["run", "-l", "htm_10", "tell"], ["run", "sanitized"], ["list"], [], ["report", "a", "b c"],
        ["record", "--kernel", "tell"], ["record", "-p", "1"], ["run", "-l", "nothing", "tell"],
    ],
)  # fmt: skip
def test_what_does(programs, alone, words):
    done = start(alone, words, {}, programs)
    assert done.returncode == 77
    assert done.stdout.decode() == "".join(f"Python {word}\n" for word in words or [""])


def test_recording_goes_on_without_python(alone, tmp_path):
    """A program that lasts longer than the launcher alone waits keeps its signals and its status,
    also where the Python command cannot start."""
    prefix = tmp_path / "broken"
    shutil.copytree(alone.parent.parent, prefix, symlinks=True)
    (prefix / "libexec/syncopate/command").write_text("#!/nowhere/python\n")
    script = "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [prefix / "bin/syncopate", "record", "-qo", tmp_path / "r.rec", "--", "sh", "-c", script],
        env={**{k: v for k, v in os.environ.items() if k != "SYNCOPATE_NATIVE"}, **NO_METERS},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    assert "does not start; the record may lack" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=SECONDS) == ("caught\n", "")
    assert process.returncode == 9


@pytest.fixture
def wheel(tmp_path) -> Path:
    """As pip leaves it: the Python command beside the launcher, the native parts among packages."""
    packages = tmp_path / "lib/python3.9/site-packages/syncopate"
    packages.mkdir(parents=True)
    (packages / "_native").symlink_to(BUILT)
    (tmp_path / "bin").mkdir()
    shutil.copy(LAUNCHER, tmp_path / "bin/syncopate")
    stub = tmp_path / "bin/syncopate-command"
    stub.write_text("#!/bin/sh\nprintf 'Python %s\\n' \"$@\"\nexit 77\n")
    stub.chmod(0o755)
    return tmp_path


def test_in_a_wheel(programs, wheel):
    command = wheel / "bin/syncopate"
    done = start(command, ["run", "-l", "mcs", "tell"], {}, programs)
    assert done.returncode == 3 and b"Python" not in done.stdout
    preloaded = start(command, ["run", "env"], {}, programs).stdout
    assert b"site-packages/syncopate/_native/lib/libsyncopate-pthread.so.0" in preloaded
    linked = wheel / "linked"  # as pipx does
    linked.symlink_to(command)
    assert start(linked, ["record", "-q", "-o", wheel / "r", "tell"], {}, programs).returncode == 3
    assert start(linked, ["list"], {}, programs).stdout == b"Python list\n"
    (wheel / "lib").rename(wheel / "lib64")
    assert start(command, ["run", "env"], {}, programs).stdout == preloaded.replace(
        b"/lib/python3.9/", b"/lib64/python3.9/"
    )
    (wheel / "lib").symlink_to("lib64")  # as in an environment
    assert start(command, ["run", "env"], {}, programs).stdout == preloaded
    # Of two Pythons, only the command knows which.
    (wheel / "lib/python3.12/dist-packages/syncopate/_native").mkdir(parents=True)
    assert start(command, ["run", "tell"], {}, programs).stdout == b"Python run\nPython tell\n"
    (wheel / "bin/syncopate-command").unlink()
    done = start(command, ["run", "tell"], {}, programs)
    assert done.returncode == 1 and b"install Syncopate again" in done.stderr


@pytest.mark.parametrize(
    "meter",
    ["bus/event_source/devices/power", "class/powercap/intel-rapl:0", "class/powercap/none"],
)
def test_recording_with_meters_is_pythons(programs, alone, tmp_path, meter):
    (tmp_path / meter).mkdir(parents=True)
    words = ["record", "-o", f"{tmp_path}/m.rec", "tell"]
    done = start(alone, words, {"SYNCOPATE_SYSFS": str(tmp_path)}, programs)
    assert done.returncode == (3 if meter.endswith("none") else 77)
