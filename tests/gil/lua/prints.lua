-- prints.lua THREADS LINES -- what threads print appears once each, whole, whatever aborts.
local tasks = {}
for id = 1, tonumber(arg[1]) do
  tasks[id] = thread.start(function()
    local sum = 0
    for line = 1, tonumber(arg[2]) do
      for i = 1, 100 do sum = sum + i end
      print(id, line, sum)
      io.write(string.format("%d %d %d\n", id, line, sum))
    end
  end)
end
for _, t in ipairs(tasks) do t:join() end
