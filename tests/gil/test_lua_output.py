"""lua-mt: other threads run while print() waits for who reads, and the prompt for who types."""

import os
import subprocess
import time
from pathlib import Path

import pytest

PRINTS = """
local t = thread.start(function() print(("x"):rep(1000000)) end)
thread.sleep(0.3)
io.open(arg[1], "w"):close()
t:join()
print("end")
"""
LINES = """
local all = {}
for i = 1, 4 do
  all[i] = thread.start(function() for n = 1, 200 do print("a" .. i, "b" .. i, "c" .. i) end end)
end
for _, t in ipairs(all) do t:join() end
"""


def until(exists: Path) -> None:
    deadline = time.monotonic() + 120
    while not exists.exists():
        assert time.monotonic() < deadline, "no other thread ran meanwhile"
        time.sleep(0.02)


def start(lua: Path, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [lua / "lua-mt", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"SYNCOPATE_GIL": "gil"},
    )


@pytest.mark.long
def test_others_run_while_print_waits(lua, tmp_path):
    (tmp_path / "prints.lua").write_text(PRINTS)
    program = start(lua, str(tmp_path / "prints.lua"), str(tmp_path / "there"))
    until(tmp_path / "there")  # nobody has read the pipe yet
    output, _ = program.communicate(timeout=120)
    assert output == "x" * 1000000 + "\nend\n"


@pytest.mark.long
def test_others_run_while_the_prompt_waits(lua, tmp_path):
    there = tmp_path / "there"
    program = start(lua, "-i")
    program.stdin.write(
        f'thread.start(function() thread.sleep(0.3) io.open("{there}", "w"):close() end)\n'
    )
    program.stdin.flush()
    until(there)  # the next line has not been typed yet
    output, _ = program.communicate("print(40 + 2)\n", timeout=120)
    assert program.returncode == 0
    assert "42\n" in output


@pytest.mark.long
def test_printed_lines_stay_whole(lua, tmp_path):
    (tmp_path / "lines.lua").write_text(LINES)
    output, _ = start(lua, str(tmp_path / "lines.lua")).communicate(timeout=120)
    lines = output.splitlines()
    assert len(lines) == 800
    assert {line.replace("\t", " ") for line in lines} == {f"a{i} b{i} c{i}" for i in range(1, 5)}


@pytest.mark.long
def test_lines_stay_whole_also_when_the_reader_is_slow(lua):
    """Of print, and of io.write with one string: the pipe is full, and all wait."""
    script = Path(__file__).parent / "lua" / "prints.lua"
    program = start(lua, str(script), "3", "3000")
    time.sleep(0.3)
    output, _ = program.communicate(timeout=120)
    known = [f"{t} {n} {5050 * n}" for t in (1, 2, 3) for n in range(1, 3001)]
    assert sorted(output.replace("\t", " ").splitlines()) == sorted(known * 2)
