"""lua-mt: what is started while the state closes ends before it is gone; and what a lack of memory
leaves undone is not done."""

import os
import resource
import signal
import subprocess

import pytest

USES = """function()
  thread.sleep(0.1)
  local all = {}
  for i = 1, 100000 do all[i] = {tostring(i)} end
  print(#all)
end"""
CLOSES = {
    "finalizer": f"setmetatable({{}}, {{__gc = function() thread.start({USES}) end}})",
    "variable": (
        f"local x <close> = setmetatable({{}}, {{__close = function() thread.start({USES}) end}})"
        " os.exit(0, true)"
    ),
    "both": (
        "setmetatable({}, {__gc = function() os.exit(0, true) end})"
        f" setmetatable({{}}, {{__gc = function() thread.start({USES}) end}})"
    ),
}
FULL = """
local queue, kept = thread.channel(1000000000), {}
repeat until not pcall(function() kept[#kept + 1] = ("x"):rep(100000) .. #kept end)
local sent, done = 0, true
while done do
  done = pcall(queue.send, queue, "v")
  if done then sent = sent + 1 end
end
kept = nil
collectgarbage()
queue:send("last")
for _ = 1, sent do assert(queue:receive() == "v") end
print(sent > 0, queue:receive())
"""

STARTS = """
local kept, started = {}, {}
pcall(function() while true do kept[#kept + 1] = ("x"):rep(20000) .. #kept end end)
pcall(function() while true do kept[#kept + 1] = ("x"):rep(500) .. #kept end end)
for _ = 1, 400 do kept[#kept] = nil end
for _ = 1, 60 do
  local done, t = pcall(thread.start, function() return 7 end)
  if done then started[#started + 1] = t end
end
for _, t in ipairs(started) do assert(t:join() == 7) end
print("ok", #started < 60)
"""


def limit(room: int):
    """What gives a process so many bytes of memory, and its threads small stacks."""

    def set_limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))

    return set_limits


def printed(command: list, **more) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **more)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("how", CLOSES)
def test_a_thread_that_is_started_while_the_state_closes_is_waited_for(lua, how):
    assert printed([lua / "lua-mt", "-e", CLOSES[how]]) == "100000\n"


@pytest.mark.long
def test_the_second_interrupt_ends_what_other_threads_go_on_with(lua):
    script = "thread.start(function() while true do end end) print() while true do end"
    command = [lua / "lua-mt", "-e", script]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as program:
        program.stdout.readline()
        program.send_signal(signal.SIGINT)
        assert program.stderr.readline().endswith("interrupted!\n")
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(timeout=0.5)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=60) == -signal.SIGINT


@pytest.mark.long
def test_what_a_channel_has_no_memory_for_is_not_sent(lua):
    assert printed([lua / "lua-mt", "-e", FULL], preexec_fn=limit(100 << 20)) == "true\tlast\n"


@pytest.mark.long
@pytest.mark.parametrize("room", [120, 100, 90, 80, 70, 60, 50])
def test_a_thread_that_there_is_no_memory_for_is_an_error(lua, room):
    """At its start, wherever memory ends: the program goes on."""
    more = {"preexec_fn": limit(room << 20), "env": os.environ | {"LUA_MT_REMOVE": "none"}}
    assert printed([lua / "lua-mt", "-e", STARTS], **more) == "ok\ttrue\n"
