// A transaction on a variable of its own thread's stack, which another thread has written since the
// transaction began: an abort puts back what the other thread wrote.
// run: SYNCOPATE_MACHINE=test-4c
#include <atomic>
#include <cstdio>
#include <thread>

#include "transactions.h"

using namespace syncopate;

namespace {

volatile int elsewhere;
struct alignas(64) line {
  std::atomic<int> value{0};
};

}  // namespace

int main() {
  line shared, go, written;
  std::thread other([&] {
    machine::wait_until(go.value, std::memory_order_acquire, [](int v) { return v == 1; });
    shared.value.store(2, std::memory_order_relaxed);
  });
  machine::spin(10'000);  // it waits by now
  go.value.store(1, std::memory_order_release);
  const htm::status s = htm::begin();
  if (s.started()) {
    for (int i = 0; i < 2000; ++i) (void)elsewhere;  // the other thread writes meanwhile
    written.value.store(shared.value.load(std::memory_order_relaxed), std::memory_order_relaxed);
    shared.value.store(3, std::memory_order_relaxed);
    htm::abort<7>();
  }
  std::printf("aborted by code %d; shared is %d, written is %d\n", s.code, shared.value.load(),
              written.value.load());
  other.join();
}
