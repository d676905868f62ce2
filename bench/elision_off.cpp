// elision_off.cpp -- what an elided lock costs where elision is off: uncontended sections under a
// lock and under the same lock elided, in turns. Prints ticks for each section.
#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/machine.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

using namespace syncopate;

constexpr int rounds = 1000, sections = 5000;

template <class Lock>
struct alignas(64) measured {
  Lock lock;
  long data = 0;
  std::vector<double> ticks;

  [[gnu::noinline]] void round() {
    const std::uint64_t start = machine::ticks();
    for (int i = 0; i < sections; ++i) {
      lock.lock();
      ++data;
      asm volatile("" ::: "memory");
      lock.unlock();
    }
    ticks.push_back(static_cast<double>(machine::ticks() - start) / sections);
  }
  double quantile(double q) {
    std::sort(ticks.begin(), ticks.end());
    return ticks[static_cast<std::size_t>(q * static_cast<double>(ticks.size() - 1))];
  }
};

template <class Lock>
void compare(const char* name) {
  static measured<Lock> plain;
  static measured<elide::elided_lock<Lock, elide::policies::adaptive>> elided;
  for (int i = 0; i < rounds; ++i) {
    plain.round();
    elided.round();
  }
  std::printf("%-12s plain %6.2f (%.2f to %.2f)   elided, off %6.2f (%.2f to %.2f)   ratio %.3f\n",
              name, plain.quantile(0.5), plain.quantile(0.1), plain.quantile(0.9),
              elided.quantile(0.5), elided.quantile(0.1), elided.quantile(0.9),
              elided.quantile(0.5) / plain.quantile(0.5));
}

}  // namespace

int main() {
  elide::set_mode(elide::mode::off);
  compare<tatas_lock<waits::spin>>("tatas:spin");
  compare<auto_lock>("auto");
  compare<mcs_lock<waits::spin>>("mcs:spin");
}
