-- cg.lua -- conjugate gradients, with the structure of CG of the NAS benchmarks: products of a
-- sparse matrix and a vector, and updates of vectors, each split among the threads.
local common = require "common"
local n, steps, per_row = common.size(100, 20000, 200000, 800000), 4, 8

-- A symmetric matrix whose diagonal outweighs the rest, so that it is positive definite.
local rows = {}
for i = 1, n do rows[i] = {columns = {i}, values = {2.0 * per_row}} end
local next_column = common.random(7, n)
for i = 1, n do
  for _ = 1, per_row // 2 do
    local j = next_column() + 1
    if j ~= i then
      local a, b = rows[i], rows[j]
      a.columns[#a.columns + 1], a.values[#a.values + 1] = j, -0.5
      b.columns[#b.columns + 1], b.values[#b.values + 1] = i, -0.5
    end
  end
end

local x, r, p, q = {}, {}, {}, {}
for i = 1, n do x[i], r[i], p[i], q[i] = 0.0, 1.0, 1.0, 0.0 end

local function multiply(first, last)
  for i = first, last do
    local columns, values, sum = rows[i].columns, rows[i].values, 0.0
    for k = 1, #columns do sum = sum + values[k] * p[columns[k]] end
    q[i] = sum
  end
end

local function advance(alpha)
  return function(first, last)
    for i = first, last do
      x[i] = x[i] + alpha * p[i]
      r[i] = r[i] - alpha * q[i]
    end
  end
end

local function turn(beta)
  return function(first, last)
    for i = first, last do p[i] = r[i] + beta * p[i] end
  end
end

local function dot(a, b)  -- by one thread: the same order for every number of threads
  local sum = 0.0
  for i = 1, n do sum = sum + a[i] * b[i] end
  return sum
end

common.measure(function()
  local rho = dot(r, r)
  for _ = 1, steps do
    common.split(n, multiply)
    local alpha = rho / dot(p, q)
    common.split(n, advance(alpha))
    local before = rho
    rho = dot(r, r)
    common.split(n, turn(rho / before))
  end
  assert(rho < 1e-3 * n, "does not converge")
  return string.format("%.10e", rho)
end, {"2.5418647113e-07", "7.7209103385e-05", "7.4015179691e-04", "3.0356947045e-03"})
