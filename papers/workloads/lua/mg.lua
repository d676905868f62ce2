-- mg.lua -- multigrid with the structure of MG of the NAS benchmarks: V-cycles on a cube with
-- periodic borders; smoothing, residual, restriction and interpolation, each split by planes.
local common = require "common"
local n, cycles = common.size(8, 32, 128, 256), 2  -- a power of two

local function new(m)
  local level = {m = m, u = {}, f = {}, r = {}}
  for cell = 1, m * m * m do level.u[cell], level.f[cell], level.r[cell] = 0.0, 0.0, 0.0 end
  return level
end

local function index(m, x, y, z) return (z % m * m + y % m) * m + x % m + 1 end

-- Calls work(cell, x, y, z) for all cells; small levels are not worth several threads.
local function all(m, work)
  local function planes(first, last)
    for z = first - 1, last - 1 do
      for y = 0, m - 1 do
        for x = 0, m - 1 do work(index(m, x, y, z), x, y, z) end
      end
    end
  end
  if m <= 2 then planes(1, m) else common.split(m, planes) end
end

local function around(a, m, x, y, z)
  return a[index(m, x - 1, y, z)] + a[index(m, x + 1, y, z)] + a[index(m, x, y - 1, z)]
    + a[index(m, x, y + 1, z)] + a[index(m, x, y, z - 1)] + a[index(m, x, y, z + 1)]
end

local function residual(level)
  local m, u, f, r = level.m, level.u, level.f, level.r
  all(m, function(cell, x, y, z) r[cell] = f[cell] + around(u, m, x, y, z) - 6 * u[cell] end)
end

local function smooth(level)
  residual(level)
  local u, r = level.u, level.r
  all(level.m, function(cell) u[cell] = u[cell] + 0.12 * r[cell] end)
end

local function restrict(fine, coarse)
  local m, r = fine.m, fine.r
  all(coarse.m, function(cell, x, y, z)
    local sum = 0.0
    for k = 0, 7 do sum = sum + r[index(m, 2 * x + k % 2, 2 * y + k // 2 % 2, 2 * z + k // 4)] end
    coarse.f[cell], coarse.u[cell] = sum / 2, 0.0
  end)
end

local function interpolate(coarse, fine)
  local m, u, from = coarse.m, fine.u, coarse.u
  all(fine.m, function(cell, x, y, z)
    u[cell] = u[cell] + from[index(m, x // 2, y // 2, z // 2)]
  end)
end

local function cycle(levels, k)
  local level = levels[k]
  smooth(level)
  if k < #levels then
    residual(level)
    restrict(level, levels[k + 1])
    cycle(levels, k + 1)
    interpolate(levels[k + 1], level)
  end
  smooth(level)
end

local function norm(level)
  local sum = 0.0
  for _, value in ipairs(level.r) do sum = sum + value * value end
  return sum
end

local levels = {}
while n >= 2 do levels[#levels + 1], n = new(n), n // 2 end
-- As in MG: +1 and -1 at random cells, as many of each, so that a solution exists.
local top = levels[1]
local next_cell = common.random(9, #top.f)
for k = 1, 20 do
  local cell = next_cell() + 1
  top.f[cell] = top.f[cell] + (k % 2 == 0 and 1.0 or -1.0)
end

common.measure(function()
  residual(top)
  local before = norm(top)
  for _ = 1, cycles do cycle(levels, 1) end
  residual(top)
  local after = norm(top)
  assert(after < before, "does not converge")
  return string.format("%.10e", after)
end, {"3.3008569832e-01", "5.8291582304e-01", "2.0416136160e+00", "4.0872928498e+00"})
