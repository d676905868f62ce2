-- endless.lua -- whatever a thread's loop is made of, others run meanwhile: each loop here ends when
-- another thread, which it does not wait for, says so.
local begun, done
local words = {}

local loops = {
  function() repeat until done end,
  function() local n = 0 repeat n = n + 1 until done and n > 10 end,
  function() while not done do end end,
  function() for _ = 1, math.maxinteger do if done then break end end end,
  function() for _ in function() return not done or nil end do end end,
  function() for _ in rawget, words, "more" do end end,  -- a function in C
  function() ::again:: if not done then goto again end end,
  function()
    local function call() if not done then return call() end end
    call()
  end,
  function()
    local function less(a, b) return a < b end
    while not done do table.sort({3, 1, 2}, less) end
  end,
}

for _, loop in ipairs(loops) do
  begun, done, words.more = false, false, "more"
  local t = thread.start(function()
    begun = true
    loop()
  end)
  while not begun do end
  for _ = 1, 1000 do end
  done, words.more = true, nil
  t:join()
end
print("ok")
