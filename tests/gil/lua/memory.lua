-- memory.lua THREADS -- what threads allocate is counted, collected and finalized, also what was
-- made by threads that have ended.
local threads = tonumber(arg[1])

local function in_threads(work)
  local tasks, results = {}, {}
  for t = 1, threads do tasks[t] = thread.start(work, t) end
  for t = 1, threads do results[t] = tasks[t]:join() end
  return results
end

local function make(t)
  local list = {}
  for i = 1, 2000 do list[i] = {t, i, "value " .. i} end
  return list
end

collectgarbage()
local before = collectgarbage("count")
local kept = in_threads(make)
collectgarbage()
local full = collectgarbage("count")
assert(full > before + threads * 150, "what threads keep is not counted")
for t = 1, threads do assert(kept[t][2000][3] == "value 2000" and kept[t][7][1] == t) end

kept = nil
collectgarbage()
local after = collectgarbage("count")
assert(after < before + (full - before) / 10, "memory does not come back")

-- Objects with a finalizer leave the list of new objects.
local finalized = 0
in_threads(function()
  for _ = 1, 50 do
    local object = setmetatable({}, {__gc = function() finalized = finalized + 1 end})
    object.self = object
  end
end)
collectgarbage()
collectgarbage()
assert(finalized == 50 * threads, "finalizers ran " .. finalized .. " times")

-- The collector's options, and its other mode.
assert(collectgarbage("isrunning"))
collectgarbage("stop")
in_threads(make)
assert(not collectgarbage("isrunning"))
collectgarbage("restart")
collectgarbage("incremental")
in_threads(make)
assert(collectgarbage("generational") == "incremental")
in_threads(make)
collectgarbage("step", 100)
assert(collectgarbage("incremental") == "generational")
in_threads(make)
repeat until collectgarbage("step", 1000)
collectgarbage()  -- what that cycle had passed by
assert(collectgarbage("count") < after + 500, "memory does not come back from the other modes")
print("ok")
