"""The same programs compiled by clang: what they print is as exact, and mostly the same.

NAME.clang.txt stands beside NAME.expected.txt where it is not: another order of accesses, another
layout of the stack, other addresses of code in messages.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
QUICK = ("deadlock",)


def environment_of(source: Path) -> list[str]:
    lines = re.findall(r"^// run: (.*)$", source.read_text("utf-8"), re.MULTILINE)
    return [word.replace("@dir@", str(HERE)) for word in " ".join(lines).split()]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(source.stem, marks=[] if source.stem in QUICK else [pytest.mark.long])
        for source in sorted(HERE.glob("*.cpp"))
    ],
)
def test_compiled_by_clang(name: str, tmp_path: Path) -> None:
    source, program = HERE / f"{name}.cpp", tmp_path / name
    command = [sys.executable, "-m", "syncopate", "c++", "--machine=simulated"]
    command += ["--compiler=clang++", "-std=c++20", "-O2", str(source), "-o", str(program)]
    subprocess.run(command, check=True, timeout=300)
    expected = HERE / f"{name}.clang.txt"
    if not expected.exists():
        expected = HERE / f"{name}.expected.txt"
    golden = [str(HERE / "golden.sh"), str(program), str(expected), *environment_of(source)]
    done = subprocess.run(golden, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
