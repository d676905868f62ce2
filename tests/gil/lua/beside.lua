-- beside.lua FILE -- runs one of Lua's own test files while another thread is alive, and so in
-- transactions where there are any.
_port, _soft = true, true  -- nothing that depends on the system, or takes long
local channel = thread.channel()
local other = thread.start(function() channel:receive() end)
local file = arg[1]
arg = {[0] = file}
dofile(file)
channel:close()
other:join()
io.stdout:write("passed\n")
