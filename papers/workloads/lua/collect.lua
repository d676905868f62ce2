-- collect.lua -- the collector's stress: every thread keeps a tree, replaces parts of it, and lets
-- the collector take what was there. Tables, closures, numbers and strings die young and old.
local common = require "common"
local turns, depth = common.size(60, 20000, 600000, 3000000), 5

local function grow(levels, mark)
  if levels == 0 then return {mark = mark, text = "leaf" .. mark % 17} end
  return {
    left = grow(levels - 1, 2 * mark),
    right = grow(levels - 1, 2 * mark + 1),
    weigh = function(x) return x + mark end,
  }
end

local function weigh(tree)
  if not tree.left then return tree.mark + #tree.text end
  return tree.weigh(weigh(tree.left) + weigh(tree.right)) % 1000003
end

local function workload()
  local tree, sum = grow(depth, 1), 0
  for i = 1, turns do
    local node = tree
    for level = depth, 2, -1 do node = (i >> level) % 2 == 0 and node.left or node.right end
    node.left, node.right = grow(1, i), grow(1, i + 1)
    if i % 8 == 0 then sum = (sum + weigh(tree)) % 1000003 end
  end
  return sum
end

common.measure(function()
  return common.split(common.threads, workload) // common.threads
end, {"25139", "111960", "540188", "649327"})
