-- is.lua -- integer sort, with the structure of IS of the NAS benchmarks: every thread counts the
-- keys of its share, the counts become ranks, every thread puts its keys at their ranks.
local common = require "common"
local n, values = common.size(2000, 500000, 8388608, 33554432), 256
local keys, sorted = {}, {}

local next_key = common.random(1, values)
for i = 1, n do
  keys[i] = (next_key() + next_key() + next_key() + next_key()) // 4
  sorted[i] = 0
end

local counts = {}  -- of the share that begins there

local function count(first, last)
  local mine = {}
  for key = 0, values - 1 do mine[key] = 0 end
  for i = first, last do mine[keys[i]] = mine[keys[i]] + 1 end
  counts[first] = mine
end

-- Where the keys of each share begin: after all smaller keys, and those of the shares before it.
local function rank()
  local place = 1
  for key = 0, values - 1 do
    for t = 1, common.threads do
      local mine = counts[(t - 1) * n // common.threads + 1]
      mine[key], place = place, place + mine[key]
    end
  end
end

local function place(first, last)
  local mine = counts[first]
  for i = first, last do
    local key = keys[i]
    sorted[mine[key]] = key
    mine[key] = mine[key] + 1
  end
end

common.measure(function()
  common.split(n, count)
  rank()
  common.split(n, place)
  local sum = 0
  for i = 1, n do
    assert(i == 1 or sorted[i - 1] <= sorted[i], "not sorted")
    sum = (sum * 31 + sorted[i]) % 1000000007
  end
  return sum
end, {"234579137", "930615839", "913667773", "125157221"})
