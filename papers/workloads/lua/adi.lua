-- adi.lua -- what bt.lua and sp.lua share: alternating directions on a cube of n*n*n cells, two
-- numbers a cell, as in BT and SP of the NAS benchmarks. A step computes the right side, solves the
-- lines along x, y and z, one direction after the other, and adds the result.
local common = require "common"
local adi = {}

adi.parts, adi.dt = 2, 0.2

function adi.new(n)
  local grid = {n = n, steps = {1, n, n * n}, u = {}, r = {}}
  for part = 1, adi.parts do
    local u, r, next_number = {}, {}, common.random(part, 1000)
    for cell = 1, n * n * n do u[cell], r[cell] = next_number() / 1000, 0.0 end
    grid.u[part], grid.r[part] = u, r
  end
  return grid
end

-- The sum over the neighbors of a cell, those outside being 0.
local function neighbors(u, n, cell)
  local place, sum, step = cell - 1, 0.0, 1
  for _ = 1, 3 do
    local k = place // step % n
    if k > 0 then sum = sum + u[cell - step] end
    if k < n - 1 then sum = sum + u[cell + step] end
    step = step * n
  end
  return sum
end

-- Diffusion, and a coupling of both numbers of a cell.
local function right_side(grid)
  local n = grid.n
  common.split(n * n * n, function(first, last)
    for part = 1, adi.parts do
      local u, other, r = grid.u[part], grid.u[3 - part], grid.r[part]
      for cell = first, last do
        r[cell] = adi.dt * (neighbors(u, n, cell) - 6 * u[cell] + 0.1 * (other[cell] - u[cell]))
      end
    end
  end)
end

local function add(grid)
  local n = grid.n
  common.split(n * n * n, function(first, last)
    for part = 1, adi.parts do
      local u, r = grid.u[part], grid.r[part]
      for cell = first, last do u[cell] = u[cell] + r[cell] end
    end
  end)
end

-- solve_line(grid, first cell, distance of its cells) replaces grid.r there by the solution.
local function sweep(grid, direction, solve_line)
  local n, step = grid.n, grid.steps[direction]
  local a, b = grid.steps[direction % 3 + 1], grid.steps[(direction + 1) % 3 + 1]
  common.split(n * n, function(first, last)
    for line = first - 1, last - 1 do
      solve_line(grid, 1 + line % n * a + line // n * b, step)
    end
  end)
end

-- The sum of squares of what a step would change, by one thread.
local function norm(grid)
  local sum = 0.0
  for part = 1, adi.parts do
    for _, value in ipairs(grid.r[part]) do sum = sum + value * value end
  end
  return sum
end

-- Steps; returns the last change's norm, which has to fall.
function adi.run(n, steps, solve_line)
  local grid, before, after = adi.new(n), nil, nil
  for _ = 1, steps do
    right_side(grid)
    for direction = 1, 3 do sweep(grid, direction, solve_line) end
    add(grid)
    after = norm(grid)
    assert(not before or after < before, "does not converge")
    before = after
  end
  return string.format("%.10e", after)
end

return adi
