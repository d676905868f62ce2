-- http.lua -- a small web server, as WEBrick is in the paper: a thread for each connection reads
-- requests, parses them, looks the page up and answers. Connections are pairs of channels in the
-- place of sockets; each client sends one request after the other, and sleeps for as long as a
-- network would take. The interpreter lock is free while a thread waits or sleeps.
local common = require "common"
local requests, network = common.size(20, 2000, 30000, 150000), 20e-6

local pages = {["/"] = "<html><body>It works, and it is short.</body></html>"}
for k = 1, 9 do pages["/page/" .. k] = ("<p>%d</p>"):rep(k):gsub("%%d", tostring(k)) end

local function parse(text)
  local method, target, rest = text:match("^(%u+) (%S+) HTTP/1%.1\r\n(.*)$")
  local headers = {}
  for name, value in rest:gmatch("([%w-]+): ([^\r]*)\r\n") do headers[name:lower()] = value end
  local path, query = target:match("^([^?]*)%??(.*)$")
  local parameters = {}
  for name, value in query:gmatch("([^&=]+)=([^&]*)") do parameters[name] = value end
  return {method = method, path = path, headers = headers, parameters = parameters}
end

local function response(status, body)
  local lines = {
    "HTTP/1.1 " .. status,
    "Content-Type: text/html",
    "Content-Length: " .. #body,
    "Connection: keep-alive",
    "",
    body,
  }
  return table.concat(lines, "\r\n")
end

local function handle(text)
  local request = parse(text)
  if request.method ~= "GET" then return response("405 Method Not Allowed", "") end
  if not request.headers.host then return response("400 Bad Request", "") end
  local page = pages[request.path]
  if not page then return response("404 Not Found", "no " .. request.path) end
  return response("200 OK", page .. (request.parameters.id or ""))
end

local function serve(connection)
  while true do
    local text = connection.requests:receive()
    if not text then return end
    connection.responses:send(handle(text))
  end
end

local function ask(connection, path, id)
  connection.requests:send(
    "GET " .. path .. "?id=" .. id .. " HTTP/1.1\r\nHost: here\r\nAccept: text/html\r\n\r\n")
  thread.sleep(network)
  return connection.responses:receive()
end

-- Returns how many bytes of bodies came.
local function client(connection)
  local bytes = 0
  for k = 1, requests do
    local path = "/page/" .. k % 10  -- one of ten is not there
    local answer = ask(connection, path, k)
    local status, body = answer:match("^HTTP/1%.1 (%d+).-\r\n\r\n(.*)$")
    assert(status == (pages[path] and "200" or "404"), "wrong status")
    assert(answer:find("Content-Length: " .. #body, 1, true), "wrong length")
    bytes = bytes + #body
  end
  connection.requests:close()
  return bytes
end

common.measure(function()
  local servers, clients, bytes = {}, {}, 0
  for t = 1, common.threads do
    local connection = {requests = thread.channel(1), responses = thread.channel(1)}
    servers[t] = thread.start(serve, connection)
    clients[t] = thread.start(client, connection)
  end
  for t = 1, common.threads do
    bytes = bytes + clients[t]:join()
    servers[t]:join()
  end
  return bytes // common.threads
end, {"767", "80201", "1235001", "6260001"})
