-- finalizer.lua ROUNDS -- while a thread is in a finalizer, the collector works for the others; what
-- they ask of it holds, and goes on holding when the finalizer ends; for the finalizer's own thread
-- it is off, as in Lua.
local rounds = tonumber(arg[1])

local function wait_for(what)
  while not what() do thread.sleep(0.0001) end
end

-- A thread in the middle of a finalizer, until the function that is returned is called.
local kept = {}
local function in_a_finalizer(collect)
  local begun, ending, own = false, false, nil
  local t = thread.start(function()
    setmetatable({}, {__gc = function()
      own = {collectgarbage("count"), collectgarbage("stop"), collectgarbage("isrunning")}
      for i = 1, 50 do kept[#kept + 1] = {i, "kept " .. i} end
      begun = true
      wait_for(function() return ending end)
      for i = 1, 50 do kept[#kept + 1] = {i, "kept " .. i} end
    end})
    collect()
  end)
  wait_for(function() return begun end)
  assert(own[1] == nil and own[2] == nil and not own[3], "the collector is off in a finalizer")
  return function()
    ending = true
    t:join()
  end
end

local function garbage(count)
  for i = 1, count do local _ = {i, "garbage " .. i} end
end

local function is_collected(object_of)
  local weak = setmetatable({object_of()}, {__mode = "v"})
  collectgarbage()
  collectgarbage()
  return weak[1] == nil
end

local function check_collector()
  assert(collectgarbage("isrunning"), "the collector is off for others")
  assert(type(collectgarbage("count")) == "number")
  assert(is_collected(function() return {} end), "collectgarbage() does nothing")
  -- By itself, too: with a limit far below what is made.
  local before, most = collectgarbage("count"), 0
  for _ = 1, rounds do
    garbage(1000)
    most = math.max(most, collectgarbage("count") - before)
  end
  local made = rounds * 150
  assert(made < 24 * 1024 or most < 24 * 1024, "garbage is not collected: " .. most .. " KB")
end

local collections = {
  full = function() collectgarbage() end,
  step = function() for _ = 1, 20 do collectgarbage("step", 100000) end end,
  allocating = function() garbage(60000) collectgarbage() end,
}

for _, kind in ipairs {"incremental", "generational"} do
  local other = kind == "incremental" and "generational" or "incremental"
  for _, collect in pairs(collections) do
    collectgarbage(kind)
    local finish = in_a_finalizer(collect)
    check_collector()
    finish()
    check_collector()

    -- A finalizer within another's time.
    local first = in_a_finalizer(collect)
    local second = in_a_finalizer(collect)
    first()
    check_collector()
    second()
    check_collector()

    -- The program's own words, whatever the finalizer's end puts back.
    finish = in_a_finalizer(collect)
    collectgarbage("stop")
    assert(not collectgarbage("isrunning"))
    finish()
    assert(not collectgarbage("isrunning"), "a finalizer's end undoes 'stop'")
    finish = in_a_finalizer(collect == collections.allocating and collections.full or collect)
    collectgarbage("restart")
    finish()
    assert(collectgarbage("isrunning"), "a finalizer's end undoes 'restart'")

    finish = in_a_finalizer(collect)
    assert(collectgarbage(other) == kind)
    garbage(2000)
    collectgarbage()
    assert(collectgarbage(kind) == other)
    assert(collectgarbage(other) == kind)
    finish()
    check_collector()
    assert(collectgarbage(kind) == other, "what was asked for is forgotten")
  end
end
for i, entry in ipairs(kept) do
  assert(entry[1] == (i - 1) % 50 + 1 and entry[2] == "kept " .. entry[1],
    "what a finalizer has made is lost")
end
print("ok")
