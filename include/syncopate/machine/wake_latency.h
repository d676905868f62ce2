// wake_latency.h -- native: what a sleep in the kernel costs a waiter here.
//
// Measured between this process and a child that shares one page with it (trial.h has the reasons
// for a raw clone): the two pass a word to and fro by futex, each asleep when its turn comes.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of the turn -- synchronizes with [A].
//   [A]  acquire load of the turn: the two take turns, as threads with a lock would.
//   [L]  relaxed: the result is right by itself; until it is seen the estimate holds.
#pragma once

#include <syncopate/machine/native.h>  // which includes this one at its end: ticks(), and so on
#include <syncopate/machine/processor_mask.h>
#include <syncopate/machine/system_call.h>
#include <syncopate/machine/types.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace syncopate::machine {
namespace detail {
inline constinit std::atomic<std::uint64_t> wake_ticks{0};

// Until measured: ten microseconds, between the 2 of two threads on one processor and the 50 of a
// processor that sleeps deeply.
inline std::uint64_t estimated_wake_ticks() noexcept { return ticks_per_second() / 100'000; }

inline constexpr int wake_rounds = 32;

// One of the two: waits for its turns (even or odd) and passes the word on. False when the other
// does not answer in time.
inline bool take_turns(std::atomic<std::uint32_t>& turn, std::uint32_t mine) noexcept {
  const deadline limit = [] {
    timespec t;
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += 1;
    return deadline{t, CLOCK_MONOTONIC};
  }();
  for (std::uint32_t my_turn = mine; my_turn < 2 * wake_rounds; my_turn += 2) {
    for (std::uint32_t now; (now = turn.load(std::memory_order_acquire)) != my_turn;)  // [A]
      if (park(&turn, now, &limit, FUTEX_BITSET_MATCH_ANY, true) == park_result::timed_out)
        return false;
    turn.store(my_turn + 1, std::memory_order_release);  // [R]
    wake(&turn, 1, FUTEX_BITSET_MATCH_ANY, true);
  }
  return true;
}

// Keeps the calling thread off that processor, if it may use another one: two threads on one
// processor change places much faster than a sleeping processor wakes.
inline void leave_processor(unsigned processor) noexcept {
  processor_mask mask;
  mask.remove(processor);
  (void)mask.apply();  // refused when no processor is left
}
}  // namespace detail

// Ticks from a wake() until the sleeper runs, about; an estimate until measured. It is what polling
// for a shorter wait saves, and so the longest polling that can pay (Karlin et al., SOSP 1991).
[[nodiscard]] inline std::uint64_t wake_latency() noexcept {
  const std::uint64_t known = detail::wake_ticks.load(std::memory_order_relaxed);  // [L]
  return __builtin_expect(known != 0, 1) ? known : detail::estimated_wake_ticks();
}

// Measures it once: a millisecond, and a child process for as long. For start-up code. Leaves the
// estimate where no child can be had.
[[gnu::cold]] inline void measure_wake_latency() noexcept {
  if (detail::wake_ticks.load(std::memory_order_relaxed) != 0) return;  // [L]
  const int saved_errno = errno;
  std::uint64_t ticks_each = detail::estimated_wake_ticks();
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) {
    auto* const turn = new (page) std::atomic<std::uint32_t>(0);
    const unsigned here = processor();
    const long child = system_call(SYS_clone);
    if (child == 0) {
      detail::leave_processor(here);
      system_call(SYS_exit_group, detail::take_turns(*turn, 1) ? 0 : 1);
    }
    if (child > 0) {
      const std::uint64_t start = ticks();
      const bool answered = detail::take_turns(*turn, 0);
      const std::uint64_t each = (ticks() - start) / (2 * detail::wake_rounds);
      // Bounds: a loaded machine may take milliseconds, which no polling could ever be worth.
      if (answered)
        ticks_each = std::clamp(each, detail::estimated_wake_ticks() / 8,
                                detail::estimated_wake_ticks() * 5);
      while (::waitpid(static_cast<pid_t>(child), nullptr, __WALL) < 0 && errno == EINTR) {
      }
    }
    ::munmap(page, 4096);
  }
  detail::wake_ticks.store(ticks_each, std::memory_order_relaxed);  // [L]
  errno = saved_errno;
}

}  // namespace syncopate::machine
