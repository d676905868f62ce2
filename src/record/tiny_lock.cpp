// tiny_lock.cpp -- waiting for a tiny lock, and when to give up.
//
// Memory order (each tag stands at its site below)
//   [L]  internal.h: takes the lock.
//   [T]  internal.h: who has it.
#include <cstring>

#include "record/internal.h"
#include "record/usage.h"

namespace syncopate::record {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t long_at_work = second / 10;  // with the lock: it is elsewhere
constexpr unsigned most_silent_looks = 30;           // at a holder that does not say who it is

// The letter by which the kernel calls what a thread does; 0 when there is none, or it is not told.
// Its file has the number, the name in parentheses, which may hold any character, and the letter.
char state_of(std::uint32_t thread_id) noexcept {
  char path[64] = "/proc/self/task/", text[128];
  std::memcpy(sys::put_number(path + 16, thread_id), "/stat", 6);
  std::size_t at = sys::read_file(path, text, sizeof text);
  while (at != 0 && text[at - 1] != ')') --at;
  return at != 0 && at + 1 < sizeof text ? text[at + 1] : 0;
}

// Whether whoever has the lock will hardly release it, by two looks at it a second apart or more.
class look_at_holder {
 public:
  bool is_lost(std::uint64_t holder) noexcept {
    const auto thread = static_cast<std::uint32_t>(holder);
    if (thread == 0) {  // it has taken it just now, and may lack a processor since
      silent_ = holder == holder_ ? silent_ + 1 : 0;
      holder_ = holder;
      return silent_ >= most_silent_looks;
    }
    if (thread == static_cast<std::uint32_t>(machine::self())) return true;  // it waits here
    const char state = state_of(thread);
    const std::uint64_t ran = cpu_time(cpu_clock_of(thread));
    const bool again = holder == holder_;
    const std::uint64_t before = again ? ran_ : ran;
    holder_ = holder;
    ran_ = before;
    if (state == 0 || state == 'Z' || state == 'X') return true;
    // What runs, or waits for a disk, may be about to release it.
    const bool may_go_on = state == 'R' || state == 'D';
    return again && (!may_go_on || ran - before >= long_at_work);
  }

 private:
  std::uint64_t holder_ = 0, ran_ = 0;
  unsigned silent_ = 0;
};

}  // namespace

bool tiny_lock::lock_slow() noexcept {
  look_at_holder look;
  std::uint64_t look_at = machine::now() + second;
  while (word_.exchange(2, std::memory_order_acquire) != 0) {  // [L]
    if (machine::now() >= look_at) {
      const std::uint64_t holder = holder_.load(std::memory_order_relaxed);  // [T]
      // Who had it may have released it and ended while this thread looked at it, and lacked a
      // processor meanwhile.
      if (look.is_lost(holder) && holder_.load(std::memory_order_relaxed) == holder)  // [T]
        return false;
      look_at = machine::now() + second;
    }
    const machine::deadline until{
        {static_cast<time_t>(look_at / second), static_cast<long>(look_at % second)},
        CLOCK_MONOTONIC};
    machine::park(&word_, 2, &until);
  }
  return taken();
}

}  // namespace syncopate::record
