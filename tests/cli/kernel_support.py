"""What tests of the kernel's view share."""

import json
import subprocess

import pytest
from conftest import HERE, run_cli

from syncopate.base.errors import Failure
from syncopate.launch import kernelview
from syncopate.records import openwaits
from syncopate.records.recordfile import Record

WHY_NOT = kernelview.obstacle()


needs_kernel = pytest.mark.skipif(WHY_NOT is not None, reason=f"no kernel's view here: {WHY_NOT}")


def programs_in(folder):
    """kernel_waits.c, compiled in several ways."""
    ways = {"O0": ["-O0"], "O2": ["-O2", "-fomit-frame-pointer"], "static": ["-O1", "-static"]}
    for name, options in ways.items():
        subprocess.run(
            ["gcc", "-g", "-Wall", "-Wextra", "-pthread", *options,
             HERE / "kernel_waits.c", "-o", folder / name], check=True
        )  # fmt: skip
    return folder


def recorded(command: list, record) -> tuple[dict, str]:
    """What the report says of a program, and what that printed."""
    done = run_cli("record", "--kernel", "-q", "-o", record, "--", *command)
    assert (done.returncode, done.stderr) == (0, "")
    told = run_cli("report", "--json", record)
    assert (told.returncode, told.stderr) == (0, "")
    return json.loads(told.stdout)["records"][0], done.stdout


def functions(stacks: list[dict]) -> list[str]:
    return [frame["function"] for frame in stacks[0]["frames"]] if stacks else []


def recorded_waits(path) -> int:
    """How often threads have waited for mutexes by what is in a record."""
    try:
        return sum(row.waits for row in Record(str(path)).rows() if row.kind == 1)
    except Failure:
        return 0


def command_of(process: int) -> str:
    with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
        return file.read()


def is_in_deadlock(path) -> bool:
    try:
        waits = openwaits.waiting(Record(str(path)))
    except Failure:
        return False
    held = [holder for each in waits.values() for holder in each.holders]
    return len(held) == 2 and all(holder.certain for holder in held)
