-- common.lua -- what the programs of this folder share.
--
-- Each is run as  lua-mt PROGRAM.lua [THREADS [SIZE]]  or with options, which --help shows, and
-- prints one line: the microseconds of its parallel part, and its result, which does not depend on
-- the number of threads. A result that is not the known one of its preset ends it with an error.
local common = {threads = 1}
local presets, preset = {"tiny", "small", "paper", "large"}, 1
local size, help

local function refuse(...)
  io.stderr:write(arg[0], ": ", string.format(...), "\n")
  os.exit(2)
end

local function number(name, text)
  local n = math.tointeger(tonumber(text))
  if not n or n < 1 then refuse("%s needs a whole number above 0, not '%s'", name, text) end
  return n
end

local take = {
  ["--threads"] = function(text) common.threads = number("--threads", text) end,
  ["--size"] = function(text) size = number("--size", text) end,
  ["--preset"] = function(text)
    for k, name in ipairs(presets) do if name == text then preset = k; return end end
    refuse("no preset is called '%s'; there are %s", text, table.concat(presets, ", "))
  end,
}

-- The words that follow the program's name: two numbers at most, or options.
local function parse()
  local k, numbers = 1, {"--threads", "--size"}
  while arg[k] do
    local name, value = arg[k], arg[k + 1]
    if name == "--help" then
      help, k = true, k + 1
    elseif take[name] then
      if not value then refuse("option '%s' needs a value", name) end
      take[name](value)
      k = k + 2
    elseif numbers[k] and tonumber(name) then
      take[numbers[k]](name)
      k = k + 1
    else
      refuse("there is no option '%s'; see --help", name)
    end
  end
end
parse()

-- The program's first comment is what it says about itself.
local function show_help(sizes)
  for line in io.lines(arg[0]) do
    local text = line:match("^%-%- ?(.*)")
    if not text then break end
    print(text)
  end
  print("\n  --threads  how many threads (default: 1)")
  print("  --preset   sizes: tiny, small, paper or large (default: tiny)")
  print("  --size     the number itself (default: the preset's)\n")
  for k, name in ipairs(presets) do print(string.format("  %-6s %10d", name, sizes[k])) end
  print("\nPrints microseconds and the result; a preset's size must have the known result.")
  os.exit(0)
end

local known_sizes

-- The program's size: that of the preset, or the given one.
function common.size(...)
  known_sizes = {...}
  if help then show_help(known_sizes) end
  size = size or known_sizes[preset]
  return size
end

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

-- Runs work(), prints, and holds the result against the known one of the preset of this size.
function common.measure(work, known)
  local start = thread.now()
  local result = work()
  local took = (thread.now() - start) * 1e6
  print(string.format("%.1f %s", took, result))
  for k, of_preset in ipairs(known_sizes) do
    if of_preset == size and tostring(result) ~= known[k] then
      error("verification failed: " .. tostring(result) .. ", not " .. tostring(known[k]), 0)
    end
  end
end

return common
