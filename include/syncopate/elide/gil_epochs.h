// gil_epochs.h -- measures, epoch by epoch, what a yield point costs under each way of choosing
// lengths, and tells gil_choice.h.
//
// The cost of a yield point is the time of the epoch over all points that any thread has passed:
// threads that wait, and would tell nothing, count by what they did not do.
//
// Memory order
//   [L]  relaxed: hints about how to go on; they publish nothing.
#pragma once

#include <syncopate/elide/gil_choice.h>
#include <syncopate/gil.h>

#include <atomic>
#include <cstdint>

namespace syncopate::elide {

class gil_epochs {
 public:
  // Tells how far the thread's last transactions have got; the one that ends an epoch holds `lock`
  // for it. Returns the fixed length to use now; 0: the yield point's own.
  template <class Lock>
  [[nodiscard]] std::uint16_t choose(::syncopate_gil_thread& me, Lock& lock) noexcept {
    me.cost_points += me.length;
    const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed);  // [L]
    if (me.epoch != epoch) {  // these belong to the last way
      me.epoch = epoch;
      me.cost_since = me.since;
      me.cost_points = 0;
    } else if (me.since - me.cost_since >= shortest / 16) {
      add_points(me, lock);
    }
    return fixed_.load(std::memory_order_relaxed);  // [L]
  }

  // Requires: no thread chooses meanwhile.
  [[nodiscard]] const choice_state& choice() const noexcept { return choice_; }

 private:
  // Ticks; about 50 us, some ten transactions of the longest fixed length.
  static constexpr std::uint64_t shortest = 1u << 17;

  template <class Lock>
  void add_points(::syncopate_gil_thread& me, Lock& lock) noexcept {
    points_.fetch_add(me.cost_points, std::memory_order_relaxed);  // [L]
    me.cost_since = me.since;
    me.cost_points = 0;
    const std::uint64_t start = start_.load(std::memory_order_relaxed);  // [L]
    const std::uint64_t took = me.since - start;
    if (static_cast<std::int64_t>(took) <
        static_cast<std::int64_t>(length_.load(std::memory_order_relaxed)))  // [L]
      return;
    if (!lock.try_lock()) return;  // somebody else ends it
    if (start == start_.load(std::memory_order_relaxed)) end(me.since, took);  // [L]
    lock.unlock();
  }

  void end(std::uint64_t now, std::uint64_t took) noexcept {
    const auto points =
        static_cast<double>(points_.exchange(0, std::memory_order_relaxed) + 1);  // [L]
    // The first one began when nobody ran yet.
    if (start_.exchange(now, std::memory_order_relaxed) != 0)  // [L]
      choice_ = choice::after_epoch(choice_, static_cast<double>(took) / points);
    // Later trials are longer, so that chance decides less.
    const std::uint32_t factor = choice_.trials < 7 ? choice_.trials + 1 : 8;
    length_.store(factor * shortest, std::memory_order_relaxed);                          // [L]
    fixed_.store(choice_state::ways[choice_.way], std::memory_order_relaxed);             // [L]
    epoch_.store(epoch_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // [L]
  }

  // What is read always and what is added to lie in different lines. choice_: under the lock.
  alignas(256) std::atomic<std::uint32_t> epoch_{1};
  std::atomic<std::uint16_t> fixed_{choice_state::ways[choice_state{}.way]};
  choice_state choice_;
  std::atomic<std::uint64_t> start_{0}, length_{shortest};
  alignas(256) std::atomic<std::uint64_t> points_{0};
};

}  // namespace syncopate::elide
