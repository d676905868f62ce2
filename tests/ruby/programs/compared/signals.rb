# Signals and traps while threads run; autoload and require in threads.
require "tmpdir"
$lines = []
seen = Queue.new
trap("USR1") { seen << Thread.current.equal?(Thread.main) }
spinners = 2.times.map { Thread.new { loop { (1..5).map { |x| x.to_s } } } }
10.times { |i| Process.kill("USR1", $$); Timeout rescue nil; sleep 0.001 until seen.size > i }
$lines << seen.size << Array.new(seen.size) { seen.pop }.uniq.inspect
r = begin
  trap("USR2") { raise IOError, "from a trap" }
  Process.kill("USR2", $$)
  sleep 5
  :none
rescue IOError => e
  e.message
end
$lines << r
trap("INT", "DEFAULT")
$lines << (begin; Process.kill("INT", $$); sleep 5; rescue Interrupt => e; e.class; end)
$lines << (begin; m = Mutex.new; trap("USR1") { begin; m.lock; rescue ThreadError => e; seen << e.message; end }; Process.kill("USR1", $$); seen.pop; end)
ready, told = IO.pipe
child = fork { trap("TERM") { exit!(6) }; told.puts 1; Thread.new { loop { "x" * 10 } }; loop { [1].map(&:succ) } }
ready.gets
Process.kill("TERM", child)
$lines << Process.wait2(child)[1].exitstatus
$lines << Signal.trap("CHLD") { seen << :child }.inspect
Process.wait(fork { exit!(0) })
$lines << seen.pop
spinners.each { |t| t.kill.join }
Dir.mktmpdir do |dir|
  $LOAD_PATH.unshift(dir)
  5.times { |i| File.write("#{dir}/part#{i}.rb", "module Part#{i}\n  sleep 0.002\n  $loaded << #{i}\n  VALUE = #{i} * 10\n  def self.get = VALUE + 1\nend\n") }
  $loaded = []
  5.times { |i| autoload("Part#{i}", "part#{i}") }
  all = 4.times.map { |k| Thread.new { 5.times.map { |i| Object.const_get("Part#{(i + k) % 5}").get }.sort } }.map(&:value)
  $lines << all.uniq.inspect << $loaded.sort.inspect
  File.write("#{dir}/once.rb", "$once = ($once || 0) + 1; sleep 0.005; ONCE = :there\n")
  $lines << 4.times.map { Thread.new { require "once" } }.map(&:value).count(true) << $once << ONCE
  File.write("#{dir}/broken.rb", "raise LoadError, 'not this time' if ($tries = ($tries || 0) + 1) < 3; OK = $tries\n")
  $lines << 3.times.map { begin; require "broken"; rescue LoadError => e; e.message; end }.inspect
  File.write("#{dir}/cyc_a.rb", "CYC_A = 1; require 'cyc_b'; CYC_A2 = CYC_B\n")
  File.write("#{dir}/cyc_b.rb", "CYC_B = CYC_A + 1\n")
  $lines << [Thread.new { require "cyc_a" }, Thread.new { require "cyc_a" }].map(&:value).sort_by(&:to_s).inspect << CYC_A2
  $lines << 4.times.map { |k| Thread.new { %w[set json date stringio strscan].rotate(k).each { |l| require l }; [Set[1, 2].size, JSON.generate([k]).size] } }.map(&:value).uniq.inspect
end
require "timeout"
at_exit { puts $lines }
