-- while.lua -- the While microbenchmark (Odaira, Castanos & Tomari, PPoPP 2014, figure 4): each
-- thread adds up numbers in variables of its own.
local common = require "common"
local turns = common.size(2000, 10000000, 200000000, 1000000000)

local function workload()
  local x, i = 0, 1
  while i <= turns do
    x = x + i
    i = i + 1
  end
  return x
end

common.measure(function()
  local sum = common.split(common.threads, workload)
  assert(sum == common.threads * (turns * (turns + 1) // 2))
  return sum // common.threads
end, {"2001000", "50000005000000", "20000000100000000", "500000000500000000"})
