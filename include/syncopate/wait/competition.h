// competition.h -- whether so many threads of others want the processors that waiting threads
// do best to get off at once.
//
// Where each processor has a foreign thread that computes, who polls or yields pays twice: it gives
// a time slice away, some milliseconds, and the kernel, which puts first who has used least, keeps
// it waiting when it has something to do. Who sleeps at once is put first when it is woken. So
// while others compete for all processors a team waits as a passive libgomp does. Where they leave
// one free, foreign_load.h finds it.
//
// Nobody asks until something speaks for it: a wait in which a yield, or all of a sleep, took as
// long as a time slice. Then the system says how many threads want a processor that are not ours:
// a peer that computes for long is one of ours, and changes nothing. While they compete it is asked
// again from time to time, by whoever waits.
//
// What is known is the process's. Hints: relaxed.
//
// Memory order
//   [L]  relaxed: hints; the CAS only lets one thread look at a time.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/machine/runnable.h>

#include <atomic>
#include <cstdint>

namespace syncopate::waits {

class competition {
 public:
  // Whether the caller, about to wait, had better sleep at once. One load where nobody competes.
  [[nodiscard]] bool is_there() noexcept {
    if constexpr (machine::is_modeled) return false;
    if (__builtin_expect(!there_.load(std::memory_order_relaxed), 1)) return false;  // [L]
    const std::uint64_t now = machine::ticks();
    if (now >= next_look_.load(std::memory_order_relaxed)) look(now);  // [L]
    return there_.load(std::memory_order_relaxed);                     // [L]
  }

  // A wait has taken that long (ticks), or a part of it that should have been short.
  void took(std::uint64_t ticks) noexcept {
    if constexpr (!machine::is_modeled)
      if (__builtin_expect(ticks > slice * machine::wake_latency(), 0)) {
        const std::uint64_t now = machine::ticks();
        if (now >= next_look_.load(std::memory_order_relaxed)) look(now);  // [L]
      }
  }

 private:
  // In sleeps' prices, of some 30 to 50 us. A foreign slice is longer than that, a wait among
  // ourselves mostly not.
  static constexpr std::uint64_t slice = 16;
  // A look costs about a sleep (machine/runnable.h), and there is one in 30 to 50 ms at most.
  static constexpr std::uint64_t between_looks = 1024;

  [[gnu::noinline, gnu::cold]] void look(std::uint64_t now) noexcept {
    std::uint64_t before = next_look_.load(std::memory_order_relaxed);  // [L]
    const std::uint64_t next = now + between_looks * machine::wake_latency();
    if (now < before ||
        !next_look_.compare_exchange_strong(before, next, std::memory_order_relaxed))  // [L]
      return;  // somebody else does
    there_.store(machine::foreign_runnable() >= machine::processors(),
                 std::memory_order_relaxed);  // [L]
  }

  std::atomic<bool> there_{false};
  std::atomic<std::uint64_t> next_look_{0};  // ticks
};

inline constinit competition others{};

}  // namespace syncopate::waits
