// Parking: order, values, masks, deadlines, requeueing.
// run: SYNCOPATE_MACHINE=test-4c
#include <syncopate/machine.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

namespace machine = syncopate::machine;

std::atomic<std::uint32_t> word{0}, other{0};
std::atomic<int> parked{0}, order{0};

const char* text(machine::park_result r) {
  static const char* const names[] = {"woken", "value changed", "timed out", "interrupted"};
  return names[static_cast<int>(r)];
}

// Threads that park on `word` one after the other, and note in which order they came back.
std::vector<std::thread> sleepers(unsigned count, std::vector<int>& came) {
  parked = order = 0;
  came.assign(count, -1);
  std::vector<std::thread> all;
  for (unsigned i = 0; i < count; ++i) {
    all.emplace_back([i, &came] {
      while (parked.load() != static_cast<int>(i)) machine::relax();
      ++parked;
      machine::park(&word, 0, nullptr, 1u << i);
      came[i] = order++;
    });
  }
  while (parked.load() != static_cast<int>(count)) machine::relax();
  machine::spin(10'000);  // until the last one sleeps
  return all;
}

void print(const char* what, const std::vector<int>& came) {
  std::printf("%s:", what);
  for (int c : came) std::printf(" %d", c);
  std::printf("\n");
}

void join(std::vector<std::thread>& all) {
  for (std::thread& t : all) t.join();
}

}  // namespace

int main() {
  std::vector<int> came;
  auto all = sleepers(3, came);
  for (int i = 0; i < 3; ++i) {
    std::printf("wake(1) woke %d\n", machine::wake(&word, 1));
    while (order.load() != i + 1) machine::relax();
  }
  std::printf("wake(1) woke %d\n", machine::wake(&word, 1));
  join(all);
  print("first parked, first woken", came);

  all = sleepers(3, came);
  std::printf("wake of the third's bit woke %d\n", machine::wake(&word, 9, 1u << 2));
  while (order.load() != 1) machine::relax();
  std::printf("wake of all woke %d\n", machine::wake(&word, 9));
  join(all);
  print("the third first", came);

  all = sleepers(3, came);
  const long moved = ::syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 5, &other, 0);
  std::printf("requeue woke one and moved the rest: %ld; ", moved);
  std::printf("left %d, ", machine::wake(&word, 9));
  std::printf("there %d\n", machine::wake(&other, 9));
  join(all);

  word = 1;
  std::printf("another value: %s\n", text(machine::park(&word, 0)));
  const machine::deadline soon = machine::after(20'000);
  std::printf("a deadline: %s", text(machine::park(&word, 1, &soon)));
  const long late = -machine::remaining(soon);
  std::printf(", %ld ns late\n", late);
  std::printf("a past deadline: %s\n", text(machine::park(&word, 1, &soon)));
}
