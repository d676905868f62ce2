"""lua-mt: Lua with the elided lock, fetched and built; its programs give the results of the plain
lock on this machine, on the emulated and on the simulated one."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "papers/workloads" / "lua"
SMALL = {
    "while": 200,
    "iterator": 200,
    "is": 300,
    "cg": 40,
    "ft": 8,
    "bt": 4,
    "sp": 4,
    "lu": 10,
    "mg": 4,
    "strings": 60,
    "alloc": 60,
    "collect": 10,
    "http": 4,
}
MODES = ["gil", "htm:1", "htm:16", "paper", "dynamic"]
REMOVALS = ["heap", "lines", "debt", "objects", "strings", "numbers", "collector"]


def environment_for(mode: str) -> dict[str, str]:
    return os.environ | {
        "SYNCOPATE_GIL": mode,
        "SYNCOPATE_QUIET": "1",
        "SYNCOPATE_MACHINES": str(ROOT / "machines"),
        "SYNCOPATE_MACHINE": "zec12-12c",
        "SYNCOPATE_EMULATED": "yield=500",
    }


def run(lua: Path, machine: str, mode: str, script: Path, *arguments: object, **more: str) -> str:
    """What the program prints. more: further environment variables."""
    environment = environment_for(mode) | more
    program = lua / ("lua-mt" if machine == "native" else f"lua-mt.{machine}")
    command = [str(program), script.name, *(str(a) for a in arguments)]
    done = subprocess.run(
        command,
        capture_output=True,
        cwd=script.parent,
        env=environment,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("program", ["bt", "cg", "ft", "is", "lu", "mg", "sp"])
def test_the_kernels_in_c_give_the_same(lua, program):
    """Two programs in two languages, with C's size small."""
    in_c = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads" / "nas" / program
    done = subprocess.run([in_c], capture_output=True, text=True, check=True, timeout=60)
    small = json.loads(done.stdout)
    printed = run(lua, "native", "gil", PROGRAMS / f"{program}.lua", 2, small["size"])
    assert printed.split()[1] == small["result"]


@pytest.mark.long
@pytest.mark.parametrize("machine", ["native", "emulated", "simulated"])
@pytest.mark.parametrize("program", SMALL)
def test_results_are_those_of_the_plain_lock(lua, machine, program):
    script, size = PROGRAMS / f"{program}.lua", SMALL[program]
    expected = run(lua, machine, "gil", script, 1, size).split()[1]
    for mode in MODES:
        assert run(lua, machine, mode, script, 3, size).split()[1] == expected, mode


@pytest.mark.long
@pytest.mark.parametrize("program", SMALL)
def test_results_are_the_known_ones(lua, program):
    """Sizes by name: their results are verified."""
    script = PROGRAMS / f"{program}.lua"
    tiny = run(lua, "native", "dynamic", script, 2).split()[1]
    words = ["--threads", 3, "--preset"]
    assert run(lua, "native", "balance", script, *words, "tiny").split()[1] == tiny
    assert run(lua, "native", "balance", script, *words, "small").split()[1] != tiny


def refused(lua: Path, script: Path, *words: str) -> tuple[int, str]:
    """The status, and what stands on standard error."""
    command = [lua / "lua-mt", script.name, *words]
    done = subprocess.run(
        command, cwd=script.parent, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stderr


@pytest.mark.long
def test_a_wrong_result_is_found(lua, tmp_path):
    folder = shutil.copytree(PROGRAMS, tmp_path / "lua")
    script = folder / "is.lua"
    script.write_text(script.read_text().replace("930615839", "930615838"))
    assert refused(lua, script, "--preset", "tiny") == (0, "")
    status, said = refused(lua, script, "--preset", "small")
    assert status == 1
    assert "verification failed: 930615839, not 930615838" in said


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--preset", "big"], "no preset is called 'big'; there are tiny, small, paper, large"),
        (["--presets", "tiny"], "there is no option '--presets'; see --help"),
        (["2", "300", "4"], "there is no option '4'; see --help"),
        (["--threads"], "option '--threads' needs a value"),
        (["0"], "--threads needs a whole number above 0, not '0'"),
        (["2", "1.5"], "--size needs a whole number above 0, not '1.5'"),
    ],
)
def test_bad_words(lua, words, said):
    assert refused(lua, PROGRAMS / "is.lua", *words) == (2, f"is.lua: {said}\n")


@pytest.mark.long
@pytest.mark.parametrize("program", SMALL)
def test_help_says_the_sizes(lua, program):
    said = run(lua, "native", "gil", PROGRAMS / f"{program}.lua", "--help")
    assert said.startswith(f"{program}.lua -- ")
    assert all(f"\n  {name} " in said for name in ("tiny", "small", "paper", "large"))
    assert "verif" not in said, "nothing is run"


@pytest.mark.long
@pytest.mark.parametrize("machine", ["native", "emulated", "simulated"])
@pytest.mark.parametrize("mode", ["gil", "htm:16", "dynamic"])
def test_threads_with_errors_coroutines_and_a_collector(lua, machine, mode):
    script = Path(__file__).parent / "lua" / "threads.lua"
    turns = 1000 if machine == "native" else 200
    assert run(lua, machine, mode, script, 4, turns).split() == ["ok"]


@pytest.mark.long
@pytest.mark.parametrize("machine", ["native", "emulated", "simulated"])
@pytest.mark.parametrize("mode", ["gil", "htm:256"])
def test_no_loop_keeps_others_out(lua, machine, mode):
    script = Path(__file__).parent / "lua" / "endless.lua"
    assert run(lua, machine, mode, script).split() == ["ok"]


@pytest.mark.long
@pytest.mark.parametrize("machine", ["native", "emulated", "simulated"])
@pytest.mark.parametrize("mode", ["gil", "htm:16"])
def test_hooks_see_what_they_see_in_plain_lua(lua, machine, mode):
    script = Path(__file__).parent / "lua" / "hooks.lua"
    plain = subprocess.run(
        [lua / "lua-plain", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert run(lua, machine, mode, script) == plain.stdout


@pytest.mark.long
@pytest.mark.parametrize("machine", ["native", "emulated", "simulated"])
@pytest.mark.parametrize("mode", ["gil", "htm:1", "htm:256"])
def test_what_is_printed_in_transactions_appears_once(lua, machine, mode):
    script = Path(__file__).parent / "lua" / "prints.lua"
    found = sorted(line.split() for line in run(lua, machine, mode, script, 3, 20).splitlines())
    known = [[str(t), str(n), str(5050 * n)] for t in (1, 2, 3) for n in range(1, 21)]
    assert found == sorted(known * 2)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["gil", "htm:16", "dynamic"])
def test_who_waits_for_a_socket_a_pipe_or_a_command_lets_others_run(lua, mode):
    script = Path(__file__).parent / "lua" / "sockets.lua"
    assert run(lua, "native", mode, script).split() == ["ok"]


@pytest.mark.long
@pytest.mark.parametrize("machine", ["native", "emulated"])
@pytest.mark.parametrize("removed", ["none", *REMOVALS])
def test_each_conflict_removal_alone(lua, machine, removed):
    """With a collection whenever Lua would begin one, and with few of them."""
    script = Path(__file__).parent / "lua" / "threads.lua"
    turns = 500 if machine == "native" else 100
    for heap in ("0", "8"):
        more = {"LUA_MT_REMOVE": removed, "LUA_MT_HEAP": heap}
        assert run(lua, machine, "htm:16", script, 4, turns, **more).split() == ["ok"], heap


@pytest.mark.long
def test_the_collector_counts_what_threads_have_allocated(lua):
    """Sums of what threads count for themselves are Lua's: memory comes back, whoever made it."""
    script = Path(__file__).parent / "lua" / "memory.lua"
    for removed in ("none", "all", "debt", "objects"):
        more = {"LUA_MT_REMOVE": removed}
        assert run(lua, "native", "dynamic", script, 4, **more).split() == ["ok"], removed


@pytest.mark.long
@pytest.mark.parametrize(
    ("machine", "mode", "removed"),
    [
        *(("native", "gil", removed) for removed in ("all", "none", "objects,collector")),
        *(("emulated", mode, "all") for mode in ("gil", "htm:1", "dynamic")),
    ],
)
def test_a_finalizer_stops_the_collector_for_its_own_thread_only(lua, machine, mode, removed):
    """One that is in the middle while others collect, in both kinds of collection."""
    script = Path(__file__).parent / "lua" / "finalizer.lua"
    rounds = 200 if machine == "native" else 5
    for heap in ("0", "8"):
        more = {"LUA_MT_REMOVE": removed, "LUA_MT_HEAP": heap}
        assert run(lua, machine, mode, script, rounds, **more).split() == ["ok"], heap


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("LUA_MT_REMOVE", "heap,walls", "'walls' is not one of all, none, heap, lines,"),
        ("LUA_MT_LINE", "100", "'100' is not a power of two"),
        ("LUA_MT_LINE", "8", "'8' is not a number from 16 to 256"),
        ("LUA_MT_HEAP", "much", "'much' is not a number from 0 to 4096"),
    ],
)
def test_bad_variables_are_told(lua, name, value, told):
    command = [str(lua / "lua-mt"), "-e", "print(1)"]
    done = subprocess.run(
        command, capture_output=True, env=os.environ | {name: value}, text=True, check=False
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"lua-mt: {name}: {told}")
    assert done.stdout == ""


NAMED = """local function add(n)
  for _ = 1, 300 do
    n.sum = n.sum + 1
  end
end
local t = thread.start(add, {sum = 0})
add {sum = 0}
t:join()
"""


@pytest.mark.long
def test_yield_points_are_lines_of_the_program(lua, tmp_path):
    (tmp_path / "named.lua").write_text(NAMED)
    more = {"SYNCOPATE_GIL_STATS": str(tmp_path / "stats")}
    run(lua, "simulated", "htm:1", tmp_path / "named.lua", **more)
    points = json.loads((tmp_path / "stats").read_text())["points"]
    often = {p["name"] for p in points if p["transactions"] > 100}
    assert often == {"named.lua:3 GETFIELD", "named.lua:2 FORLOOP"}
    assert {"a thread's start", "named.lua:5 RETURN0"} < {p["name"] for p in points}


@pytest.mark.long
@pytest.mark.parametrize("close", ["false", "true"])
@pytest.mark.parametrize("main", ["t:join()", "while true do end", ""])
def test_a_started_thread_can_end_the_program(lua, close, main):
    """Whatever the main thread is at, at its end, too."""
    ends = f"thread.sleep(0.05) os.exit(3, {close})"
    script = f"local t = thread.start(function() {ends} end) {main}"
    done = subprocess.run([lua / "lua-mt", "-e", script], check=False, timeout=60)
    assert done.returncode == 3


@pytest.mark.long
@pytest.mark.parametrize("machine", ["native", "emulated", "simulated"])
@pytest.mark.parametrize("ending", ["os.exit(3)", "os.exit(3, true)", "EXITS:join()"])
def test_a_program_that_exits_tells_its_statistics(lua, machine, ending, tmp_path):
    """Its own thread's, while another runs on; named."""
    script = tmp_path / "exits.lua"
    script.write_text(
        "local begun, done = false, false\n"
        "local t = thread.start(function() begun = true repeat until done end)\n"
        "repeat until begun\n"
        "for _ = 1, 3000 do begun = true end\n"
        + ("done = true " if "true" in ending else "")
        + ending.replace("EXITS", "thread.start(function() os.exit(3) end)")
    )
    file = tmp_path / "stats"
    environment = environment_for("htm:16") | {"SYNCOPATE_GIL_STATS": str(file)}
    program = lua / ("lua-mt" if machine == "native" else f"lua-mt.{machine}")
    done = subprocess.run(
        [program, "exits.lua"],
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (3, "")
    counted = json.loads(file.read_text())
    assert counted["cycles"]["useful"] > 0
    names = {point["name"] for point in counted["points"]}
    if "EXITS" in ending:
        assert names == {"a thread's start"} or machine == "native"
    elif machine != "native":
        assert any(name.startswith("exits.lua:4 ") for name in names)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "file", "told"),
    [
        ("SYNCOPATE_GIL_STATS", "/dev/full", "/dev/full: No space left on device"),
        ("SYNCOPATE_GIL_TRACE", "t", "syncopate: SYNCOPATE_GIL_TRACE: this build records nothing"),
    ],
)
def test_what_is_not_written_is_told(lua, name, file, told):
    command = [lua / "lua-mt", "-e", "print(1)"]
    done = subprocess.run(
        command, capture_output=True, env=os.environ | {name: file}, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("1\n", f"{told}\n")
