-- ft.lua -- Fourier transforms of the rows, then of the columns of a square, as FT of the NAS
-- benchmarks does in three dimensions; then back. Allocates a row's numbers for each transform.
local common = require "common"
local n = common.size(16, 128, 1024, 2048)  -- a power of two
local re, im = {}, {}

local next_number = common.random(3, 1024)
for i = 1, n * n do re[i], im[i] = next_number() / 1024, next_number() / 1024 end
local original = table.move(re, 1, n * n, 1, {})

-- In place, of the numbers 1..n; sign -1 forth, 1 back (not divided by n).
local function transform(a, b, sign)
  local j = 1
  for i = 1, n do
    if j > i then a[i], a[j], b[i], b[j] = a[j], a[i], b[j], b[i] end
    local m = n // 2
    while m >= 1 and j > m do j, m = j - m, m // 2 end
    j = j + m
  end
  local half = 1
  while half < n do
    for k = 0, half - 1 do
      local angle = sign * math.pi * k / half
      local c, s = math.cos(angle), math.sin(angle)
      for i = k + 1, n, 2 * half do
        local m = i + half
        local u, v = c * a[m] - s * b[m], c * b[m] + s * a[m]
        a[m], b[m] = a[i] - u, b[i] - v
        a[i], b[i] = a[i] + u, b[i] + v
      end
    end
    half = 2 * half
  end
end

-- Transforms lines first..last: numbers that are `stride` apart, lines that are `step` apart.
local function lines(stride, step, sign)
  return function(first, last)
    for line = first, last do
      local a, b, base = {}, {}, (line - 1) * step + 1
      for i = 1, n do a[i], b[i] = re[base + (i - 1) * stride], im[base + (i - 1) * stride] end
      transform(a, b, sign)
      for i = 1, n do re[base + (i - 1) * stride], im[base + (i - 1) * stride] = a[i], b[i] end
    end
  end
end

common.measure(function()
  common.split(n, lines(1, n, -1))
  common.split(n, lines(n, 1, -1))
  local sum = 0.0
  for i = 1, n * n, 7 do sum = sum + re[i] - im[i] end
  common.split(n, lines(n, 1, 1))
  common.split(n, lines(1, n, 1))
  for i = 1, n * n do assert(math.abs(re[i] / (n * n) - original[i]) < 1e-9, "not the inverse") end
  return string.format("%.8f", sum)
end, {"-41.05359781", "-408.87547857", "-99107.75901994", "-231837.55464803"})
