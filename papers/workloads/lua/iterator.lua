-- iterator.lua -- the Iterator microbenchmark (the same figure): as while.lua, but an iterator
-- calls the loop's body.
local common = require "common"
local turns = common.size(2000, 5000000, 100000000, 500000000)

local function each(n, body)
  for i = 1, n do body(i) end
end

local function workload()
  local x = 0
  each(turns, function(i) x = x + i end)
  return x
end

common.measure(function()
  local sum = common.split(common.threads, workload)
  assert(sum == common.threads * (turns * (turns + 1) // 2))
  return sum // common.threads
end, {"2001000", "12500002500000", "5000000050000000", "125000000250000000"})
