# Ruby: its global lock, Mutex, Monitor, ConditionVariable with timeout, SizedQueue.
require 'monitor'

THREADS = 4
STEPS = 5000
counter = 0
mutex = Monitor.new
items = SizedQueue.new(8)

counters = THREADS.times.map do
  Thread.new { STEPS.times { mutex.synchronize { mutex.synchronize { counter += 1 } } } }
end
consumers = THREADS.times.map do
  Thread.new do
    total = 0
    while (item = items.pop) != :end
      total += item
    end
    total
  end
end
1000.times { |number| items.push(number) }
THREADS.times { items.push(:end) }
total = consumers.sum(&:value)
counters.each(&:join)

ready = 0
plain = Mutex.new
condition = ConditionVariable.new
announcers = THREADS.times.map do
  Thread.new { plain.synchronize { ready += 1; condition.broadcast } }
end
plain.synchronize { condition.wait(plain, 20) while ready < THREADS }
announcers.each(&:join)
start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
plain.synchronize { condition.wait(plain, 0.05) }
good = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start >= 0.045
puts "counter=#{counter} sum=#{total} waits=#{good ? 'right' : 'wrong'}"
