// futex_wakes.h -- whether a futex of the program's own is used as a lock.
#pragma once

#include <cstdint>

namespace syncopate::record {

// How the waiters of a futex were woken, lately. Those of a lock are woken by who releases it, and
// whoever takes a lock waits for it, too, at times: not always, since a thread that releases a lock
// may take it again before the one that it woke runs. Where wakers hardly ever wait it is a signal.
// Where always all waiters are woken, it may be a barrier, whose threads wait for another value of
// the word each time, or a lock, whose value is the same whenever somebody holds it.
class futex_wakes {
 public:
  static constexpr futex_wakes of(std::uint32_t word) noexcept {
    const auto field = [word](unsigned at, std::uint32_t below) { return word >> at & below; };
    return {field(0, most),
            field(bits, most),
            field(one_at, 1) != 0,
            field(same_at, same),
            field(waited_at, value_bits),
            field(woken_at, value_bits)};
  }
  [[nodiscard]] constexpr std::uint32_t word() const noexcept {
    return releases_ | signals_ << bits | std::uint32_t{one_by_one_} << one_at | same_ << same_at |
           waited_ << waited_at | woken_ << woken_at;
  }
  [[nodiscard]] constexpr bool is_lock() const noexcept {
    return (one_by_one_ || same_ >= often_enough) && releases_ * barging > signals_;
  }
  // After a thread began to wait because the word had this value.
  [[nodiscard]] constexpr futex_wakes waited_for(std::uint32_t value) const noexcept {
    futex_wakes next = *this;
    next.waited_ = value * 0x9e37'79b1u >> 28;
    return next;
  }
  // After waiters were woken by a thread that has waited there (`by_waiter`) or not; `one`: it woke
  // one thread, and would not have woken more. Once there are many, the older ones count less;
  // where threads race here, one is not counted.
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
  // After all who waited then were woken, by whatever calls.
  [[nodiscard]] constexpr futex_wakes after_round() const noexcept {
    futex_wakes next = *this;
    next.same_ = waited_ != woken_ ? 0 : same_ < same ? same_ + 1 : same;
    next.woken_ = waited_;
    return next;
  }

 private:
  static constexpr unsigned bits = 10, one_at = 20, same_at = 21, waited_at = 24, woken_at = 28;
  static constexpr unsigned barging = 4;  // signals for each release, at most
  static constexpr std::uint32_t most = (1u << bits) - 1, same = 7, value_bits = 15;
  static constexpr std::uint32_t often_enough = 3;  // one in 16 values looks the same by chance
  constexpr futex_wakes(std::uint32_t releases, std::uint32_t signals, bool one_by_one,
                        std::uint32_t same_value, std::uint32_t waited,
                        std::uint32_t woken) noexcept
      : releases_(releases),
        signals_(signals),
        one_by_one_(one_by_one),
        same_(same_value),
        waited_(waited),
        woken_(woken) {}
  std::uint32_t releases_, signals_;
  bool one_by_one_;
  std::uint32_t same_;            // in how many rounds in a row they waited for the same value
  std::uint32_t waited_, woken_;  // the last value waited for, and that of the last round
};

}  // namespace syncopate::record
