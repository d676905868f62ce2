// elision.h -- what the programs of this folder share: threads that start together, and counts of
// how sections ended. Each program checks itself by assert() and prints its counts.
#pragma once

#include <syncopate/elide/section.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "../../check/check.h"

namespace elision {

namespace htm = syncopate::machine::htm;
using syncopate::elide::abort_code;
using syncopate::elide::section;

struct counts {
  std::uint64_t transactions = 0, under_lock = 0;  // sections, by how they ended
  std::uint64_t aborts[5] = {};                    // by htm::cause
  std::uint64_t codes[256] = {};                   // explicit ones

  [[nodiscard]] std::uint64_t sections() const { return transactions + under_lock; }
  [[nodiscard]] std::uint64_t aborted(htm::cause why) const {
    return aborts[static_cast<int>(why)];
  }
  [[nodiscard]] std::uint64_t aborted(abort_code code) const {
    return codes[static_cast<int>(code)];
  }
  void add(const counts& other) {
    transactions += other.transactions;
    under_lock += other.under_lock;
    for (int i = 0; i < 5; ++i) aborts[i] += other.aborts[i];
    for (int i = 0; i < 256; ++i) codes[i] += other.codes[i];
  }
  void print(const char* what) const {
    std::printf(
        "%s: %lu transactions, %lu under the lock; aborts: conflict %lu, capacity %lu, "
        "lock held %lu, needs lock %lu, other %lu\n",
        what, transactions, under_lock, aborted(htm::cause::conflict),
        aborted(htm::cause::capacity), aborted(abort_code::lock_held),
        aborted(abort_code::needs_lock), aborted(htm::cause::other));
  }
};

// Counts the calling thread's aborts as long as it lives; ended() counts a section.
class counter {
 public:
  explicit counter(counts& c) : counts_(c), on_abort_({&c}) {}
  // By value of section::active() inside, after the section.
  void ended(bool as_transaction) {
    ++(as_transaction ? counts_.transactions : counts_.under_lock);
  }

 private:
  struct tell {
    counts* all;
    void operator()(const htm::status& why) const noexcept {
      ++all->aborts[static_cast<int>(why.why)];
      if (why.why == htm::cause::explicit_) ++all->codes[why.code];
    }
  };
  counts& counts_;
  syncopate::elide::on_abort<tell> on_abort_;
};

// Runs work(thread, counter) on so many threads that begin at the same time; returns the sums of
// their counts, and in `ticks` how long it took.
template <class Work>
counts run(unsigned threads, Work work, std::uint64_t* ticks = nullptr) {
  std::vector<counts> each(threads);
  std::vector<std::thread> running;
  std::atomic<unsigned> arrived{0};
  std::atomic<std::uint64_t> first{~0ull}, last{0};
  for (unsigned i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      counter mine(each[i]);
      arrived.fetch_add(1);
      syncopate::machine::wait_until(arrived, std::memory_order_acquire,
                                     [threads](unsigned n) { return n == threads; });
      if (i == 0) first = syncopate::machine::ticks();
      work(i, mine);
      const std::uint64_t now = syncopate::machine::ticks();
      for (std::uint64_t before = last; before < now && !last.compare_exchange_weak(before, now);) {
      }
    });
  for (std::thread& t : running) t.join();
  if (ticks != nullptr) *ticks = last - first;
  counts sum;
  for (const counts& c : each) sum.add(c);
  return sum;
}

}  // namespace elision
