"""scripts/failed_tests.py, with what ctest itself leaves: which of a test's own tests failed."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/failed_tests.py"
PYTEST = """..F.
E       AssertionError: assert 3 == 4
FAILED tests/test_a.py::test_one[x] - AssertionError
1 failed, 3 passed
"""
GOOGLETEST = """[ RUN      ] Lock.Excludes
lock_test.cpp:7: Failure
[  FAILED  ] Lock.Excludes (0 ms)
"""
SUITE = {
    "fine": ("FAILED is no line of this", 0),
    "by_pytest": (PYTEST, 1),
    "by_googletest": (GOOGLETEST, 1),
    "by_hand": ("first\nlast words\n", 3),
    "silent": ("", 1),
}


def told(*words) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True)


def run_suite(folder: Path, suite: dict) -> subprocess.CompletedProcess:
    tests = ""
    for name, (output, status) in suite.items():
        (folder / name).write_text(output)
        tests += f'add_test({name} sh -c "cat {folder / name}; exit {status}")\n'
    tests += "add_test(slow sleep 60)\nset_tests_properties(slow PROPERTIES TIMEOUT 1)\n"
    (folder / "CTestTestfile.cmake").write_text(tests)
    return subprocess.run(["ctest", "--test-dir", folder], capture_output=True, text=True)


def test_each_that_failed_with_its_reason(tmp_path):
    assert run_suite(tmp_path, SUITE).returncode != 0
    done = told(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "by_pytest:",
        "  FAILED tests/test_a.py::test_one[x] - AssertionError",
        "  E       AssertionError: assert 3 == 4",
        "by_googletest:",
        "  lock_test.cpp:7: Failure",
        "  [  FAILED  ] Lock.Excludes (0 ms)",
        "by_hand:",
        "  first",
        "  last words",
        "silent:",
        "slow:",
    ]


def test_without_a_run(tmp_path):
    done = told(tmp_path)
    assert done.returncode == 2 and done.stderr.endswith(
        "LastTest.log: No such file or directory\n"
    )
    assert told().returncode == 2
