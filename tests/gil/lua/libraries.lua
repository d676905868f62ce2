-- libraries.lua THREADS ROUNDS -- threads that share dkjson, penlight and luaunit, which know nothing
-- of threads: each thread's results are the same, and are printed once. Not pl.pretty.read, which
-- takes strings' methods away meanwhile, from all threads.
local threads, rounds = tonumber(arg[1]), tonumber(arg[2])
local json, unit = require "dkjson", require "luaunit"
local list, map, set = require "pl.List", require "pl.OrderedMap", require "pl.Set"
local class, pretty, seq = require "pl.class", require "pl.pretty", require "pl.seq"
local stringx, tablex, template = require "pl.stringx", require "pl.tablex", require "pl.template"
local order = {"id", "name", "pages", "of", "share"}

local function texts(i)
  local book = {id = i, name = "book " .. i, pages = {i, i + 1, i + 2}, of = {share = i / 4}}
  local text = json.encode(book, {indent = true, keyorder = order})
  assert(tablex.deepcompare(json.decode(text), book))
  assert(tablex.deepcompare(load("return " .. pretty.write(book))(), book))
  local page = template.substitute("# for _, p in ipairs(pages) do\n<$(p)>\n# end\n",
                                   {pages = book.pages, ipairs = ipairs})
  return text .. page .. stringx.join("|", stringx.split(stringx.center(book.name, 20, "."), " "))
end

local function containers(i)
  local squares = list.range(1, 10):map(function(x) return x * x + i end):reverse()
  local ordered = map()
  for n, square in ipairs(squares) do ordered:set("key" .. n, square) end
  local odd = set(seq.copy(seq.filter(seq.range(1, 9), function(x) return x % 2 == 1 end)))
  assert(odd[7] and not odd[8] and set.len(odd) == 5)
  return squares:concat(",") .. table.concat(ordered:keys(), ",") .. squares:slice(2, 4):len()
end

local shape = class()
function shape:_init(side) self.side = side end
local square = class(shape)
function square:area() return self.side * self.side end

local function suite(k)
  local tests = {}
  function tests.test_area() unit.assertEquals(square(k):area(), k * k) end
  function tests.test_table() unit.assertItemsEquals({1, 2, k}, {k, 2, 1}) end
  function tests.test_error() unit.assertErrorMsgContains("wrong", error, "is wrong") end
  function tests.test_text() unit.assertStrContains(texts(k), "book " .. k) end
  function tests.test_fails() unit.assertEquals({1, {2}}, {1, {3}}) end
  local runner = unit.LuaUnit.new()
  runner:setOutputType("nil")
  runner:runSuiteByInstances({{"tests", tests}})
  local result = runner.result
  return result.successCount .. " passed, " .. result.failureCount .. " failed"
end

local function work()
  local results = {}
  for i = 1, rounds do
    results[#results + 1] = texts(i)
    results[#results + 1] = containers(i)
    results[#results + 1] = suite(i)
  end
  return table.concat(results, "\n")
end

local started = {}
for k = 1, threads do started[k] = thread.start(work) end
local first = started[1]:join()
for k = 2, threads do assert(started[k]:join() == first, "threads differ") end
print(first)
