# Process.spawn, fork, wait and system in threads; threads in children.
$stdout.sync = true
lines = []
lines << 4.times.map { |k| Thread.new { r, w = IO.pipe; pid = spawn("echo out#{k}", out: w); w.close; s = r.read; Process.wait(pid); [s, $?.exitstatus] } }.map(&:value).inspect
lines << 4.times.map { |k| Thread.new { system("exit #{k}"); $?.exitstatus } }.map(&:value).inspect
others = 2.times.map { Thread.new { loop { [1, 2].map(&:to_s) } } }
pids = 4.times.map do |k|
  Thread.new do
    fork do
      n = 3.times.map { |i| Thread.new { 50.times.map { |x| (x * i).to_s.size }.sum } }.map(&:value).sum
      GC.start
      exit!(n == 246 + 0 * k ? 40 + k : n % 40)
    end
  end
end.map(&:value)
statuses = pids.map { |p| Process.wait2(p)[1].exitstatus }
lines << (statuses.uniq.size == 4 || statuses.uniq.size == 1) << statuses.map { |s| s.class }.inspect
others.each { |t| t.kill.join }
# only the forking thread lives in the child
r, w = IO.pipe
sleeper = Thread.new { sleep }
pid = Thread.new { fork { w.puts Thread.list.size, sleeper.alive?.inspect, Thread.main == Thread.current; w.flush; exit!(0) } }.value
w.close
Process.wait(pid)
lines << r.read.split.inspect
# children of children
pid = fork { exit!(Process.wait2(fork { exit!(Thread.new { 5 }.value) })[1].exitstatus + 1) }
lines << Process.wait2(pid)[1].exitstatus
# a child that forks while others hold a lock
lock, held = Mutex.new, Queue.new
t = Thread.new { lock.synchronize { held << 1; sleep 60 } }
held.pop
pid = fork { exit!(lock.try_lock ? 1 : 2) }
lines << Process.wait2(pid)[1].exitstatus.class
t.kill
# signals end children
pid = spawn("sleep 60")
Process.kill(:TERM, pid)
lines << Process.wait2(pid)[1].termsig
pid = fork { sleep }
Process.detach(pid).tap { Process.kill(:KILL, pid) }.value.tap { |s| lines << s.termsig }
# at_exit and buffered output in a child
r, w = IO.pipe
pid = fork { $stdout.reopen(w); at_exit { print "last" }; print "first " }
w.close
lines << r.read
Process.wait(pid)
lines << Process.wait2(fork { raise SystemExit.new(7) })[1].exitstatus
lines << Process.wait2(fork { $stderr.reopen(File::NULL); raise "x" })[1].exitstatus
lines << Process.wait2(fork { Thread.new { exit(9) }.join })[1].exitstatus
lines << Process.wait2(fork { Thread.report_on_exception = false; Thread.abort_on_exception = true; $stderr.reopen(File::NULL); Thread.new { raise "y" }; sleep 60 })[1].exitstatus
lines << IO.popen("-") { |p| p ? p.read : print(Thread.new { "from child" }.value) }
10.times.map { Thread.new { Process.wait2(fork { exit!(3) })[1].exitstatus } }.map(&:value).uniq.tap { |u| lines << u.inspect }
lines << (begin; Process.wait; rescue Errno::ECHILD; :none_left; end)
puts lines
