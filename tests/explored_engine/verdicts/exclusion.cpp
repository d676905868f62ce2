// Locks, as textbooks have them, and as they are got wrong. What each program is, table.txt says.
#include <atomic>
#include <cassert>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program.h"

namespace {

using enum std::memory_order;

// Two threads add to a plain counter, each once. Thread 0 and 1 say who they are.
template <class Lock>
void two_add() {
  Lock lock;
  int counter = 0;
  const auto add = [&](int me) {
    lock.lock(me);
    ++counter;
    lock.unlock(me);
  };
  both([&] { add(0); }, [&] { add(1); });
  assert(counter == 2);
}

// Dekker's, by fences.
template <std::memory_order Fence, bool Acquires>
struct fenced_dekker {
  std::atomic<int> wants[2]{}, turn{0};
  void lock(int me) {
    wants[me].store(1, relaxed);
    std::atomic_thread_fence(Fence);
    while (wants[1 - me].load(relaxed) != 0) {
      if (turn.load(relaxed) == me) continue;
      wants[me].store(0, relaxed);
      while (turn.load(relaxed) != me) {
      }
      wants[me].store(1, relaxed);
      std::atomic_thread_fence(Fence);
    }
    if (Acquires) std::atomic_thread_fence(acquire);
  }
  void unlock(int me) {
    std::atomic_thread_fence(release);
    turn.store(1 - me, relaxed);
    wants[me].store(0, relaxed);
  }
};

// Peterson, "Myths about the mutual exclusion problem", 1981.
template <std::memory_order Store, std::memory_order Load>
struct peterson {
  std::atomic<bool> wants[2]{};
  std::atomic<int> turn{0};
  void lock(int me) {
    wants[me].store(true, Store);
    turn.store(1 - me, Store);
    while (wants[1 - me].load(Load) && turn.load(Load) == 1 - me) {
    }
  }
  void unlock(int me) { wants[me].store(false, release); }
};

// By fences. With the second one only, a thread's two stores are in no order: the other one's turn
// may be later than ours, and our wish not seen yet.
template <int Fences>
struct fenced_peterson {
  std::atomic<bool> wants[2]{};
  std::atomic<int> turn{0};
  void lock(int me) {
    wants[me].store(true, relaxed);
    if constexpr (Fences == 2) std::atomic_thread_fence(seq_cst);
    turn.store(1 - me, relaxed);
    std::atomic_thread_fence(seq_cst);
    while (wants[1 - me].load(acquire) && turn.load(relaxed) == 1 - me) {
    }
  }
  void unlock(int me) { wants[me].store(false, release); }
};

// Whose exchange comes second has seen the first one's wish.
struct exchanged_peterson {
  std::atomic<bool> wants[2]{};
  std::atomic<int> turn{0};
  void lock(int me) {
    wants[me].store(true, relaxed);
    turn.exchange(1 - me, acq_rel);
    while (wants[1 - me].load(acquire) && turn.load(relaxed) == 1 - me) {
    }
  }
  void unlock(int me) { wants[me].store(false, release); }
};

// Dijkstra, "Cooperating sequential processes", 1965.
template <std::memory_order Store, std::memory_order Load>
struct dekker {
  std::atomic<bool> wants[2]{};
  std::atomic<int> turn{0};
  void lock(int me) {
    wants[me].store(true, Store);
    while (wants[1 - me].load(Load)) {
      if (turn.load(relaxed) == me) continue;
      wants[me].store(false, relaxed);
      while (turn.load(relaxed) != me) {
      }
      wants[me].store(true, Store);
    }
  }
  void unlock(int me) {
    turn.store(1 - me, relaxed);
    wants[me].store(false, release);
  }
};

// Nobody gives way.
struct stubborn {
  std::atomic<bool> wants[2]{};
  void lock(int me) {
    wants[me] = true;
    while (wants[1 - me]) {
    }
  }
  void unlock(int me) { wants[me] = false; }
};

// Lamport, "A new solution of Dijkstra's concurrent programming problem", 1974.
template <bool SaysThatItChooses>
struct bakery {
  std::atomic<bool> chooses[2]{};
  std::atomic<int> number[2]{};
  void lock(int me) {
    const int other = 1 - me;
    if (SaysThatItChooses) chooses[me] = true;
    const int mine = 1 + number[other];
    number[me] = mine;
    if (SaysThatItChooses) chooses[me] = false;
    while (chooses[other]) {
    }
    for (;;) {
      const int theirs = number[other];
      if (theirs == 0 || theirs > mine || (theirs == mine && other > me)) return;
    }
  }
  void unlock(int me) { number[me] = 0; }
};

template <std::memory_order Release>
struct test_and_set {
  std::atomic_flag taken;
  void lock(int) {
    while (taken.test_and_set(acquire)) {
      while (taken.test(relaxed)) {
      }
    }
  }
  void unlock(int) { taken.clear(Release); }
};

struct test_then_set {
  std::atomic<bool> taken{false};
  void lock(int) {
    while (taken) {
    }
    taken = true;
  }
  void unlock(int) { taken = false; }
};

template <std::memory_order Load>
struct ticket {
  std::atomic<unsigned> next{0}, serving{0};
  void lock(int) {
    const unsigned mine = next.fetch_add(1, relaxed);
    while (serving.load(Load) != mine) std::this_thread::yield();
  }
  void unlock(int) { serving.store(serving.load(relaxed) + 1, release); }
};

// Mellor-Crummey & Scott, TOCS 9(1), 1991.
template <bool WaitsForTheNext>
struct mcs {
  struct node {
    std::atomic<node*> next{nullptr};
    std::atomic<bool> waits{true};
  };
  std::atomic<node*> tail{nullptr};
  node nodes[2];
  void lock(int me) {
    node& mine = nodes[me];
    node* const before = tail.exchange(&mine, acq_rel);
    if (before == nullptr) return;
    before->next.store(&mine, release);
    while (mine.waits.load(acquire)) {
    }
  }
  void unlock(int me) {
    node& mine = nodes[me];
    node* next = mine.next.load(acquire);
    if (next == nullptr) {
      node* expected = &mine;
      if (tail.compare_exchange_strong(expected, nullptr, release, relaxed)) return;
      if (!WaitsForTheNext) return;
      while ((next = mine.next.load(acquire)) == nullptr) {
      }
    }
    next->waits.store(false, release);
  }
};

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

// Drepper, "Futexes are tricky", his second mutex: 2 is held with sleepers. Who has slept takes the
// lock as 2, since others may sleep still.
template <std::uint32_t AfterSleep>
struct futex_mutex {
  std::atomic<std::uint32_t> word{0};
  void lock(int) {
    std::uint32_t seen = 0;
    if (word.compare_exchange_strong(seen, 1, acquire, relaxed)) return;
    if (seen != 2) seen = word.exchange(2, acquire);
    while (seen != 0) {
      futex(word, FUTEX_WAIT, 2);
      seen = word.exchange(AfterSleep, acquire);
    }
  }
  void unlock(int) {
    if (word.exchange(0, release) == 2) futex(word, FUTEX_WAKE, 1);
  }
};

template <class Lock>
void three_add() {
  Lock lock;
  int counter = 0;
  const auto add = [&] {
    lock.lock(0);
    ++counter;
    lock.unlock(0);
  };
  all_three(add, add, add);
  assert(counter == 3);
}

// Sleeps behind a holder that looks for sleepers before it lets go.
struct forgetful_futex_mutex {
  std::atomic<std::uint32_t> held{0}, sleepers{0};
  void lock(int) {
    while (held.exchange(1) != 0) {
      ++sleepers;
      futex(held, FUTEX_WAIT, 1);
      --sleepers;
    }
  }
  void unlock(int) {
    const bool somebody = sleepers != 0;
    held = 0;
    if (somebody) futex(held, FUTEX_WAKE, 1);
  }
};

// Readers count up from 0, the writer is -1.
template <std::memory_order ReaderLeaves>
void counted_readers() {
  std::atomic<int> state{0};
  int data = 0;
  const auto write = [&] {
    for (int free = 0; !state.compare_exchange_weak(free, -1, acquire, relaxed); free = 0)
      std::this_thread::yield();
    ++data;
    state.store(0, release);
  };
  const auto read = [&] {
    int now = state.load(relaxed);
    while (now < 0 || !state.compare_exchange_weak(now, now + 1, acquire, relaxed)) {
      if (now < 0) {
        std::this_thread::yield();
        now = state.load(relaxed);
      }
    }
    const int seen = data;
    state.fetch_sub(1, ReaderLeaves);
    assert(seen == 0 || seen == 1);
  };
  all_three(write, read, read);
}

const scenario_program::scenario all[] = {
    {"peterson", two_add<peterson<seq_cst, seq_cst>>},
    {"peterson_acquire_release", two_add<peterson<release, acquire>>},
    {"peterson_two_fences", two_add<fenced_peterson<2>>},
    {"peterson_one_fence", two_add<fenced_peterson<1>>},
    {"peterson_exchange", two_add<exchanged_peterson>},
    {"dekker", two_add<dekker<seq_cst, seq_cst>>},
    {"dekker_acquire_release", two_add<dekker<release, acquire>>},
    {"fenced_dekker", two_add<fenced_dekker<seq_cst, true>>},
    {"fenced_dekker_two_sides", two_add<fenced_dekker<acq_rel, true>>},
    {"fenced_dekker_enters", two_add<fenced_dekker<seq_cst, false>>},
    {"nobody_gives_way", two_add<stubborn>},
    {"bakery", two_add<bakery<true>>},
    {"bakery_without_choosing", two_add<bakery<false>>},
    {"test_and_set", two_add<test_and_set<release>>},
    {"test_and_set_relaxed", two_add<test_and_set<relaxed>>},
    {"test_then_set", two_add<test_then_set>},
    {"ticket", two_add<ticket<acquire>>},
    {"ticket_relaxed", two_add<ticket<relaxed>>},
    {"mcs", two_add<mcs<true>>},
    {"mcs_leaves_too_early", two_add<mcs<false>>},
    {"futex_mutex", two_add<futex_mutex<2>>},
    {"futex_mutex_forgets_sleepers", three_add<futex_mutex<1>>},
    {"futex_mutex_looks_too_early", two_add<forgetful_futex_mutex>},
    {"counted_readers", counted_readers<release>},
    {"counted_readers_relaxed", counted_readers<relaxed>},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
