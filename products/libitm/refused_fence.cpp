// refused_fence.cpp -- what is done, once, where the kernel begins to refuse membarrier while the
// program runs: light fences become full ones, and this thread visits every processor. Whichever
// thread was running there has then been switched away, which is a fence, and finds the new state
// when it runs again; those that did not run have been switched away before.
//
// Memory order (each tag stands at its site below)
//   [K]  membarrier_ready, relaxed: stored between a release and a full fence; who sees it false,
//        and executes full fences from then on, errs on the safe side.
//   [F]  seq_cst RMW that begins the change, full fence before the processors are visited, release
//        store when it is done, acquire load by who waits for that: all light fences are full ones
//        then.
#include "tm/core/fences.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace syncopate::tm {
namespace {

constexpr int most_processors = 8192;
struct processors {
  unsigned long bits[most_processors / (8 * sizeof(unsigned long))];
};

// Returns the bytes that the kernel's own set has.
long get_affinity(processors& set) noexcept {
  return syscall(SYS_sched_getaffinity, 0, sizeof set, &set);
}
bool set_affinity(const processors& set) noexcept {
  return syscall(SYS_sched_setaffinity, 0, sizeof set, &set) == 0;
}

// Processors that are off, or not this process's, do not run its threads.
bool try_visit_all_processors() noexcept {
  constexpr long word = 8 * sizeof(unsigned long);
  processors before{}, one{};
  const long bytes = get_affinity(before);
  if (bytes <= 0) return false;
  for (long p = 0; p < 8 * bytes; ++p) {
    one.bits[p / word] = 1ul << p % word;
    const bool visited = set_affinity(one) || errno == EINVAL;
    one.bits[p / word] = 0;
    if (!visited) return false;
  }
  return set_affinity(before);
}

[[noreturn]] void give_up() noexcept {
  std::fputs(
      "libitm (syncopate): since the program has begun, the kernel refuses membarrier, and "
      "sched_setaffinity in its place; allow one of them in the filter of system calls\n",
      stderr);
  std::abort();
}

}  // namespace

bool kernel_makes_fences_cheap() noexcept {
  return machine::detail::membarrier_ready.load(std::memory_order_relaxed);  // [K]
}

void visit_all_processors() noexcept {
  if (!try_visit_all_processors()) give_up();
}

void make_light_fences_full() noexcept {
  fences present = fences::free;
  if (light_fences.compare_exchange_strong(present, fences::changing,
                                           std::memory_order_seq_cst)) {        // [F]
    std::atomic_thread_fence(std::memory_order_release);                        // [F]
    machine::detail::membarrier_ready.store(false, std::memory_order_relaxed);  // [K]
    std::atomic_thread_fence(std::memory_order_seq_cst);                        // [F]
    visit_all_processors();
    light_fences.store(fences::full, std::memory_order_release);  // [F]
  }
  while (light_fences.load(std::memory_order_acquire) == fences::changing) machine::yield();  // [F]
}

}  // namespace syncopate::tm
