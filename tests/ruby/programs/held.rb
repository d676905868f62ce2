# held.rb THREADS TURNS -- objects that only a C function's frame, registers or a local variable hold
# while blocks run, at many depths of the stack, and one more thread that collects garbage again and
# again. A length of 64 yield points and more lets transactions begin deep and go on far above.
count, turns = Integer(ARGV[0]), Integer(ARGV[1])

Sum = Struct.new(:number) do
  def +(other) = number + other
  def <=>(other) = number <=> other.number
end

def spin(count)
  n = 0
  n += 1 while n < count
  n
end

NULL = File.open(File::NULL, "w")
NULL.sync = true

# Each calls the block once or twice, with an object of its own that nobody else knows.
HOLDERS = {
  array: ->(name, &block) { [0, 1].map { |n| block.call if n == 1; "#{name}#{n}" }.join },
  string: ->(name, &block) { "-#{name}-".gsub("-") { |found| block.call; found + name } },
  table: ->(name, &block) { { a: name }.transform_values { |v| block.call; v + "!" }[:a] + name },
  sorted: ->(name, &block) { [2, 1].sort_by { |n| block.call if n == 1; "#{name}#{n}" }.join },
  sum: ->(name, &block) { [1, 2].inject(name + ":") { |sum, n| block.call; sum + n.to_s } },
  fiber: ->(name, &block) { Fiber.new { block.call; name + "f" }.resume + name.upcase },
  enumerator: ->(name, &block) { [name].each_with_index.to_a.map { |n, i| block.call; n * 3 }[0] },
  ensured: ->(name, &block) { begin; raise name + "e"; rescue => e; block.call; e.message; end },
  slept: ->(name, &block) { block.call; sleep(0); name + "s" },
  passed: ->(name, &block) { [name].map { |n| block.call; Thread.pass; n + "p" }.first },
  written: ->(name, &block) { block.call; [name].map { |n| NULL.write(n, n.dup); n * 2 }.last },
  locked: ->(name, &block) { Mutex.new.synchronize { block.call; name.dup } },
  thrown: ->(name, &block) { catch(:it) { 2.times { block.call; throw :it, name + "t" } } },
}

def nested(holders, name, deepest)
  return deepest.call if holders.empty?
  HOLDERS.fetch(holders.first).call(name) { nested(holders.drop(1), name + "n", deepest) }
end

# Functions that look how much is left of the stack, from where little of it is in use.
def shallow(number)
  [Sum.new(number), 2].inject(:+) + [Sum.new(2), Sum.new(1)].min.number
end

def work(orders, turns, number)
  quiet = -> { nil }
  turns.times do |i|
    order = orders[i % orders.size]
    name = "v#{number}.#{i}"
    found = nested(order, name, -> { spin(10 + i % 40) })
    spin(20 + i % 60)
    raise "wrong sum" unless shallow(i) == i + 3
    spin(60)
    wanted = nested(order, name, quiet)
    raise "#{order}: #{found} not #{wanted}" unless found == wanted
  end
  "ok"
end

kinds = HOLDERS.keys
orders = kinds.map.with_index { |kind, i| [kind] + kinds.rotate(i).first(3) } + kinds.map { |k| [k] * 3 }
done = false
collector = Thread.new do
  n = 0
  until done
    spin(100)
    GC.start(full_mark: (n += 1).odd?, immediate_sweep: true)
  end
end
results = count.times.map { |n| Thread.new { work(orders, turns, n) } }.map(&:value)
done = true
collector.join
puts results.uniq
