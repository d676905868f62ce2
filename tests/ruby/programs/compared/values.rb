# Comparable sorts, big strings, encodings, numbers, hashes, structs, text by several threads.
class V
  include Comparable
  attr_reader :n
  def initialize(n) = @n = n
  def <=>(other) = n <=> other.n
  def hash = n.hash
  def eql?(other) = n == other.n
  def coerce(x) = [V.new(x), self]
  def to_s = "v#{n}"
  def method_missing(name, *a) = name == :twice ? n * 2 : super
  def respond_to_missing?(n, p = false) = n == :twice || super
end
S = Struct.new(:a, :b, keyword_init: true)
def work(k)
  out = []
  r = Random.new(k)
  v = Array.new(80) { V.new(r.rand(1000)) }
  out << v.sort.map(&:n).each_cons(2).all? { |a, b| a <= b } << v.min.n << v.max.n << v.minmax.map(&:n) << v.sort_by { |x| [-x.n % 7, x] }.first.n
  out << v.sort { |a, b| b <=> a }.first(3).map(&:to_s) << v.uniq.size << v.group_by { |x| x.n % 3 }.transform_values(&:size).sort << v[0].clamp(V.new(10), V.new(20)).n << v.sum(&:twice)
  s = +""
  200.times { |i| s << "é#{i}ü" << (i.odd? ? "日本" : "x") }
  out << s.size << s.bytesize << s.encode("UTF-16LE").bytesize << s.encode("UTF-16LE").encode("UTF-8").eql?(s) << s.reverse.reverse.eql?(s) << s.scan(/\p{Han}+/).size << s.gsub(/\d+/) { |d| (d.to_i + k).to_s }.hash.eql?(s.gsub(/\d+/) { |d| (d.to_i + k).to_s }.hash)
  out << s.unicode_normalize(:nfd).size << s.tr("a-zé", "A-ZE").count("E") << s.unpack("U*").sum << s.each_grapheme_cluster.count << s.center(2000, "*").size << s.squeeze.size << s.b.crypt("ab") << s.upcase(:fold).size rescue out << $!.class
  big = 3**(200 + k)
  out << big.to_s.size << (big * big).digits.sum << big.pow(5, 1_000_007) << Integer.sqrt(big).bit_length << Rational(big, 7).floor.bit_length << (2**64 - k).to_s(36) << 1.0.next_float << (0.1 + k).rationalize(Rational(1, 100)) << Complex(1, k)**3
  h = {}
  300.times { |i| h["k#{i * k}"] = i; h[i] = [i]; h.delete("k#{i / 2}") if i % 5 == 0; h[[i % 4]] = i }
  out << h.size << h.select { |_, x| x.is_a?(Array) }.size << h.keys.map(&:class).tally.sort_by(&:to_s) << h.min_by { |key, _| key.to_s }.first.to_s << h.to_a.flatten.size << h.compare_by_identity.size
  t = S.new(a: k, b: [k] * 3)
  out << t.to_h << t.eql?(S.new(a: k, b: [k, k, k])) << (case t.to_h; in { a: Integer => x, b: [_, *rest] } then [x, rest.size]; end)
  out << format("%08.3f|%-6s|%+d|%x|%e|%s", k * 1.5, "ab", k, 255 + k, 12345.678, [k, nil, :s]) << "%c%c" % [65 + k, "z"] << Time.at(k * 86400).utc.strftime("%F %A %j") << [k, 1.5, "x", :y, nil, true, 1..2].inspect << Marshal.load(Marshal.dump([t.to_h, v.first.n, big, s[0, 50]])).hash.class
  out << (begin; Integer("x#{k}"); rescue ArgumentError => e; e.message; end) << (begin; [1, "a"].sort; rescue ArgumentError => e; e.message; end) << (begin; nil.foo; rescue NoMethodError => e; e.message[0, 40]; end) << (begin; "\xff".encode("UTF-16"); rescue EncodingError => e; e.class; end) << (begin; raise "a"; rescue => e; begin; raise "b"; rescue => f; f.cause.message; end; end)
  out << catch(:x) { 10.times { |i| throw :x, i if i == k + 2 } } << (def (o = Object.new).each; yield 1; yield 2; end; o.extend(Enumerable); o.map { |z| z + k }) << %w[b a c].each_with_object([]) { |x, m| m.unshift(x) } << [[1, 2], [3]].sum([]) << (1..Float::INFINITY).lazy.map { |x| x * 2 }.reject { |x| x % 3 == 0 }.first(4) << [3, 1, 2].pack("C*").sum << ObjectSpace.respond_to?(:garbage_collect) << __method__ << binding.local_variables.size << eval("k + 1") << [*"a".."e"].each_slice(2).to_a << "%s" % :sym << "abc".sum << "a,b;c".split(/[,;]/) << "hello world"[/o (w)/, 1] << $~.pre_match << "x".ord << "ß".upcase << "I".downcase(:turkic)
  out
end
wanted = 5.times.map { |k| work(k) }
3.times do
  got = 5.times.map { |k| Thread.new { work(k) } }.map(&:value)
  got.each_with_index { |g, k| g.zip(wanted[k]).each_with_index { |(a, b), i| puts "thread #{k}, value #{i}: #{a.inspect} not #{b.inspect}" unless a == b } }
end
puts wanted.map(&:inspect)
