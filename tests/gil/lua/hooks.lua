-- hooks.lua -- what hooks that count instructions or lines see; the same as in Lua without threads.
local function count(mask, every, run)
  local n = 0
  debug.sethook(function() n = n + 1 end, mask, every)
  run()
  debug.sethook()
  return n
end

local loops = {
  function() local i = 0 repeat i = i + 1 until i >= 100 end,
  function() local i = 0 while i < 100 do i = i + 1 end end,
  function() for _ in next, {1, 2, 3, x = 4} do end end,
  function()
    local i = 0
    repeat
      i = i + 1
      if i % 7 == 0 then goto on end
      i = i + 1
      ::on::
    until i
      >= 100
  end,
}

for _, loop in ipairs(loops) do
  io.write(count("l", 0, loop))
  for every = 1, 5 do io.write(" ", count("", every, loop), " ", count("l", every, loop)) end
  print()
end
