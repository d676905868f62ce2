// Monitor waits on aarch64 (LDAXR and WFE), for every size of word. Run under qemu-user; exits with
// the number of failures.
#include <syncopate/machine.h>
#include <syncopate/wait/adaptive.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>

namespace {

namespace machine = syncopate::machine;
using machine::sleep_depth;

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  ++failures;
}

template <class T>
void wakes_on_store() {
  for (int round = 0; round < 20; ++round) {
    std::atomic<T> word{T{}};
    int data = 0;
    const T wanted = static_cast<T>(0x5a);
    std::thread writer([&] {
      machine::spin(static_cast<std::uint32_t>(round));
      data = 42;
      word.store(wanted, std::memory_order_release);
    });
    const T seen = machine::monitor_wait(
        word, std::memory_order_acquire, [](T value) { return value != T{}; }, sleep_depth::light);
    expect(seen == wanted && data == 42, "the waiter sees what was stored, and what came before");
    writer.join();
  }
}

void keeps_its_limit() {
  const std::atomic<std::uint32_t> word{0};
  const std::uint64_t until = machine::ticks() + machine::ticks_per_second() / 1000;
  const auto never = [](std::uint32_t) { return false; };
  expect(!machine::monitor_wait(word, std::memory_order_acquire, never, sleep_depth::deep, until),
         "a wait in vain ends");
  expect(static_cast<std::int64_t>(machine::ticks() - until) >= 0, "and not before its limit");
}

void adaptive_waits() {
  std::atomic<std::uint32_t> word{0};
  syncopate::waits::adaptive wait;
  std::thread writer([&] {
    if (word.exchange(2, std::memory_order_release) == 1) machine::wake(&word, 1);
  });
  wait.until(
      word, std::memory_order_acquire, [](std::uint32_t v) { return (v & 2) != 0; }, 1);
  expect(word.load() == 2, "the adaptive strategy returns");
  writer.join();
}

}  // namespace

int main() {
  expect(machine::monitor_in_use() == machine::monitor_family::wfe, "WFE is what is used");
  wakes_on_store<std::uint8_t>();
  wakes_on_store<std::uint16_t>();
  wakes_on_store<std::uint32_t>();
  wakes_on_store<std::uint64_t>();
  keeps_its_limit();
  adaptive_waits();
  machine::prepare_asymmetric_fences();
  machine::light_fence();
  (void)machine::heavy_fence();
  std::printf("%d failures\n", failures);
  return failures;
}
