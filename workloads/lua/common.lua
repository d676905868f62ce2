-- common.lua -- what the programs of this folder share.
--
-- Each is run as  lua-mt PROGRAM.lua THREADS [SIZE]  and prints one line: the microseconds of its
-- parallel part, and its result, which does not depend on the number of threads.
local common = {}

common.threads = tonumber(arg[1]) or 1

function common.size(default) return tonumber(arg[2]) or default end

-- Runs work(first, last) in every thread, for its share of 1..n; returns when all have, with the
-- sum of what they returned.
function common.split(n, work)
  local tasks, sum = {}, 0
  for t = 1, common.threads do
    local first, last = (t - 1) * n // common.threads + 1, t * n // common.threads
    tasks[t] = thread.start(work, first, last)
  end
  for t = 1, common.threads do sum = sum + (tasks[t]:join() or 0) end
  return sum
end

-- A stream of numbers in 0..m-1 that depends on its seed alone.
function common.random(seed, m)
  local state = seed * 2654435761 % 4294967296 + 1
  return function()
    state = (state * 1664525 + 1013904223) % 4294967296
    return (state >> 8) % m
  end
end

-- Runs work(), prints, and holds the result against the known one of the default size.
function common.measure(work, expected)
  local start = thread.now()
  local result = work()
  local took = (thread.now() - start) * 1e6
  print(string.format("%.1f %s", took, result))
  if expected and not arg[2] then
    assert(tostring(result) == expected, "verification failed: " .. tostring(result))
  end
end

return common
