// futex_wakes.h -- whether a futex of the program's own is used as a lock.
#pragma once

#include <cstdint>

namespace syncopate::record {

// How the waiters of a futex were woken, lately. Those of a lock are woken by who releases it, and
// whoever takes a lock waits for it, too, at times: not always, since a thread that releases a lock
// may take it again before the one that it woke runs. Where wakers hardly ever wait it is a signal;
// where always all waiters are woken, a barrier.
class futex_wakes {
 public:
  static constexpr futex_wakes of(std::uint32_t word) noexcept {
    return {word & most, word >> bits & most, (word & single) != 0};
  }
  [[nodiscard]] constexpr std::uint32_t word() const noexcept {
    return releases_ | signals_ << bits | (one_by_one_ ? single : 0);
  }
  [[nodiscard]] constexpr bool is_lock() const noexcept {
    return one_by_one_ && releases_ * barging > signals_;
  }
  // After one more. `by_waiter`: by a thread that has waited there; `one`: it woke one thread, and
  // would not have woken more. Once there are many, the older ones count less; where threads race
  // here, one is not counted.
  [[nodiscard]] constexpr futex_wakes with(bool by_waiter, bool one) const noexcept {
    futex_wakes next = *this;
    if (releases_ == most || signals_ == most) {
      next.releases_ /= 2;
      next.signals_ /= 2;
    }
    ++(by_waiter ? next.releases_ : next.signals_);
    next.one_by_one_ |= one;
    return next;
  }

 private:
  static constexpr unsigned bits = 10, barging = 4;  // signals for each release, at most
  static constexpr std::uint32_t most = (1u << bits) - 1, single = 1u << 2 * bits;
  constexpr futex_wakes(std::uint32_t releases, std::uint32_t signals, bool one_by_one) noexcept
      : releases_(releases), signals_(signals), one_by_one_(one_by_one) {}
  std::uint32_t releases_, signals_;
  bool one_by_one_;
};

}  // namespace syncopate::record
