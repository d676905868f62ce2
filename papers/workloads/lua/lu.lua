-- lu.lua -- symmetric over-relaxation with the structure of LU of the NAS benchmarks: a sweep down
-- and one up, in which every cell needs the new values of those before it. Each thread has a band
-- of rows; as a pipeline, it takes a column once the thread before it has done that column.
local common = require "common"
local n, sweeps, omega = common.size(20, 300, 1700, 4000), 3, 1.3
local width = n + 2  -- with a border of zeros
local u, f = {}, {}

local next_number = common.random(5, 1000)
for cell = 1, width * width do
  local row, column = (cell - 1) // width, (cell - 1) % width
  local inside = row >= 1 and row <= n and column >= 1 and column <= n
  u[cell], f[cell] = 0.0, inside and next_number() / 1000 or 0.0
end

local function relax(row, column)
  local cell = row * width + column + 1
  local sum = u[cell - 1] + u[cell + 1] + u[cell - width] + u[cell + width]
  u[cell] = u[cell] + omega * (0.25 * (sum + f[cell]) - u[cell])
end

-- One sweep: rows and columns from `from` to `to`, by threads that hand columns on.
local function sweep(from, to)
  local step = from < to and 1 or -1
  local tasks, before = {}, nil
  for t = 1, common.threads do
    local share = step == 1 and t or common.threads + 1 - t
    local first, last = (share - 1) * n // common.threads + 1, share * n // common.threads
    if step == -1 then first, last = last, first end
    local done = thread.channel(n)
    tasks[t] = thread.start(function(wait_for)
      for column = from, to, step do
        if wait_for then wait_for:receive() end
        for row = first, last, step do relax(row, column) end
        done:send(column)
      end
    end, before)
    before = done
  end
  for t = 1, common.threads do tasks[t]:join() end
end

local function residual()
  local sum = 0.0
  for row = 1, n do
    for column = 1, n do
      local cell = row * width + column + 1
      local around = u[cell - 1] + u[cell + 1] + u[cell - width] + u[cell + width]
      local difference = f[cell] + around - 4 * u[cell]
      sum = sum + difference * difference
    end
  end
  return sum
end

common.measure(function()
  local before = residual()
  for _ = 1, sweeps do
    sweep(1, n)
    sweep(n, 1)
  end
  local after = residual()
  assert(after < before, "does not converge")
  return string.format("%.10e", after)
end, {"4.6189619653e+01", "2.1650716518e+04", "7.1745448592e+05", "3.9910476496e+06"})
