# Exceptions with ensure, retry, redo, next, break, throw, procs, methods defined while others call.
Thread.report_on_exception = false
class Base; def hello(x) = x + 1; end
class Derived < Base; def hello(x) = super * 2; end
def risky(log, n)
  tries = 0
  begin
    tries += 1
    log << [:try, n, tries]
    raise ArgumentError, "no" if tries < 3
    yield n
  rescue ArgumentError => e
    retry if tries < 3
  else
    log << :else
  ensure
    log << :ensure
  end
end
def early(list) = list.each { |x| begin; return x if x > 2; ensure; list.frozen?; end }
def deep(n) = n == 0 ? raise(IOError, "bottom") : begin; deep(n - 1); ensure; $deep[Thread.current.object_id] += 1; end
$deep = Hash.new(0)
$deep.compare_by_identity
lines = 5.times.map do |k|
  Thread.new do
    log = []
    15.times do |i|
      risky(log, i) { |n| next n if n.even?; log << [:odd, n] }
      log << early([1, 2, 3, 4])
      log << (begin; deep(20); rescue IOError => e; [e.message, e.backtrace.size > 20]; end)
      log << [1, 2, 3].each_with_index { |x, j| break x * 10 if j == 1 }
      log << catch(:done) { catch(:inner) { throw :done, [k, i] }; :never }
      log << Derived.new.hello(i)
      log << (begin; Integer("z"); rescue TypeError, ArgumentError; :bad; end)
      log << [->(x) { return x + 1 }.call(i), proc { |x, y| [x, y] }.call([1, 2]), :upcase.to_proc.call("q"), Base.instance_method(:hello).bind_call(Derived.new, i)]
      log << (i.zero? ? nil : (begin; 1 / 0; rescue ZeroDivisionError => e; e.message; end))
      x = 0
      log << (while true; x += 1; next if x < 3; break x; end)
      log << (begin; begin; raise "a"; ensure; raise "b"; end; rescue => e; [e.message, e.cause&.message]; end)
      c = Class.new(Base) { define_method(:hello) { |y| super(y) - k }; def to_s = "c" }
      log << c.new.hello(5) << "#{c.new}" << c.new.public_send(:hello, 1)
      o = Object.new
      o.define_singleton_method(:only) { |a, b = 2, *r, z:, w: 4, **o2, &bl| [a, b, r, z, w, o2, bl&.call] }
      log << o.only(1, z: 3) << o.only(1, 2, 3, z: 4, q: 5) { :blk }
      log << (begin; o.only(1); rescue ArgumentError => e; e.message; end)
      log << o.instance_eval { @iv = k; instance_variables } << o.singleton_methods
      log << (begin; loop { raise StopIteration, "s" }; :after; end)
      log << (begin; throw :nobody; rescue UncaughtThrowError => e; e.message; end)
      log << ObjectSpace::WeakMap.new.size << __LINE__
      log << (defined?(foo)).inspect << (i == 7 ? (begin; def_rec = ->(n) { def_rec.(n + 1) }; def_rec.(0); rescue SystemStackError => e; e.class; end) : 0)
    end
    log
  end
end.map(&:value)
puts lines.map { |l| l.flatten(1).map { |x| x.inspect }.join(" ") }
# a method redefined while others call it: each call sees one or the other
class Changing; def m = 1; end
callers = 3.times.map { Thread.new { o = Changing.new; Array.new(400) { o.m } } }
20.times { |i| Changing.class_eval { i.odd? ? (def m = 1) : (def m = 2) }; Thread.pass }
puts callers.map { |t| t.value - [1, 2] }.inspect
# constants and class variables
class Holder; @@n = 0; X = 1; def self.bump = @@n += 1; def self.n = @@n; end
lock = Mutex.new
4.times.map { Thread.new { 50.times { lock.synchronize { Holder.bump } } } }.each(&:join)
puts Holder.n
reads = 3.times.map { Thread.new { Array.new(300) { Holder::X } } }
$VERBOSE = nil
20.times { |i| Holder.const_set(:X, i % 2 + 1) }
puts reads.map { |t| t.value - [1, 2] }.inspect
# symbols, frozen and interned
puts 4.times.map { Thread.new { 100.times.map { |i| "dyn_#{i}".to_sym.object_id } } }.map(&:value).uniq.size
puts 4.times.map { Thread.new { 50.times.map { |i| (-"interned#{i}").object_id } } }.map { |t| t.value.size }.inspect
tp = []
trace = TracePoint.new(:call) { |x| tp << x.method_id if x.method_id == :hello }
trace.enable { Base.new.hello(1) }
puts tp.inspect
puts Thread.new { Thread.current.name = "me"; [Thread.current.name, Thread.current.priority = 1, Thread.current.group == ThreadGroup::Default] }.value.inspect
begin
  a = Thread.new { Thread.pass; raise "once" }
  a.join
rescue => e
  puts e.message
end
puts (Thread.new { Thread.exit; 1 }.value).inspect
