-- sp.lua -- scalar pentadiagonal systems along the lines of a cube, with the structure of SP of the
-- NAS benchmarks: the same steps as bt.lua, but each number of a cell for itself, damped by its
-- neighbors' neighbors.
local common = require "common"
local adi = require "adi"

-- Symmetric elimination of rows (f, -e, d, -e, f) without a choice of pivots: d outweighs the rest.
local function solve_part(r, n, first, step)
  local e, f = adi.dt, 0.05 * adi.dt
  local one, two = {}, {}  -- what each row keeps of the next one and the one after it
  local one1, two1, two2, y1, y2 = 0.0, 0.0, 0.0, 0.0, 0.0
  local one2 = 0.0
  for k = 1, n do
    local cell = first + (k - 1) * step
    local low = -e - f * one2  -- of the row before, once the one before that is gone
    local scale = 1 / (1 + 2.2 * e - f * two2 - low * one1)
    local y = (r[cell] - f * y2 - low * y1) * scale
    one2, two2, y2 = one1, two1, y1
    one1, two1, y1 = (-e - low * two1) * scale, f * scale, y
    one[k], two[k], r[cell] = one1, two1, y
  end
  for k = n - 1, 1, -1 do
    local cell = first + (k - 1) * step
    local further = k + 2 <= n and two[k] * r[cell + 2 * step] or 0.0
    r[cell] = r[cell] - one[k] * r[cell + step] - further
  end
end

local function solve_line(grid, first, step)
  for part = 1, adi.parts do solve_part(grid.r[part], grid.n, first, step) end
end

local known = {"1.8247560551e+00", "5.9371150993e+01", "1.8228549902e+03", "9.4494904494e+03"}
common.measure(function() return adi.run(common.size(6, 24, 80, 140), 3, solve_line) end, known)
