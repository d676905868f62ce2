# Garbage, finalizers, weak references and ObjectSpace while threads allocate.
require "weakref"
require "objspace"
lines = []
class Thing
  attr_reader :name
  def initialize(name) = @name = name
end
finalized = Queue.new
make = ->(k, n) { n.times { |i| ObjectSpace.define_finalizer(Thing.new("#{k}.#{i}"), ->(_) { finalized << 1 }) }; nil }
kept = 3.times.map { |k| Thread.new { make.(k, 60); Array.new(50) { |i| Thing.new("kept#{k}.#{i}") } } }.map(&:value)
busy = 2.times.map { Thread.new { 150.times { |i| Array.new(20) { |j| [i, j, "#{i}:#{j}"] } } ; :ok } }
8.times { GC.start; Thread.pass }
lines << busy.map(&:value).inspect
GC.start
sleep 0.01
lines << (finalized.size > 150 && finalized.size <= 180)
lines << kept.flatten.map(&:name).sort.hash.eql?(3.times.flat_map { |k| 50.times.map { |i| "kept#{k}.#{i}" } }.sort.hash)
lines << (ObjectSpace.each_object(Thing).count >= 150)
# weak references and maps
map = ObjectSpace::WeakMap.new
keys = Array.new(30) { |i| "key#{i}" }
values = keys.map { |k| map[k] = Thing.new(k) }
threads = 3.times.map { |n| Thread.new { 20.times.all? { |i| k = keys[(i * 7 + n) % 30]; map[k].name == k } } }
3.times { GC.start }
lines << threads.map(&:value).inspect << values.map(&:name).eql?(keys)
refs = Thread.new { Array.new(100) { |i| WeakRef.new(Thing.new(i)) } }.value
GC.start
dead = refs.count { |r| !r.weakref_alive? }
lines << (dead > 50)
alive = refs.select(&:weakref_alive?).all? { |r| begin; r.name.is_a?(Integer); rescue WeakRef::RefError; true; end }
lines << alive
# counters add up
before = GC.stat(:total_allocated_objects)
4.times.map { Thread.new { 500.times { Object.new } } }.each(&:join)
more = GC.stat(:total_allocated_objects) - before
lines << (more >= 2000 && more < 4000)
lines << (GC.count > 8)
# moved while others run
if GC.respond_to?(:compact)
  data = Array.new(300) { |i| ["s#{i}", { i => i.to_s }] }
  readers = 2.times.map { Thread.new { 10.times.all? { data.each_with_index.all? { |(s, h), i| s == "s#{i}" && h[i] == i.to_s } } } }
  2.times { GC.compact }
  lines << readers.map(&:value).inspect
end
ids = 3.times.map { Thread.new { Array.new(50) { Object.new.object_id } } }.map(&:value).flatten
lines << ids.uniq.size
o = Object.new
lines << ObjectSpace._id2ref(o.object_id).equal?(o)
lines << (ObjectSpace.memsize_of("x" * 1000) > 1000)
GC.disable
lines << GC.enable
GC.stress = true
r = 2.times.map { |k| Thread.new { 5.times.map { |i| { i => [k, "#{i}" * 20] } }.inspect } }.map(&:value)
GC.stress = false
lines << r.map(&:size).inspect
GC.verify_internal_consistency
ObjectSpace.define_finalizer("last", ->(_) { puts "at the end" })
puts lines
