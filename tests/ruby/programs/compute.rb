# compute.rb THREADS TURNS KIND -- a computation in each of the threads (1: in the main thread),
# with no data in common. KIND says what of the interpreter it uses most.
count, turns, kind = Integer(ARGV[0]), Integer(ARGV[1]), ARGV[2]

# Local variables and small integers.
def numbers(turns)
  x = 0
  i = 1
  while i <= turns
    x += i * 3 - (i & 7)
    i += 1
  end
  x
end

# Floats and elements of an array that exists.
def arrays(turns)
  a = Array.new(16, 0.5)
  turns.times { |i| a[i & 15] = a[(i + 1) & 15] * 0.5 + 1.0 }
  a.sum.floor
end

# Methods and instance variables of two classes in turn: each call misses the inline caches.
class Circle
  def initialize(size) = @size = size
  def area = @size * 3
end

class Square
  def initialize(size) = (@color, @size = 1, size)
  def area = @size * @size + @color
end

def calls(turns)
  shapes = [Circle.new(2), Square.new(3)]
  turns.times.sum { |i| shapes[i & 1].area }
end

# Objects and short strings.
def objects(turns)
  kept = []
  turns.times { |i| kept[i & 15] = "n#{i}" }
  kept.sum(&:size)
end

# Blocks of the heap: strings and arrays that do not fit into objects, hash tables.
def blocks(turns)
  sum = 0
  turns.times do |i|
    table = { i => "x" * 40, -i => [i, i, i, i, i] }
    sum += table[i].size + table[-i].size
  end
  sum
end

results =
  if count == 1
    [send(kind, turns)]
  else
    count.times.map { Thread.new { send(kind, turns) } }.map(&:value)
  end
p results.uniq
