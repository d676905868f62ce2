# Sorts longer than what the C library sorts on its stack, whose comparisons run Ruby.
class V
  include Comparable
  attr_reader :n
  def initialize(n) = @n = n
  def <=>(other) = n <=> other.n
end
threads = 3.times.map do |k|
  Thread.new do
    r = Random.new(k)
    5.times.all? do
      v = Array.new(200) { V.new(r.rand(1000)) }
      sorted = v.map(&:n).sort
      v.sort.map(&:n) == sorted && v.sort { |a, b| b <=> a }.map(&:n) == sorted.reverse &&
        v.sort_by { |x| [x.n, "#{x.n}"] }.map(&:n) == sorted && v.sort_by { |x| V.new(-x.n) }.map(&:n) == sorted.reverse &&
        v.min(5).map(&:n) == sorted.first(5) && v.max_by(3) { |x| V.new(x.n) }.map(&:n) == sorted.last(3).reverse
    end
  end
end
puts threads.map(&:value).inspect
