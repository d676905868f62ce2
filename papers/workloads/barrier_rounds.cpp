// barrier_rounds.cpp -- work, meet, work, meet.
//
// Source: Akkan, Lang & Ionkov, LA-UR-13-26575, section IV-B, figures 5 and 6: 100,000 rounds with
// 1 or 250 microseconds of work.
#include "common.h"
#include "presets.h"

int main(int argc, char** argv) {
  using namespace workloads;
  const sized counts{"rounds", "how often they meet", {100, 1000, 100'000, 500'000}};
  const options o(argc, argv, "Threads meet at a barrier again and again.",
                  {{"barrier", "central", "a barrier of barriers/all.h, NAME or NAME:WAIT"},
                   threads_option,
                   tiny_preset_option(),
                   counts.as_option(),
                   {"work", "1000", "nanoseconds of work before each meeting"},
                   pin_option,
                   seed_option});
  const std::uint64_t rounds = o.number("rounds"), work = o.number("work");
  const auto threads = static_cast<std::uint32_t>(o.number("threads", 1));
  const auto barrier = make_barrier(o.text("barrier"), threads);
  if (barrier == nullptr) o.refuse("no barrier is called '" + o.text("barrier") + "'");

  struct alignas(128) progress {
    std::uint64_t round = 0;
  };
  std::vector<progress> done(threads);
  std::atomic<std::uint64_t> early{0};
  const outcome result = run_threads(o, [&](std::uint32_t me) {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      compute(work);
      done[me].round = round;
      barrier->arrive_and_wait(me);
    }
    // Whoever left the last round saw everybody arrive in it.
    for (const progress& p : done)
      if (p.round != rounds) early.fetch_add(1);
    return rounds;
  });
  return report("barrier_rounds", o, result, early.load() == 0,
                member("barrier", o.text("barrier")) + member("work_ns", work));
}
