"""Libraries written in Lua that know nothing of threads, dkjson, penlight and luaunit, in four
threads of lua-mt: the results are those of one thread under the plain lock."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INTEGRATION = ROOT / "integrations" / "lua"
SCRIPT = Path(__file__).parent / "lua" / "libraries.lua"
MACHINES = {"native": "lua-mt", "emulated": "lua-mt.emulated"}


@pytest.fixture(scope="session")
def folder() -> Path:
    """lua-mt, and the libraries: both are fetched by the package manager."""
    built = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "lua_libraries"
    build = ["sh", str(INTEGRATION / "build.sh"), str(built), os.environ["SYNCOPATE_NATIVE"]]
    fetch = ["sh", str(INTEGRATION / "fetch_libraries.sh"), str(built)]
    for command in ([*build, *MACHINES], fetch):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1500)
        assert done.returncode == 0, done.stderr
    return built


def printed(folder: Path, machine: str, threads: int, **more: str) -> str:
    libraries = folder / "libraries" / "usr" / "share" / "lua" / "5.4"
    paths = {"LUA_PATH": f"{libraries}/?.lua;{libraries}/?/init.lua", "SYNCOPATE_QUIET": "1"}
    done = subprocess.run(
        [str(folder / "bin" / MACHINES[machine]), str(SCRIPT), str(threads), "10"],
        capture_output=True,
        env=os.environ | paths | more,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("mode", ["gil", "htm:16", "balance"])
@pytest.mark.parametrize("machine", MACHINES)
def test_four_threads_get_what_one_gets(folder, tmp_path, machine, mode):
    wanted = printed(folder, "native", 1, SYNCOPATE_GIL="gil")
    assert wanted.count("4 passed, 1 failed") == 10
    counts = tmp_path / "counts.json"
    more = {"SYNCOPATE_GIL": mode, "SYNCOPATE_GIL_STATS": str(counts)}
    assert printed(folder, machine, 4, SYNCOPATE_EMULATED="yield=1000", **more) == wanted
    counted = json.loads(counts.read_text())
    if machine == "emulated" and mode != "gil":
        assert counted["transactions"] - counted["fallbacks"] > 100, counted
