# collect.rb THREADS TURNS -- objects of all kinds, of which some are kept, while garbage is collected
# at nearly each allocation, in steps and at once, and the heap is checked and moved.
count, turns = Integer(ARGV[0]), Integer(ARGV[1])

class Pair
  attr_accessor :left, :right
  def initialize(left, right) = (@left, @right = left, right)
end

def work(number, turns)
  kept = []
  turns.times do |i|
    table = { i => "x" * 40, -i => [number, i, i, i, i], name: "n#{i}" }
    pair = Pair.new(table, i * 0.5)
    pair.right = pair.left.transform_values(&:itself)
    kept[i & 7] = pair
    [i, number].each_slice(1).map { |(x)| x.to_s }.join(",").sub(/,/) { |comma| comma * 2 }
    GC.start(full_mark: i.even?, immediate_sweep: i % 3 == 0) if i % 11 == number
  end
  kept.compact.map { |pair| [pair.left[:name], pair.right.size, pair.left.values[1].sum] }
end

wanted = count.times.map { |number| work(number, turns) }
before = GC.stat(:total_allocated_objects)
GC.stress = true
found = count.times.map { |number| Thread.new { work(number, turns) } }.map(&:value)
GC.stress = false
raise "#{found} not #{wanted}" unless found == wanted

GC.verify_internal_consistency
allocated = GC.stat(:total_allocated_objects) - before
raise "#{allocated} objects" unless allocated > count * turns * 8
live = ObjectSpace.count_objects.values_at(:TOTAL, :FREE).reduce(:-)
off = (GC.stat(:heap_live_slots) - live).abs
raise "#{off} objects more or less than are alive" unless off < 200
GC.compact if GC.respond_to?(:compact)
raise "moved" unless wanted == count.times.map { |number| work(number, turns) }
puts "ok"
