// plan.h -- how the adaptive strategy decides: a pure function of what is known before a wait,
// and the memory of earlier waits that it is fed from.
//
// Source        Karlin, Li, Manasse & Owicki, SOSP 1991: polling for at most the price of a sleep
//               costs at most twice what the best choice made with foresight does. With a memory of
//               earlier waits the choice can be made before: who never sees the end does not poll.
//
// Memory order
//   [L]  relaxed: hints; an update that is lost costs a little learning.
#pragma once

#include <syncopate/machine.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace syncopate::waits {

// What is known when a wait begins; all times in ticks.
struct situation {
  std::uint64_t expected = 0;      // mean of earlier waits here; 0: none yet
  std::uint64_t wake_latency = 0;  // what a sleep costs
  bool alone = false;              // this process may use one processor only
  bool crowded = false;            // whom we wait for has no processor, as far as one can tell
  bool may_yield = false;          // and a yield will let it run, as it does in barriers
  bool monitor = false;            // the processor can sleep on the word
  bool probe = false;              // try polling, to learn whether waits have become short
};

enum class way : unsigned char { spin, monitor, yield, park };

// Wait by `first` for that long, then park.
struct plan {
  way first = way::park;
  std::uint64_t limit = 0;

  friend constexpr bool operator==(const plan&, const plan&) = default;
};

// Waits longer than this are worth falling asleep on a monitor for: several times what going to
// sleep and waking takes (UMWAIT 0.1-0.5 microseconds, MWAITX alike; here about 0.7 at 2.1 GHz).
inline constexpr std::uint64_t worth_a_monitor = 1500;

// A monitor holds the processor, but burns little: it may wait that many sleeps' price.
inline constexpr std::uint64_t monitor_factor = 4;

// Who yields takes turns with those it waits for: most of the time passes for them. And where all
// sleep, waits become long for that reason alone (8 threads on 2 processors: 32 microseconds a
// barrier, 5 when all yield), which may not keep them from yielding.
inline constexpr std::uint64_t yield_factor = 16;

[[nodiscard]] constexpr plan choose(const situation& s) noexcept {
  const bool crowded = s.crowded || s.alone;
  if (crowded && !s.may_yield) return {way::park, 0};
  const std::uint64_t budget = s.wake_latency * (crowded     ? yield_factor
                                                 : s.monitor ? monitor_factor
                                                             : 1);
  if (s.expected > budget && !s.probe) return {way::park, 0};
  if (crowded) return {way::yield, budget};
  if (s.monitor && s.expected > worth_a_monitor) return {way::monitor, budget};
  return {way::spin, std::min(budget, s.wake_latency)};
}

// What a lock or barrier remembers of its waits: their mean. All zero: nothing. A hint: relaxed,
// updates may be lost. Async-signal-safe.
class history {
 public:
  [[nodiscard]] std::uint64_t expected() const noexcept {
    return std::uint64_t{mean_.load(std::memory_order_relaxed)} * unit;  // [L]
  }

  // For waits expected to be long: true now and then, since a wait that ends in a sleep cannot tell
  // how short it might have been. One in 32, so that polling for nothing costs 3 % of a sleep.
  [[nodiscard]] static bool probe() noexcept { return machine::now_and_then(32); }

  // A wait took that long, without the price of sleeping. Short waits after short waits change
  // nothing: the line stays shared.
  void note(std::uint64_t ticks, std::uint64_t wake_latency) noexcept {
    if (ticks > wake_latency / 8 || expected() > wake_latency / 8) note(ticks);
  }

  // The same always. Moves the mean by an eighth.
  void note(std::uint64_t ticks) noexcept {
    const auto sample = static_cast<std::int64_t>(std::min<std::uint64_t>(ticks / unit, longest));
    const auto mean = static_cast<std::int64_t>(mean_.load(std::memory_order_relaxed));  // [L]
    const std::int64_t next = mean == 0 ? sample : mean + (sample - mean) / 8;
    mean_.store(static_cast<std::uint32_t>(std::max<std::int64_t>(next, 1)),
                std::memory_order_relaxed);  // [L]
  }

 private:
  static constexpr std::uint64_t unit = 16;             // ticks; the mean's resolution is 8 units
  static constexpr std::uint64_t longest = 10'000'000;  // units: some 80 ms

  std::atomic<std::uint32_t> mean_{0};
};

// Who waited here last, and where: that thread has what we wait for now, most likely. All zero:
// nobody. A hint, as cheap as two loads.
class last_waiter {
 public:
  void is_me() noexcept { word_.store(my_mark(), std::memory_order_relaxed); }  // [L]

  // Whether it is another thread that was on this processor: it does not run while we poll.
  [[nodiscard]] bool is_in_our_way() const noexcept {
    const std::uint32_t seen = word_.load(std::memory_order_relaxed), mine = my_mark();  // [L]
    return seen != 0 && seen != mine && seen >> thread_bits == mine >> thread_bits;
  }

 private:
  static constexpr unsigned thread_bits = 20;
  static std::uint32_t my_mark() noexcept {
    const auto thread = static_cast<std::uint32_t>(machine::self());
    return machine::processor() << thread_bits | (thread & ((1u << thread_bits) - 1));
  }

  std::atomic<std::uint32_t> word_{0};
};

}  // namespace syncopate::waits
