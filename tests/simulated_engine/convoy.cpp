// Threads that went to sleep for a lock and could stop sleeping, as there are processors for all:
// FIFO locks must not go on handing over at the speed of wake-ups, nor `auto` sleep after each
// section because others sleep already.
// run: SYNCOPATE_MACHINE=sapphire-rapids-2s
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/clh_lock.h>
#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/ticket_lock.h>
#include <syncopate/wait/spin_then_park.h>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

using namespace syncopate;

constexpr unsigned threads = 8, sections = 400;

// Returns the ticks of a section and what is around it, after all threads had to sleep once.
template <class Lock>
unsigned after_a_long_section(std::uint64_t inside, std::uint64_t outside) {
  static Lock lock;
  std::uint64_t count = 0;
  std::vector<std::thread> all;
  lock.lock();
  for (unsigned i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      syncopate_work(100 * i);
      for (unsigned s = 0; s < sections; ++s) {
        {
          const std::scoped_lock section(lock);
          ++count;
          syncopate_work(inside);
        }
        syncopate_work(outside);
      }
    });
  syncopate_work(2'000'000);  // longer than anybody polls
  const std::uint64_t start = machine::ticks();
  lock.unlock();
  for (auto& thread : all) thread.join();
  if (count != threads * sections) std::puts("a section was lost");
  return static_cast<unsigned>((machine::ticks() - start) / (threads * sections));
}

template <class Lock>
void show(const char* name) {
  std::printf("%-6s %5u ticks a section of 100 cycles, %5u a section of 1000\n", name,
              after_a_long_section<Lock>(100, 100), after_a_long_section<Lock>(1000, 4000));
}

}  // namespace

int main() {
  show<mcs_lock<waits::spin_then_park>>("mcs");
  show<clh_lock<waits::spin_then_park>>("clh");
  show<ticket_lock<waits::spin_then_park>>("ticket");
  show<auto_lock>("auto");
}
