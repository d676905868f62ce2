// elided.h -- the least lock that elides, and the same lock without elision, for the programs of
// this folder; begin lies in a lock() that returns.
#pragma once

#include <syncopate/locks/tatas_lock.h>

#include <atomic>

#include "check.h"

class elided {
 public:
  explicit elided(bool elides) : elides_(elides) {}

  void lock() {
    for (int i = 0; elides_ && i < 8; ++i) {
      const htm::status status = htm::begin();
      if (status.started()) {
        if (word_.load(std::memory_order_relaxed) == 0) return;
        htm::abort<0xff>();
      }
      if (status.why == htm::cause::explicit_) {
        syncopate::machine::wait_until(word_, std::memory_order_relaxed,
                                       [](int held) { return held == 0; });
      } else if (!status.may_retry) {
        break;
      }
    }
    htm::fell_back();
    while (word_.exchange(1, std::memory_order_acquire) != 0) syncopate::machine::yield();
  }

  void unlock() {
    if (elides_ && htm::active()) htm::commit();
    else word_.store(0, std::memory_order_release);
  }

 private:
  const bool elides_;
  alignas(64) std::atomic<int> word_{0};
};
