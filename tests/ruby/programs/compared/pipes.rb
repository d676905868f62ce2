# Pipes, files, sockets, select and system calls in threads.
require "socket"
require "tempfile"
require "io/wait"
require "stringio"
lines = []
# a chain of pipes
r0, w0 = IO.pipe
last, threads = r0, []
4.times do |k|
  r, w = IO.pipe
  from = last
  threads << Thread.new { while (l = from.gets); w.puts "#{l.chomp}-#{k}"; end; w.close }
  last = r
end
writer = Thread.new { 50.times { |i| w0.puts i }; w0.close }
got = last.readlines(chomp: true)
[writer, *threads].each(&:join)
lines << got.eql?(50.times.map { |i| "#{i}-0-1-2-3" })
# big blocks through a small pipe
r, w = IO.pipe.each(&:binmode)
data = Random.new(1).bytes(300_000)
t = Thread.new { w.write(data); w.close }
lines << (r.read == data)
t.join
# many sockets, one server, select
server = TCPServer.new("127.0.0.1", 0)
port = server.addr[1]
handler = Thread.new do
  8.times.map { Thread.new(server.accept) { |s| while (l = s.gets); s.write(l.swapcase); end; s.close } }.each(&:join)
end
answers = 8.times.map do |k|
  Thread.new do
    s = TCPSocket.new("127.0.0.1", port)
    out = 10.times.map { |i| s.puts("Ab#{k}x#{i}"); s.gets.chomp }
    s.close_write
    out << s.read
    s.close
    out
  end
end.map(&:value)
handler.join
lines << answers.each_with_index.all? { |a, k| a == 10.times.map { |i| "aB#{k}X#{i}" } << "" }
a, b = UNIXSocket.pair
t = Thread.new { IO.select([b], nil, nil, 30)&.first&.first&.readpartial(10) }
a.write("hello")
lines << t.value
lines << IO.select([b], nil, nil, 0.01).inspect
lines << (begin; b.read_nonblock(5); rescue IO::WaitReadable; :would_wait; end)
a.close
lines << b.read.inspect << (begin; b.readpartial(1); rescue EOFError; :eof; end)
# closed by another thread
r, w = IO.pipe
t = Thread.new { begin; r.read; rescue IOError => e; e.message; end }
Thread.pass until t.stop?
r.close
lines << t.value
# a file with several writers, each with a handle of its own
file = Tempfile.new("x")
4.times.map { |k| Thread.new { File.open(file.path, "a") { |f| f.sync = true; 20.times { |i| f.write("#{k}:#{i}\n") } } } }.each(&:join)
lines << File.readlines(file.path).map(&:chomp).sort.eql?(4.times.flat_map { |k| 20.times.map { |i| "#{k}:#{i}" } }.sort)
lines << File.size(file.path)
sio = StringIO.new
m = Mutex.new
3.times.map { |k| Thread.new { 20.times { m.synchronize { sio.printf("%d,%s;", k, "z") } } } }.each(&:join)
lines << sio.string.size
lines << IO.popen(["tr", "a-z", "A-Z"], "r+") { |p| Thread.new { p.write("text"); p.close_write }; p.read }
lines << 3.times.map { |k| Thread.new { `echo #{k}`.chomp } }.map(&:value).inspect
lines << $stdin.class
u1 = UDPSocket.new.tap { |u| u.bind("127.0.0.1", 0) }
u2 = UDPSocket.new
t = Thread.new { u1.recvfrom(100)[0] }
u2.send("datagram", 0, "127.0.0.1", u1.addr[1])
lines << t.value
puts lines
