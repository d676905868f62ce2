# serve.rb [SIZE] -- WEBrick, which starts a thread for each connection. /NUMBER is a page of SIZE
# (46) bytes that names its number; /counts tells of objects, for soak.py. The first line of output is the port. TERM ends it.
require "webrick"

size = Integer(ARGV[0] || 46)
server = WEBrick::HTTPServer.new(
  Port: 0, BindAddress: "127.0.0.1", Logger: WEBrick::Log.new(File::NULL), AccessLog: []
)
server.mount_proc("/") do |request, response|
  number = Integer(request.path.delete_prefix("/"), 10)
  response.content_type = "text/html"
  response.body = "<html><body>#{number}</body></html>".ljust(size)
end
server.mount_proc("/counts") do |_, response|
  GC.start
  response.body =
    %({"objects": #{GC.stat(:heap_live_slots)}, "threads": #{Thread.list.size}})
end
trap("TERM") { server.shutdown }
puts server.listeners[0].addr[1]
$stdout.flush
server.start
