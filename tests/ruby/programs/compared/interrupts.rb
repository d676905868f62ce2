# Thread#raise, #kill, #wakeup, handle_interrupt, Timeout, ensure.
require "timeout"
Thread.report_on_exception = false
def spin = loop { 1 + 1 }
lines = []
ran = Queue.new
victims = {
  spin: -> { spin }, sleep: -> { sleep }, queue: -> { Queue.new.pop },
  mutex: ->(m = $held) { m.lock }, join: -> { Thread.new { sleep 60 }.join }, io: -> { IO.pipe[0].read },
  each: -> { loop { [3, 1, 2].sort_by { |x| -x }.each { |x| x.to_s } } },
  hash: -> { loop { { a: 1 }.map { |k, v| [k, v] }.to_h } },
  fiber: -> { loop { Fiber.new { Fiber.yield 1; 2 }.resume } },
  sub: -> { loop { "a-b".gsub(/./) { |x| x * 2 } } },
}
$held = Mutex.new.tap(&:lock)
victims.each do |name, work|
  [:raise, :kill].each do |how|
    started = Queue.new
    t = Thread.new do
      begin
        started << 1
        work.call
      rescue IOError => e
        [:rescued, e.message]
      ensure
        ran << [name, how]
      end
    end
    started.pop
    sleep 0.002
    how == :raise ? t.raise(IOError, "from outside") : t.kill
    lines << [name, how, t.join(60) ? t.value : :still_there].inspect
  end
end
lines << (ran.size == victims.size * 2)
# masked until the block ends
seen = []
masked = Queue.new
t = Thread.new do
  Thread.handle_interrupt(RuntimeError => :never) do
    begin
      masked << 1
      Thread.pass until Thread.pending_interrupt?
      seen << :masked
      200.times { |i| seen << i if i == 199 }
    ensure
      seen << :ensured
    end
  end
  seen << :not_reached
rescue RuntimeError => e
  seen << e.message
end
masked.pop
t.raise("late")
t.join
lines << seen.inspect
# time limits
[-> (*) { spin }, ->(*) { sleep }, ->(*) { Queue.new.pop }, ->(*) { loop { "x" * 100 } }].each do |work|
  lines << (begin; Timeout.timeout(0.05, &work); rescue Timeout::Error => e; e.message; end)
end
lines << Timeout.timeout(60) { :in_time }
lines << (begin; Timeout.timeout(0.05, ArgumentError, "own") { spin }; rescue ArgumentError => e; e.message; end)
nested = begin
  Timeout.timeout(60) { begin; Timeout.timeout(0.02) { sleep }; rescue Timeout::Error; :inner; end }
end
lines << nested
# ensure runs once, in order, also when killed in it
steps = []
t = Thread.new { begin; begin; sleep; ensure; steps << 1; sleep 0.01; steps << 2; end; ensure; steps << 3; end }
Thread.pass until t.stop?
t.kill
t.join
lines << steps.inspect
t = Thread.new { Thread.stop; :woken }
Thread.pass until t.stop?
t.wakeup
lines << t.value << t.status.inspect
e = (Thread.new { raise "lost" }.value rescue $!)
lines << e.message
Thread.abort_on_exception = false
lines << Thread.new { Thread.current[:a] = 1; Thread.current.thread_variable_set(:b, 2); Fiber.new { [Thread.current[:a], Thread.current.thread_variable_get(:b)] }.resume }.value.inspect
puts lines
