// own_time.h -- while recording: how long each thread of a team is at work between two of its
// barriers, and so whether who comes last there had more to do, or no processor.
//
// A thread's own time is what passes from its return from the last barrier, or its entry into the
// region, to its arrival at the next one; without its recorded waits in between; and, where it was
// taken off its processor meanwhile, no more than the processor time that it has used. What it was
// late to begin with is not in it. The last one to arrive compares: for as long as it was at work
// longer than the others, and they waited, work was unevenly split; not where they had tasks.
//
// Memory order (each tag stands at its site below)
//   [Q]  relaxed RMWs of the sums, before the acq_rel RMW by which their thread is counted among
//        those that have arrived (team.cpp): who is counted last reads all of them.
//   [G]  relaxed: by the last to arrive, before it does, or between regions by the master: nobody
//        else uses these sums then.
#pragma once

#include <atomic>
#include <cstdint>

namespace syncopate::openmp {

// Where a thread's own time began.
struct own_time {
  std::uint64_t since = 0;   // ticks
  std::uint64_t waited = 0;  // in recorded waits, of the thread's life

  void begin() noexcept;
  // Ticks until now.
  [[nodiscard]] std::uint64_t until(std::uint64_t now) const noexcept;
};

// Of the threads that have arrived at one barrier, or at the end of a region.
class own_times {
 public:
  void add(std::uint64_t own, std::uint64_t now) noexcept {
    own_.fetch_add(own, std::memory_order_relaxed);  // [Q]
    at_.fetch_add(now, std::memory_order_relaxed);   // [Q]
  }
  void clear() noexcept {
    own_.store(0, std::memory_order_relaxed);  // [G]
    at_.store(0, std::memory_order_relaxed);   // [G]
  }
  // Of the last one: how long the others have waited, in ticks and in all, and how long of that
  // since it was at work for longer than they.
  [[nodiscard]] std::uint64_t waited(std::uint64_t now, std::uint32_t threads) const noexcept {
    return longer(threads * now, at_.load(std::memory_order_relaxed));  // [Q]
  }
  [[nodiscard]] std::uint64_t uneven(std::uint64_t own, std::uint64_t now,
                                     std::uint32_t threads) const noexcept {
    const std::uint64_t more = longer(threads * own, own_.load(std::memory_order_relaxed));  // [Q]
    const std::uint64_t all = waited(now, threads);
    return more < all ? more : all;
  }

 private:
  // 0 where it is not: another one may have read the clock behind the last, and be counted first.
  static std::uint64_t longer(std::uint64_t than, std::uint64_t sum) noexcept {
    return static_cast<std::int64_t>(than - sum) > 0 ? than - sum : 0;
  }

  std::atomic<std::uint64_t> own_{0}, at_{0};
};

}  // namespace syncopate::openmp
