// lock_pingpong.cpp -- lock and unlock as often as one can, with the same work inside and outside.
//
// Source: Akkan, Lang & Ionkov, LA-UR-13-26575, section IV-A, figure 1: "equal amount of work
// inside and outside of a critical section". The paper does not say how much. With no work outside
// it is LOCK/UNLOCK of the EPCC syncbench, figure 2.
#include "common.h"
#include "presets.h"

namespace {
using namespace workloads;

struct shared_data {
  alignas(128) std::uint64_t count = 0;
};
}  // namespace

int main(int argc, char** argv) {
  const sized counts{
      "pairs", "lock/unlock pairs of each thread", {1000, 50'000, 1'000'000, 5'000'000}};
  const options o(argc, argv, "Threads lock and unlock one lock.",
                  {{"lock", "auto", "a lock of `syncopate list`, or pthread"},
                   threads_option,
                   tiny_preset_option(),
                   counts.as_option(),
                   {"work", "100", "nanoseconds of work inside"},
                   {"outside", "same", "nanoseconds of work outside; same: as inside"},
                   pin_option,
                   seed_option});
  const std::uint64_t pairs = o.number("pairs"), work = o.number("work");
  const std::uint64_t outside = o.text("outside") == "same" ? work : o.number("outside");
  const auto lock = make_lock(o);
  shared_data data;
  const outcome result = run_threads(o, [&](std::uint32_t) {
    for (std::uint64_t i = 0; i < pairs; ++i) {
      lock->lock();
      ++data.count;
      compute(work);
      lock->unlock();
      compute(outside);
    }
    return pairs;
  });
  return report("lock_pingpong", o, result, data.count == result.operations(),
                member("lock", o.text("lock")) + member("work_ns", work));
}
