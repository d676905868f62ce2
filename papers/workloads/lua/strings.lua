-- strings.lua -- every thread makes strings and a table of its own: the allocator, the table of
-- short strings and the collector are what threads have in common.
local common = require "common"
local turns = common.size(300, 1000000, 30000000, 150000000)

local function workload()
  local seen, total = {}, 0
  for i = 1, turns do
    local word = "w" .. (i * 7 % 101)
    seen[word] = (seen[word] or 0) + 1
    total = total + #word
  end
  local kinds = 0
  for _ in pairs(seen) do kinds = kinds + 1 end
  return total * 1000 + kinds
end

common.measure(function()
  return common.split(common.threads, workload) // common.threads
end, {"874101", "2910892101", "87326732101", "436633663101"})
