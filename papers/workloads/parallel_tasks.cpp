// parallel_tasks.cpp -- every thread leaves tasks to the team, then all run what is left.
//
// Source: Akkan, Lang & Ionkov, LA-UR-13-26575, section IV-A, figures 3 and 4: PARALLEL TASK of the
// EPCC taskbench (Bull, Reid & McDonnell, IWOMP 2012) on libgomp, whose tasks have one lock.
#include "presets.h"
#include "task_queue.h"

int main(int argc, char** argv) {
  using namespace workloads;
  const sized counts{"tasks", "how many each thread makes", {200, 10'000, 200'000, 1'000'000}};
  const options o(argc, argv, "Threads make tasks, whose queue has one lock, and run them.",
                  {{"lock", "libgomp", "a lock of `syncopate list`, pthread, or libgomp"},
                   threads_option,
                   tiny_preset_option(),
                   counts.as_option(),
                   {"work", "100", "nanoseconds of work of each task"},
                   pin_option,
                   seed_option});
  const std::uint64_t tasks = o.number("tasks"), work = o.number("work");
  const auto threads = static_cast<std::uint32_t>(o.number("threads", 1));
  const auto lock = make_lock(o);
  task_queue queue(*lock, threads);
  std::vector<std::vector<task_queue::task>> made(threads);
  for (auto& mine : made) mine.resize(tasks);

  const outcome result = run_threads(o, [&](std::uint32_t me) {
    std::uint64_t done = 0;
    for (task_queue::task& t : made[me]) {
      if (queue.offer(t)) continue;
      compute(work);
      ++done;
    }
    return done + queue.arrive_and_finish([&] { compute(work); });
  });
  return report("parallel_tasks", o, result, result.operations() == tasks * threads,
                member("lock", o.text("lock")) + member("work_ns", work));
}
