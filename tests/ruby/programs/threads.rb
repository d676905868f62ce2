# Threads with all that can be between two yield points; each line of output is known.
count = Integer(ARGV[0]) # threads
turns = Integer(ARGV[1]) # of each

def expect(what, got, wanted)
  raise "#{what}: #{got.inspect}, not #{wanted.inspect}" unless got == wanted
end

def threads(count, &work)
  count.times.map { |k| Thread.new(k, &work) }.map(&:value)
end

# Integers, floats, objects, strings, arrays, hashes.
class Pair
  attr_reader :left, :right
  def initialize(left, right) = (@left, @right = left, right)
  def sum = @left + @right
end

sums = threads(count) do |k|
  total = 0
  turns.times do |i|
    pair = Pair.new(i, k)
    words = { i => [pair, "w#{i}"] }
    total += words[i][0].sum + words[i][1].size + (i * 0.5).to_i
  end
  total
end
wanted = count.times.map do |k|
  turns.times.sum { |i| i + k + "w#{i}".size + (i / 2) }
end
expect(:sums, sums, wanted)

# A lock, a queue, a condition.
lock = Mutex.new
shared = 0
threads(count) { turns.times { lock.synchronize { shared += 1 } } }
expect(:lock, shared, count * turns)

queue = SizedQueue.new(3)
taker = Thread.new { Array.new(count * 20) { queue.pop }.sum }
threads(count) { |k| 20.times { queue << k } }
expect(:queue, taker.value, 20 * count * (count - 1) / 2)

# Exceptions, jumps out of blocks, fibers, collections.
results = threads(count) do |k|
  found = 0
  (turns / 10).times do |i|
    begin
      raise ArgumentError, i.to_s if i.odd?
      found += [1, 2, 3].each { |x| break x if x == 2 }
    rescue ArgumentError => e
      found += e.message.to_i
    end
    generator = Fiber.new { 3.times { |n| Fiber.yield n }; 10 }
    found += 4.times.sum { generator.resume }
    GC.start if i % 50 == k
  end
  found
end
each_turn = (turns / 10).times.sum { |i| (i.odd? ? i : 2) + 13 }
expect(:control, results, [each_turn] * count)

# A child has the one thread that forked, and may start others.
child = Thread.new do
  fork { exit!(threads(2) { |k| k + 1 }.sum) }
end.value
expect(:fork, Process.wait2(child)[1].exitstatus, 3)

# Threads that sleep, wake each other, and end each other.
sleeper = Thread.new { sleep; :woken }
sleep 0.01 until sleeper.stop?
sleeper.run
expect(:wake, sleeper.value, :woken)
spinner = Thread.new { loop { shared += 1 } }
sleep 0.01
expect(:kill, spinner.kill.join(20), spinner)

puts "ok"
