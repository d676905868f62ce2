# More fibers, none of which ends, than a process may have stacks.
puts 100_000.times.count { Fiber.new { Fiber.yield 1; 2 }.resume == 1 }
