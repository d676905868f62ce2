"""scripts/build_times.py: each step once, as it was made last, by the folder of its source."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/build_times.py"
LOG = """# ninja log v5
0\t9000\t0\ttests/unit/CMakeFiles/test_unit.dir/a.cpp.o\taaaa
0\t1500\t0\ttests/unit/CMakeFiles/test_unit.dir/a.cpp.o\taaaa
10\t3010\t0\tproducts/preload/CMakeFiles/p.dir/lock/b.cpp.o\tbbbb
20\t520\t0\tlib/one\tcccc
20\t520\t0\tlib/two\tcccc
20\t9520\t0\ttests/unit/CMakeFiles/test_unit.dir/gone.cpp.o\tdddd
"""
NINJA = """rule r
build tests/unit/CMakeFiles/test_unit.dir/a.cpp.o: r a.cpp
build products/preload/CMakeFiles/p.dir/lock/b.cpp.o: r b.cpp || tests/unit/other
  FLAGS = -O2
build lib/one lib/two | tests/unit/more: r one
"""


def test_times(tmp_path):
    (tmp_path / ".ninja_log").write_text(LOG)
    (tmp_path / "build.ninja").write_text(NINJA)
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    head, parts, slowest = done.stdout.split("\n\n")
    assert head == "3 steps, 5 s together"
    assert [line.split() for line in parts.splitlines()[1:]] == [
        ["3", "60.0%", "1", "products/preload"],
        ["2", "30.0%", "1", "tests/unit"],
        ["0", "10.0%", "1", "others"],
    ]
    assert [line.split()[0] for line in slowest.splitlines()[1:]] == ["3.0", "1.5", "0.5"]


def test_without_a_build(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.endswith("build first\n")
