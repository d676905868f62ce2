# Fibers, enumerators and generators in several threads.
Thread.report_on_exception = false
lines = Array.new(4) do |k|
  Thread.new do
    out = []
    fib = Enumerator.new { |y| a, b = 0, 1; loop { y << a; a, b = b, a + b } }
    out << fib.lazy.select(&:even?).map { |x| x + k }.first(10).sum
    a = [1, 2, 3].each
    b = %w[a b c].each
    out << 3.times.map { "#{a.next}#{b.next}" }.join
    out << (begin; a.next; rescue StopIteration; :stop; end)
    fibers = 10.times.map { |i| Fiber.new { |x| 5.times { x = Fiber.yield(x + i) }; :done } }
    out << 5.times.map { |n| fibers.sum { |f| f.resume(n) } }
    f = Fiber.new { begin; Fiber.yield 1; ensure; out << :ensured; end }
    f.resume
    out << (begin; f.raise(ArgumentError, "in"); rescue ArgumentError => e; e.message; end)
    deep = ->(n) { n == 0 ? Fiber.yield(:bottom) : deep.(n - 1) }
    f = Fiber.new { deep.(100); :top }
    out << f.resume << f.resume << f.alive?
    GC.start if k == 1
    f = Fiber.new { Fiber.new { Fiber.new { Fiber.yield; 1 }.tap(&:resume).resume + 1 }.resume + 1 }
    out << f.resume
    out << 200.times.map { |i| Fiber.new { Fiber.yield i.to_s; i }.tap { |g| g.resume } }.map(&:resume).sum
    e = [4, 5].each_with_index
    out << e.next << e.peek << e.size
    g = Enumerator.produce(1) { |x| x * 3 }
    out << g.take_while { |x| x < 1000 }.inspect
    out << [1, 2, 3, 4].each_slice(2).with_index.map { |s, i| s.sum * i }.inspect
    out << (begin; Fiber.yield; rescue FiberError => x; x.class; end)
    other = Fiber.new { 1 }
    out << (begin; Thread.new { other.resume }.value; rescue FiberError => x; x.message; end)
    out
  end.tap { |t| t.report_on_exception = false }
end.map(&:value)
Thread.report_on_exception = false
puts lines.map(&:inspect)
