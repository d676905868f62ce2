# Ractors beside threads.
Warning[:experimental] = false
lines = []
before = 3.times.map { |k| Thread.new { 100.times.map { |i| (i * k).to_s }.join.size } }.map(&:value)
lines << before.inspect
work = 3.times.map { |k| Thread.new { 200.times.sum { |i| "#{i}".size * k } } }
ractors = 3.times.map { |k| Ractor.new(k) { |n| 100.times.map { |i| [i, n].sum.to_s }.join.hash.class.to_s + n.to_s } }
lines << ractors.map(&:take).inspect << work.map(&:value).inspect
pipe = Ractor.new { loop { Ractor.yield(Ractor.receive * 2) } }
lines << 5.times.map { |i| pipe.send(i); pipe.take }.inspect
r = Ractor.new { Thread.new { Array.new(10) { |i| i * i } }.value.sum }
lines << r.take
bad = Ractor.new { Thread.current.report_on_exception = false; raise "inside" }
lines << (begin; bad.take; rescue Ractor::RemoteError => e; e.cause.message; end)
moved = "text".dup
r = Ractor.new { Ractor.receive << "!" }
r.send(moved, move: true)
lines << r.take << (begin; moved.size; rescue Ractor::MovedError => e; e.class; end)
lines << (begin; Ractor.new { $x = 1 }.tap(&:itself).take; rescue => e; e.class; end) if false
got = 4.times.map { |i| Ractor.new(i) { |n| n } }
n = []
until got.empty?
  x, v = Ractor.select(*got)
  got.delete(x)
  n << v
end
lines << n.sort.inspect
GC.start
lines << 3.times.map { |k| Thread.new { 100.times.map { |i| { i => k } }.size } }.map(&:value).inspect
lines << Ractor.make_shareable([["a"], { b: "c" }]).frozen?
lines << Ractor.count
puts lines
