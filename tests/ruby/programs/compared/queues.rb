# Queue, SizedQueue, ConditionVariable, Mutex, Monitor between threads.
require "monitor"
N = 40
lines = []
# several producers and consumers; nothing lost, nothing twice
queue = SizedQueue.new(2)
producers = 3.times.map { |k| Thread.new { N.times { |i| queue << k * N + i } } }
consumers = 2.times.map { Thread.new { got = []; while (x = queue.pop) != :end; got << x; end; got } }
producers.each(&:join)
2.times { queue << :end }
got = consumers.map(&:value)
lines << got.flatten.sort.eql?((0...3 * N).to_a)
lines << got.map { |g| 3.times.all? { |k| own = g.select { |x| x / N == k }; own == own.sort } }.all?
# turns by a condition variable
lock, turn, cond, order = Mutex.new, 0, ConditionVariable.new, []
4.times.map do |k|
  Thread.new do
    N.times do
      lock.synchronize do
        cond.wait(lock) until turn % 4 == k
        order << k
        turn += 1
        cond.broadcast
      end
    end
  end
end.each(&:join)
lines << (order == [0, 1, 2, 3] * N)
# a monitor is entered again by its owner
class Stock
  include MonitorMixin
  attr_reader :count
  def initialize = (super(); @count = 0; @more = new_cond)
  def put(n) = synchronize { n.times { put_one }; @more.broadcast }
  def put_one = synchronize { @count += 1 }
  def take(n) = synchronize { @more.wait_while { @count < n }; @count -= n }
end
stock = Stock.new
takers = 3.times.map { Thread.new { N.times { stock.take(3) } } }
putters = 3.times.map { Thread.new { N.times { stock.put(3) } } }
(takers + putters).each(&:join)
lines << stock.count
# closed, empty, non-blocking, timed
q = Queue.new
waiting = Thread.new { q.pop }
Thread.pass until waiting.stop?
q.close
lines << waiting.value.inspect << (begin; q << 1; rescue ClosedQueueError => e; e.class; end)
lines << (begin; Queue.new.pop(true); rescue ThreadError => e; e.message; end)
lines << (begin; s = SizedQueue.new(1); s << 1; s.push(2, true); rescue ThreadError => e; e.message; end)
m = Mutex.new
m.lock
lines << Thread.new { m.try_lock }.value << m.owned? << Thread.new { m.owned? }.value
lines << (begin; m.lock; rescue ThreadError => e; e.message; end)
lines << Thread.new { begin; m.unlock; rescue ThreadError => e; e.message; end }.value
m.unlock
lines << m.synchronize { cond.wait(m, 0.01) ? :woken : :late }.class
# a thread that dies with a lock gives it back
Thread.new { m.lock }.join
lines << m.locked?
begin
  Queue.new.pop
rescue Exception => e
  lines << e.class << e.message.lines.first
end
puts lines
