"""What tests of programs in other languages share."""

import json
import re
from pathlib import Path

import pytest
from conftest import HERE, run_cli
from kernel_support import needs_kernel

KNOWN = HERE / "known"
PYTHON = "/usr/bin/python3"
LIBRARY, KERNEL = [], ["--kernel"]
both = pytest.mark.parametrize(
    "how",
    [pytest.param(LIBRARY, id="library"), pytest.param(KERNEL, id="kernel", marks=needs_kernel)],
)


VMS = pytest.mark.parametrize("newer", [False, True])


def newer_java() -> Path | None:
    """A Java that has virtual threads."""
    for release in sorted(Path("/usr/lib/jvm").glob("*/release")):
        version = re.search(r'JAVA_VERSION="(\d+)', release.read_text())
        if version and int(version[1]) >= 21 and (release.parent / "bin/javac").exists():
            return release.parent / "bin/java"
    return None


def a_java(newer: bool) -> Path:
    found = newer_java() if newer else Path("java")
    if found is None:
        pytest.skip("no Java 21 or later in /usr/lib/jvm")
    return found


def recorded(command: list, record, how: list) -> tuple[dict, str]:
    """What the report says of a program, and what that printed."""
    done = run_cli("record", *how, "-q", "-o", record, "--", *command)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(run_cli("report", "--json", record).stdout)["records"][0], done.stdout


def adds_up(found: dict) -> bool:
    """Whether the account is of all thread time, and no more than 5 % of it has no name."""
    account = found["account"]
    total = account["total_ns"]
    unexplained = account["parts"].get("unexplained", 0)
    whole = sum(account["parts"].values())
    return whole == pytest.approx(total + account["too_much_ns"], rel=0.02) and (
        unexplained < 0.05 * total
    )
