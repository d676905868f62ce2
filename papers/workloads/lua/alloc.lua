-- alloc.lua -- every thread builds short lists of small tables and drops them: objects of its own,
-- from an allocator and for a collector that all threads have in common.
local common = require "common"
local turns = common.size(400, 500000, 15000000, 75000000)

local function workload()
  local list, sum = nil, 0
  for i = 1, turns do
    list = {value = i, next = i % 10 ~= 0 and list or nil}
    sum = sum + list.value + (list.next and list.next.value or 0)
  end
  return sum
end

common.measure(function()
  return common.split(common.threads, workload) // common.threads
end, {"151840", "237499800000", "213749994000000", "5343749970000000"})
