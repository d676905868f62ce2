// foreign_load.h -- yields among peers that share processors, beside threads of others that
// compute.
//
// Where the threads of a team outnumber the processors, a waiter that yields lets a peer run, and
// nothing is cheaper. But a foreign thread that computes on the same processor keeps it for a time
// slice, some milliseconds, at every second or third yield (Linux: who yields gives up the rest of
// its share), and the whole team waits. Sleeping instead does not help: who is woken stays where it
// was, behind the foreign thread, while its peers yield elsewhere. So a team leaves such a one
// to the foreign thread: whoever is about to yield there moves to another one. *Measured* (Xeon, 2
// processors, one foreign process, microseconds a barrier): 4 threads 2.6, where sleeping all the
// time takes 5 to 12 and yielding on some 2,500; 8 threads 5.8 (passive libgomp 16).
//
// A peer that computes keeps the processor just as long. So the threads of a team say that they are
// there when they begin to wait and when they go on: only the time since the last offer counts, and
// none if one was seen since. *Measured* (4 threads that compute 1 millisecond each between two
// barriers): 2.4 milliseconds; when all was counted 3.8, since a team that leaves one processor
// after the other to itself shares the last.
//
// Foreign threads move as well, and short ones come and go: soon every processor has met one. Then
// the one that has shown least is tried again, by all. Only where all of them have shown foreign
// threads again, the team sleeps, and on one of them: a thread that is woken on another
// processor than its peers' waits there for a slice's end, at each barrier.
//
// What is known is kept for the process: it is true for all its teams, and costs slices to learn.
//
// Memory order
//   [L]  relaxed: hints; updates may be lost. The exchange lets one slice count once.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/machine/affinity.h>
#include <syncopate/wait/competition.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace syncopate::waits {

// A yield that took longer than so many sleeps' price met a foreign time slice: peers on their way
// do not take that long.
inline constexpr std::uint64_t foreign_factor = 16;

// What is known of one processor. All zero: nothing. A hint: relaxed, updates may be lost. In
// a line of its own: the processor's threads write it at each wait.
class alignas(64) foreign_load {
 public:
  // A thread of ours there begins to wait by an offer, at that time; or does anything else.
  void offers(std::uint64_t now) noexcept {
    not_before_.store(now, std::memory_order_relaxed);  // [L]
  }
  void is_ours() noexcept {
    not_before_.store(~std::uint64_t{0}, std::memory_order_relaxed);  // [L]
  }

  // Time before that may have been a peer's.
  [[nodiscard]] std::uint64_t not_before() const noexcept {
    return not_before_.load(std::memory_order_relaxed);  // [L]
  }

  // Whether a foreign thread computes there, as far as one can tell.
  [[nodiscard]] bool is_there(std::uint64_t now) const noexcept {
    const std::uint64_t until = until_.load(std::memory_order_relaxed);  // [L]
    return __builtin_expect(until != 0, 0) && now < until;
  }

  // Whether, if so, it takes nearly all of the time from who yields. (Else the kernel deals it out
  // between groups of threads, and yields within one do not matter.)
  [[nodiscard]] bool takes_all() const noexcept {
    return takes_all_.load(std::memory_order_relaxed);  // [L]
  }

  // A yield there took from `start` to `end` (ticks), and then the wait was over: time was lost.
  // Once is nothing, a daemon may have run. Twice with less than that time in between is a thread
  // that computes: then the processor is left to it for 32 times as long, and twice as long each
  // time when it is still there soon after. Slices that overlap are the same one, met by several.
  void took_slice(std::uint64_t start, std::uint64_t end) noexcept {
    const std::uint64_t last = last_.exchange(end, std::memory_order_relaxed);   // [L]
    if (start < last || start < until_.load(std::memory_order_relaxed)) return;  // [L]
    const std::uint64_t length = std::min(end - start, longest_factor * machine::wake_latency());
    const std::uint64_t known = known_.load(std::memory_order_relaxed);  // [L]
    std::uint32_t level = level_.load(std::memory_order_relaxed);        // [L]
    if (known != 0 && start - known < 2 * period(length, level)) {
      level = std::min(level + 1, highest_level);
    } else {
      if (last == 0 || start - last >= length) return;
      level = 0;
      takes_all_.store(start - last < length / 8, std::memory_order_relaxed);  // [L]
    }
    level_.store(level, std::memory_order_relaxed);                        // [L]
    known_.store(end, std::memory_order_relaxed);                          // [L]
    until_.store(end + period(length, level), std::memory_order_relaxed);  // [L]
  }

  // Whether less speaks for a foreign thread here than there: it was there fewer times, or earlier.
  [[nodiscard]] bool is_less_sure_than(const foreign_load& other) const noexcept {
    const std::uint32_t here = level_.load(std::memory_order_relaxed);         // [L]
    const std::uint32_t there = other.level_.load(std::memory_order_relaxed);  // [L]
    if (here != there) return here < there;
    return known_.load(std::memory_order_relaxed) <
           other.known_.load(std::memory_order_relaxed);  // [L]
  }

  // Whether it was there again when it was looked for.
  [[nodiscard]] bool is_sure() const noexcept {
    return level_.load(std::memory_order_relaxed) != 0;  // [L]
  }

  // It was there, but there is nowhere else to go. What shows it again counts as soon after.
  void try_again() noexcept { until_.store(0, std::memory_order_relaxed); }  // [L]

 private:
  // With slices of 4 milliseconds an eighth of a second at first, up to a second, which is also how
  // long the processor may be left in vain.
  static constexpr std::uint64_t slices_away = 32;
  static constexpr std::uint32_t highest_level = 3;
  // A slice is some milliseconds; a virtual machine may stand still for longer.
  static constexpr std::uint64_t longest_factor = 1000;

  static std::uint64_t period(std::uint64_t length, std::uint32_t level) noexcept {
    return length * slices_away << level;
  }

  std::atomic<std::uint64_t> last_{0};   // end of the last slice
  std::atomic<std::uint64_t> known_{0};  // when it was last shown
  std::atomic<std::uint64_t> until_{0};  // ticks; till then the processor is left alone
  std::atomic<std::uint32_t> level_{0};
  std::atomic<bool> takes_all_{false};
  std::atomic<std::uint64_t> not_before_{0};  // ticks; all ones: any time
};

// Of the process. More processors than that share entries.
inline constexpr unsigned watched_processors = 256;
inline constinit foreign_load on_processor[watched_processors]{};

[[nodiscard]] inline foreign_load& load_of(unsigned processor) noexcept {
  return on_processor[processor % watched_processors];
}

// To be called by threads whose peers may wait on the same processor: before a wait, unless it
// begins with an offer, and after it, also where there was nothing to wait for.
inline void be_seen() noexcept {
  if constexpr (!machine::is_modeled) load_of(machine::processor()).is_ours();
}

// Where a thread sleeps, since there is no other processor for it.
struct stay {
  unsigned at = machine::no_processor;
  std::uint64_t until = 0;  // ticks
};
inline thread_local constinit stay stays [[gnu::tls_model("initial-exec")]] = {};

// A waiter's offers of its processor to its peers, one after the other. On modeled machines, whose
// threads are all of one process, plain yields.
class peer_yield {
 public:
  // Yields, or moves to another processor. False, with nothing done, where foreign threads would
  // get each processor that can be used: then sleep.
  [[nodiscard]] bool offer() noexcept {
    if constexpr (!machine::is_modeled) {
      start_ = machine::ticks();
      where_ = machine::processor();
      foreign_load& here = load_of(where_);
      here.offers(start_);
      if (__builtin_expect(here.is_there(start_), 0)) {
        const way_out way = leave(std::exchange(start_, 0));
        if (way != way_out::none) return way == way_out::moved;
      }
    }
    machine::yield();
    return true;
  }

  [[nodiscard]] bool has_offered() const noexcept { return start_ != 0; }

  // Whether the last offer took so long that somebody else computed meanwhile, ours or not.
  [[nodiscard]] bool took_long() const noexcept {
    return start_ != 0 && took_long(start_, machine::ticks());
  }

  // What is waited for was there after the last offer. Only then it is known to be a loss that it
  // took long: else the time may have been a peer's that has work to do.
  void was_last() const noexcept {
    if (machine::is_modeled || start_ == 0) return;
    const std::uint64_t now = machine::ticks();
    if (__builtin_expect(took_long(start_, now), 0)) lost(now);
  }

 private:
  enum class way_out : unsigned char { none, moved, sleep };

  static bool took_long(std::uint64_t start, std::uint64_t now) noexcept {
    return now - start > foreign_factor * machine::wake_latency();
  }

  [[gnu::noinline, gnu::cold]] void lost(std::uint64_t now) const noexcept {
    others.took(now - start_);
    foreign_load& here = load_of(where_);
    const std::uint64_t since = std::max(start_, here.not_before());
    if (machine::processor() == where_ && since < now && took_long(since, now))
      here.took_slice(since, now);
  }

  // Finding out that there is no other processor takes a call of the kernel.
  static constexpr std::uint64_t looks_again_after = 64;  // sleeps' prices

  // To a processor without a foreign thread, else to that with least of them.
  [[gnu::noinline, gnu::cold]] way_out leave(std::uint64_t now) const noexcept {
    if (where_ == stays.at && now < stays.until) return way_out::sleep;
    unsigned best = where_;
    const bool found = machine::move_away([now, &best](unsigned n) {
      if (load_of(n).is_less_sure_than(load_of(best))) best = n;
      return load_of(n).is_there(now);
    });
    if (found) return way_out::moved;
    foreign_load& least = load_of(best);
    if (!least.is_sure() || !least.takes_all()) least.try_again();
    else if (best == where_) stays = {best, now + looks_again_after * machine::wake_latency()};
    if (best != where_ && machine::move_away([best](unsigned n) { return n != best; }))
      return way_out::moved;
    return least.is_there(now) ? way_out::sleep : way_out::none;
  }

  std::uint64_t start_ = 0;  // of the last yield; 0: none
  unsigned where_ = 0;
};

}  // namespace syncopate::waits
