"""Users compile our headers with clang, warnings as errors: no warning in any that is included."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
ROOMS = ("locks", "wait", "rwlocks", "condition", "barriers")
EACH = (*ROOMS, "machine", "elide", "deques", ".")
COMMAND = ["clang++", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-c"]


def compiled(source: str, tmp_path: Path, *options: str) -> subprocess.CompletedProcess:
    path = tmp_path / "user.cpp"
    path.write_text(source, encoding="utf-8")
    return subprocess.run(
        [*COMMAND, *options, str(path), "-o", str(tmp_path / "user.o")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("room", ROOMS)
def test_no_warning(room: str, tmp_path: Path) -> None:
    headers = sorted((INCLUDE / "syncopate" / room).glob("*.h"))
    assert headers
    lines = [f"#include <{header.relative_to(INCLUDE)}>" for header in headers]
    done = compiled("\n".join([*lines, "int main() { return 0; }", ""]), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    "room",
    [pytest.param(room, marks=[] if room == "machine" else pytest.mark.long) for room in EACH],
)
def test_each_header_by_itself(room: str, tmp_path: Path) -> None:
    """Whichever a user includes first, and without exceptions and run-time types."""
    headers = sorted((INCLUDE / "syncopate" / room).glob("*.h"))
    assert headers
    failed = []
    for header in headers:
        line = f"#include <{header.relative_to(INCLUDE)}>\n"
        done = compiled(line, tmp_path, "-fsyntax-only", "-fno-exceptions", "-fno-rtti")
        failed += [f"{header.name}: {done.stderr}"] if done.returncode else []
    assert not failed, "\n".join(failed)


def test_a_warning_is_seen(tmp_path: Path) -> None:
    done = compiled("class unused { int field_{0}; };\nint main() { return 0; }\n", tmp_path)
    assert "-Wunused-private-field" in done.stderr


@pytest.mark.parametrize(("alignment", "status"), [(16, 0), (32, 1)])
def test_an_action_that_would_lie_askew_is_refused(
    alignment: int, status: int, tmp_path: Path
) -> None:
    action = f"struct alignas({alignment}) action {{ long all[4]; void operator()() {{}} }};"
    body = "int main() { syncopate::elide::on_commit(action{}); }"
    lines = ["#include <syncopate/elide/section.h>", action, body, ""]
    done = compiled("\n".join(lines), tmp_path, "-fsyntax-only")
    assert done.returncode == status, done.stderr
    assert ("capture a pointer to it" in done.stderr) == bool(status)
