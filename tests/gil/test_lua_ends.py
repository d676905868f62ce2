"""lua-mt: what is started while the state closes ends before it is gone; and what a lack of memory
leaves undone is not done."""

import resource
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


def printed(command: list, **more) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **more)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("how", CLOSES)
def test_a_thread_that_is_started_while_the_state_closes_is_waited_for(lua, how):
    assert printed([lua / "lua-mt", "-e", CLOSES[how]]) == "100000\n"


@pytest.mark.long
def test_what_a_channel_has_no_memory_for_is_not_sent(lua):
    room = 100 << 20
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room))}
    assert printed([lua / "lua-mt", "-e", FULL], **limit) == "true\tlast\n"
