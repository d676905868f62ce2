-- threads.lua THREADS TURNS -- threads that allocate, raise errors, run coroutines, sort, collect,
-- and wait for each other: invariants of what they share.
local threads, turns = tonumber(arg[1]), tonumber(arg[2])
local shared = {sum = 0}
local mutex = thread.mutex()

-- What would wait for ever is an error.
do
  local m, t = thread.mutex(), nil
  m:lock()
  assert(not pcall(m.lock, m))
  t = thread.start(function() return pcall(function() return t:join() end) end)
  assert(t:join() == false)
  m:unlock()
  assert(not pcall(m.unlock, m))
end

-- A mutex is its thread's after that has ended, not that of the next one.
do
  local m = thread.mutex()
  thread.start(m.lock, m):join()
  local next_one = thread.start(function() return pcall(m.lock, m) end)
  thread.sleep(0.0001)
  m:unlock()
  assert(next_one:join())
end

local function add_coroutine()
  local step = coroutine.wrap(function(a)
    for k = 1, 5 do a = coroutine.yield(a + k) end
  end)
  local x = 0
  for _ = 1, 5 do x = step(x) end
  assert(x == 15)
end

local function work(id)
  local mine = {}
  for i = 1, turns do
    mine[i % 50 + 1] = {(i * 7919) % 101, tostring(i)}
    mutex:lock()
    shared.sum = shared.sum + 1
    mutex:unlock()
    if i % 100 == 0 then
      local ok, problem = pcall(function() error({code = i}) end)
      assert(not ok and problem.code == i)
      add_coroutine()
      table.sort(mine, function(a, b) return a[1] < b[1] end)
      for k = 2, #mine do assert(mine[k - 1][1] <= mine[k][1]) end
      collectgarbage("step")
    end
  end
  return id, turns
end

local tasks = {}
for i = 1, threads do tasks[i] = thread.start(work, i) end
for i = 1, threads do
  local id, count = tasks[i]:join()
  assert(id == i and count == turns)
end
assert(shared.sum == threads * turns)

-- A channel: all that is sent arrives, in order.
local channel = thread.channel(4)
local sender = thread.start(function()
  for i = 1, turns do channel:send(i) end
  channel:close()
end)
for i = 1, turns do assert(channel:receive() == i) end
assert(channel:receive() == nil)
sender:join()

-- A condition: the waiter goes on when it holds.
local ready, condition = false, thread.condition()
local waiter = thread.start(function()
  mutex:lock()
  while not ready do condition:wait(mutex) end
  mutex:unlock()
  return "seen"
end)
thread.sleep(0.0001)
mutex:lock()
ready = true
condition:broadcast()
mutex:unlock()
assert(waiter:join() == "seen")

-- An error ends its thread, and is join()'s; misuse is an error, too.
local failing = thread.start(function() error("broken", 0) end)
local ok, problem = pcall(failing.join, failing)
assert(not ok and problem == "broken")
assert(not pcall(mutex.unlock, mutex))
assert(not pcall(thread.start, 42))
print("ok")
