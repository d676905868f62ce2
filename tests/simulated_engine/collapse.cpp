// Many cores: where all waiters watch one word, each hand-over takes longer the more there are; a
// queue lock stays flat.
// run: SYNCOPATE_MACHINE=opteron-6272
#include <atomic>
#include <cstdio>

#include "together.h"

namespace {

namespace machine = syncopate::machine;

// The textbook forms, without back-off.
struct tatas {
  alignas(128) std::atomic<unsigned> held{0};
  void lock(unsigned) {
    do {
      machine::wait_until(held, std::memory_order_relaxed, [](unsigned h) { return h == 0; });
    } while (held.exchange(1, std::memory_order_acquire) != 0);
  }
  void unlock(unsigned) { held.store(0, std::memory_order_release); }
};

struct ticket {
  alignas(128) std::atomic<unsigned> next{0};
  alignas(128) std::atomic<unsigned> serving{0};
  void lock(unsigned) {
    const unsigned mine = next.fetch_add(1, std::memory_order_relaxed);
    machine::wait_until(serving, std::memory_order_acquire,
                        [mine](unsigned s) { return s == mine; });
  }
  void unlock(unsigned) {
    serving.store(serving.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

struct mcs {
  struct alignas(128) node {
    std::atomic<node*> next{nullptr};
    std::atomic<unsigned> waits{0};
  };
  alignas(128) std::atomic<node*> tail{nullptr};
  node nodes[64];
  void lock(unsigned me) {
    node& mine = nodes[me];
    mine.next.store(nullptr, std::memory_order_relaxed);
    mine.waits.store(1, std::memory_order_relaxed);
    node* const before = tail.exchange(&mine, std::memory_order_acq_rel);
    if (before == nullptr) return;
    before->next.store(&mine, std::memory_order_release);
    machine::wait_until(mine.waits, std::memory_order_acquire, [](unsigned w) { return w == 0; });
  }
  void unlock(unsigned me) {
    node& mine = nodes[me];
    node* next = mine.next.load(std::memory_order_acquire);
    if (next == nullptr) {
      node* expected = &mine;
      if (tail.compare_exchange_strong(expected, nullptr, std::memory_order_release)) return;
      next = machine::wait_until(mine.next, std::memory_order_acquire,
                                 [](node* n) { return n != nullptr; });
    }
    next->waits.store(0, std::memory_order_release);
  }
};

template <class Lock>
double cycles_per_round(unsigned threads) {
  constexpr unsigned rounds = 100;
  alignas(128) static Lock lock;
  alignas(128) static unsigned counter;
  const std::uint64_t cycles = run_together(threads, [](unsigned me) {
    for (unsigned i = 0; i < rounds; ++i) {
      lock.lock(me);
      ++counter;
      lock.unlock(me);
    }
  });
  return static_cast<double>(cycles) / (threads * rounds);
}

// The time for one round on 64 cores, in times of that on 8 cores.
template <class Lock>
void compare(const char* name) {
  const double few = cycles_per_round<Lock>(8), many = cycles_per_round<Lock>(64);
  std::printf("%-7s from 8 to 64 cores: %s\n", name,
              many > 3 * few   ? "collapses (over 3 times the time)"
              : many < 2 * few ? "stays flat (less than twice the time)"
                               : "in between");
}

}  // namespace

int main() {
  compare<tatas>("tatas");
  compare<ticket>("ticket");
  compare<mcs>("mcs");
}
