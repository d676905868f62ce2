// sleep_table.h -- how many threads may sleep on a word, told by the word's address alone: for
// words that have no room to say so, and wakers that should not pay for sleepers that are not
// there. Above the count are bits that call for something else (asymmetric_lock.h).
//
// Who sleeps: counts itself, executes a heavy fence, looks at the word once more, sleeps while it
// is unchanged. Who wakes: changes the word, then may_sleep(). One of the two sees the other. Where
// both execute a full fence, the heavy one is not needed.
// Words may share a count: then somebody is woken, or called for, in vain.
//
// Memory order (each tag stands at its site below)
//   [W]  relaxed load and RMW of the count, between which and the word there is a light fence at
//        the waker's and a heavy one at the sleeper's.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace syncopate::openmp {

struct alignas(64) sleep_count {
  std::atomic<std::uint32_t> threads{0};
};
inline constexpr std::size_t sleep_counts = 256;
inline constinit sleep_count sleep_table[sleep_counts]{};

inline std::size_t sleep_index(const void* word) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(word);
  return (address >> 2 ^ address >> 9 ^ address >> 16) % sleep_counts;
}

inline std::atomic<std::uint32_t>& sleepers_on(const void* word) noexcept {
  return sleep_table[sleep_index(word)].threads;
}

// To be asked after the word was changed.
[[nodiscard]] inline bool may_sleep(const void* word) noexcept {
  machine::light_fence();
  return __builtin_expect(sleepers_on(word).load(std::memory_order_relaxed) != 0, 0);  // [W]
}

// Counts the caller among those who sleep on `word` while it exists.
class sleeper {
 public:
  explicit sleeper(const void* word) noexcept : count_(sleepers_on(word)) {
    count_.fetch_add(1, std::memory_order_relaxed);  // [W]
  }
  ~sleeper() { count_.fetch_sub(1, std::memory_order_relaxed); }  // [W]
  sleeper(const sleeper&) = delete;
  sleeper& operator=(const sleeper&) = delete;

 private:
  std::atomic<std::uint32_t>& count_;
};

}  // namespace syncopate::openmp
