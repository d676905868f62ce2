-- bt.lua -- block tridiagonal systems along the lines of a cube, with the structure of BT of the
-- NAS benchmarks; blocks are 2 by 2 here. Makes a few small tables for each line.
local common = require "common"
local adi = require "adi"

-- Block elimination (Thomas): diagonal block {d, c; c, d}, neighbors -e times the unit.
local function solve_line(grid, first, step)
  local n, e, c = grid.n, adi.dt, -0.1 * adi.dt
  local p, q = grid.r[1], grid.r[2]
  local upper = {}  -- the symmetric blocks {s, t; t, s} that the next lines see
  local s, t, a, b = 0.0, 0.0, 0.0, 0.0
  for k = 1, n do
    local cell = first + (k - 1) * step
    local d, o = 1 + 2 * e - c - e * s, c - e * t
    local scale = 1 / (d * d - o * o)
    local x, y = p[cell] + e * a, q[cell] + e * b
    a, b = scale * (d * x - o * y), scale * (d * y - o * x)
    s, t = scale * d * e, -scale * o * e
    upper[k] = {s, t}
    p[cell], q[cell] = a, b
  end
  for k = n - 1, 1, -1 do
    local cell, block = first + (k - 1) * step, upper[k]
    local x, y = p[cell + step], q[cell + step]
    p[cell] = p[cell] + block[1] * x + block[2] * y
    q[cell] = q[cell] + block[2] * x + block[1] * y
  end
end

local known = {"1.9765242713e+00", "6.0306067778e+01", "1.7934802906e+03", "9.2324753511e+03"}
common.measure(function() return adi.run(common.size(6, 24, 80, 140), 3, solve_line) end, known)
