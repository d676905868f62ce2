"""Runs a real program under the preload library with a given lock; the tests check its output."""

import functools
import json
import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from syncopate.base import preloading

ROOT = Path(__file__).resolve().parent.parent.parent
PREFIX = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build")
LIBRARY = PREFIX / "lib" / "libsyncopate-pthread.so.0"
LOCK_TABLE = PREFIX / "share" / "syncopate" / "locks.json"
PASS_THROUGH = "glibc"
ELIDED = "auto+elide"  # where transactions do not commit, this is auto
WITHOUT_TABLE = ["auto", "futex", "tatas", "ticket:park", "mcs:park", "clh:park"]


def _many_threads_choice(lock):
    """Returns how SYNCOPATE_LOCK names `lock` in a way that survives oversubscription, or None.

    A FIFO lock whose waiters spin stands still when the next in line has no processor, so it is
    only run with a parking wait.
    """
    collapses = lock.get("collapses_when_oversubscribed", [])
    if not lock.get("preload") or not lock.get("excludes", True):
        return None
    if lock["default_wait"] not in collapses:
        return lock["name"]
    fit = [wait for wait in lock["waits"] if wait not in collapses]
    best = "park" if "park" in fit else (fit or [None])[0]
    return f"{lock['name']}:{best}" if best else None


def lock_choices():
    """Returns every value of SYNCOPATE_LOCK that must run every program, `auto` first."""
    if not LOCK_TABLE.is_file():
        return [*WITHOUT_TABLE, PASS_THROUGH]
    found = map(_many_threads_choice, json.loads(LOCK_TABLE.read_text(encoding="utf-8")))
    choices = [choice for choice in found if choice not in (None, "auto", PASS_THROUGH)]
    return ["auto", *choices, PASS_THROUGH]


def under_every_lock(quick=False, elided=False):
    """Parametrizes a test by lock; `elided`: by ELIDED, too. Unless `quick`, all but `auto` and
    ELIDED are long."""
    short = ["auto", *[ELIDED] * elided]
    choices = [*short, *(choice for choice in lock_choices() if choice not in short)]
    parameters = [
        pytest.param(choice, marks=[] if quick or choice in short else [pytest.mark.long])
        for choice in choices
    ]
    return pytest.mark.parametrize("lock", parameters)


def environment(lock):
    """Returns the environment that runs a program under `lock`."""
    if not LIBRARY.is_file():
        pytest.fail(f"no {LIBRARY}; build it with `make`")
    name, _, elide = lock.partition("+")
    ours = {"LD_PRELOAD": str(LIBRARY), "SYNCOPATE_LOCK": name}
    if elide:
        ours["SYNCOPATE_ELIDE"] = "always"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("SYNCOPATE")}
    return preloading.changed(inherited, ours)


def installed(program, package):
    """Returns the path of a program; fails with its Debian package when it is missing."""
    path = shutil.which(program)
    if path is None:
        pytest.fail(f"{program} is not installed: apt-get install {package}")
    return path


@functools.lru_cache
def _described(lock):
    name, _, elide = lock.partition("+")
    always = " SYNCOPATE_ELIDE=always" if elide else ""
    return f"LD_PRELOAD={LIBRARY} SYNCOPATE_LOCK={name}{always}"


def run(lock, command, stdin=b"", timeout=60.0, status=0):
    """Runs `command` under `lock` (None: without the library); returns its standard output.

    Fails when the exit status is not `status` or the program hangs, naming a line to replay it.
    """
    command = [str(word) for word in command]
    replay = f"{_described(lock) if lock else ''} {shlex.join(command)}".strip()
    process = subprocess.Popen(
        command,
        env=environment(lock) if lock else None,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs: not done after {timeout:.0f} s: {replay}")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    errors = errors.decode(errors="replace")
    if process.returncode != status:
        pytest.fail(f"exit status {process.returncode}: {replay}\n{errors[-2000:]}")
    assert "cannot be preloaded" not in errors, errors
    return output
