-- sockets.lua -- threads that wait for sockets, pipes and commands let the others run: each part
-- would never end if one of them kept the interpreter lock.
local function receive_all(socket)
  local parts = {}
  for part in function() return socket:receive(1000) end do parts[#parts + 1] = part end
  return table.concat(parts)
end

-- A pair: the reader waits first, and sees what is sent, in order, to its end.
local a, b = thread.socketpair()
local waiting = false
local reader = thread.start(function()
  waiting = true
  return receive_all(a)
end)
while not waiting do end  -- the reader runs; soon it waits
thread.sleep(0.01)
local sent = ("0123456789"):rep(50000)  -- more than the system keeps
assert(b:send(sent))
b:close()
assert(reader:join() == sent)
assert(not pcall(b.send, b, "more"))

-- A request waits for its answer, which waits for the next request.
local client, server = thread.socketpair()
local echo = thread.start(function()
  local count = 0
  for text in function() return server:receive() end do
    assert(server:send(text:upper()))
    count = count + 1
  end
  return count
end)
for k = 1, 200 do
  assert(client:send("word" .. k))
  assert(client:receive() == "WORD" .. k)
end
client:close()
assert(echo:join() == 200)

-- Closing wakes who waits in it.
local c, d = thread.socketpair()
local sleeper = thread.start(function() return c:receive() end)
thread.sleep(0.01)
c:close()
assert(sleeper:join() == nil)
assert(not pcall(c.receive, c))
d:close()

-- Connections over the network, several at once.
local listener = assert(thread.listen())
local port = listener:port()
local acceptor = thread.start(function()
  local servers = {}
  for k = 1, 4 do
    local connection = assert(listener:accept())
    servers[k] = thread.start(function()
      local text = connection:receive()
      connection:send("you said " .. text)
      connection:close()
    end)
  end
  for _, each in ipairs(servers) do each:join() end
end)
local clients = {}
for k = 1, 4 do
  clients[k] = thread.start(function()
    local connection = assert(thread.connect(port))
    assert(connection:send("hello " .. k))
    return receive_all(connection)
  end)
end
for k = 1, 4 do assert(clients[k]:join() == "you said hello " .. k) end
acceptor:join()
listener:close()
local nobody, message, number = thread.connect(port)
assert(nobody == nil and message and number, "nobody listens there any more")
assert(not pcall(thread.listen, 70000))

-- Lua's own streams: a line from a command that ends only when the main thread has let it.
local function new_pipe()
  local name = os.tmpname()
  os.remove(name)
  assert(os.execute("mkfifo " .. name))
  return name
end

local name = new_pipe()
local lines = thread.start(function()
  local command = assert(io.popen("cat " .. name))
  local first, rest = command:read("l", "a")
  return first, rest, command:close()
end)
local writer = assert(io.open(name, "w"))
writer:write("one\n", 2, "\n", 0.5, "\n")
writer:flush()
thread.sleep(0.01)
writer:write("three\n")
writer:close()
local first, rest, closed = lines:join()
assert(first == "one" and rest == "2\n0.5\nthree\n" and closed)
os.remove(name)

-- A stream in which another thread waits is not closed under it: that thread reads on. When it has
-- not come to wait yet, it finds the stream closed.
name = new_pipe()
local pipe = assert(io.open(name, "r+"))
local stuck = thread.start(function() return pcall(pipe.read, pipe, "l") end)
thread.sleep(0.01)
local done, problem, code = pipe:close()
assert(done or (problem and code), "closing a stream in use tells why it cannot")
assert(io.type(pipe) == (done and "closed file" or "file"))
writer = not done and assert(io.open(name, "w"))
if writer then
  writer:write("end\n")
  writer:close()
end
local read, text = stuck:join()
assert(done and not read or text == "end")
assert(done or pipe:close(), "nobody is in it any more")
os.remove(name)

-- Who waits for the thread that waits in a stream keeps nobody else out. A command's start does not
-- wait for it, and finds in a file what was written before.
for _, call in ipairs {
  function(stream) stream:seek() end,
  function(stream) stream:seek("end") end,
  function(stream) stream:setvbuf("no") end,
  function(stream) stream:read("n") end,
} do
  name = new_pipe()
  local opening = thread.start(io.open, name)
  writer = assert(io.open(name, "w"))
  pipe = assert(opening:join())
  local readers = {}
  for k = 1, 2 do readers[k] = thread.start(function() return pipe:read("n") end) end
  thread.sleep(0.01)
  readers[3] = thread.start(call, pipe)
  thread.sleep(0.01)
  writer:write("7 ")
  writer:flush()
  thread.sleep(0.001)
  writer:close()  -- all find the end
  for k = 1, 3 do readers[k]:join() end
  assert(pipe:close())
  os.remove(name)
end
name = new_pipe()
pipe = assert(io.open(name, "r+"))
local reader_of_pipe = thread.start(pipe.read, pipe, "l")
local written_name = os.tmpname()
local written = assert(io.open(written_name, "w"))
written:write("before")
thread.sleep(0.01)
local command = io.popen("cat " .. written_name)
assert(command:read("a") == "before")
assert(command:close() and written:close())
writer = assert(io.open(name, "w"))
writer:write("\n")
assert(writer:close())
assert(reader_of_pipe:join() == "" and pipe:close())
os.remove(name)
os.remove(written_name)

-- A command that another thread has to end.
name = new_pipe()
local copy = os.tmpname()
local other = thread.start(function() return os.execute("cat " .. name .. " > " .. copy) end)
writer = assert(io.open(name, "w"))
writer:write("through\n")
writer:close()
assert(other:join())
local out = assert(io.open(copy))
assert(out:read("a") == "through\n")
out:close()
os.remove(name)
os.remove(copy)
print("ok")
