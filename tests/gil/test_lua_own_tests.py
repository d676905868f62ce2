"""Lua's own published test files, run by lua-mt built from the same version of Lua: on this machine
under the plain lock and in hardware transactions (where there are none that commit, each falls back
on the lock), and in transactions on the emulated one."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INTEGRATION = ROOT / "integrations" / "lua"
# All but: all and main, which start the interpreter itself and look at what it says; big, heavy and
# verybig, which are about sizes; and those that need Lua's internal checks to test anything.
IN_TRANSACTIONS = [
    *("attrib", "bitwise", "bwcoercion", "calls", "closure", "constructs", "coroutine", "events"),
    *("gc", "gengc", "goto", "literals", "locals", "math", "nextvar", "pm", "sort", "strings"),
    *("tpack", "utf8", "vararg"),
]
PLAIN = [*IN_TRANSACTIONS, "api", "code", "cstack", "db", "errors", "files", "tracegc"]


@pytest.fixture(scope="session")
def folder() -> Path:
    """Where Lua of the tests' version was built: both are fetched by the package manager."""
    built = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "lua_tests"
    fetch = ["sh", str(INTEGRATION / "fetch_tests.sh"), str(built)]
    build = ["sh", str(INTEGRATION / "build.sh"), str(built), os.environ["SYNCOPATE_NATIVE"]]
    for command in (fetch, [*build, "native", "emulated"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1500)
        assert done.returncode == 0, done.stderr
    return built


def passes(folder: Path, program: str, name: str, **more: str) -> None:
    script = Path(__file__).parent / "lua" / "beside.lua"
    done = subprocess.run(
        [str(folder / "bin" / program), str(script), f"{name}.lua"],
        capture_output=True,
        cwd=folder / "testes",
        env=os.environ | {"SYNCOPATE_QUIET": "1"} | more,
        text=True,
        errors="replace",
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "passed" in done.stdout.splitlines(), done.stdout[-2000:]


@pytest.mark.long
@pytest.mark.parametrize("name", PLAIN)
def test_under_the_plain_lock(folder, name):
    passes(folder, "lua-mt", name, SYNCOPATE_GIL="gil")


@pytest.mark.long
@pytest.mark.parametrize("lengths", ["htm:16", "balance"])
@pytest.mark.parametrize("name", PLAIN)
def test_in_hardware_transactions(folder, name, lengths):
    passes(folder, "lua-mt", name, SYNCOPATE_GIL=lengths)


@pytest.mark.long
@pytest.mark.parametrize("name", IN_TRANSACTIONS)
def test_in_transactions(folder, name):
    passes(folder, "lua-mt.emulated", name, SYNCOPATE_GIL="htm:16", SYNCOPATE_EMULATED="yield=3000")
