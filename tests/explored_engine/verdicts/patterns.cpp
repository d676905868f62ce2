// Algorithms as one writes them down, and with one mistake each. What each program is, table.txt
// says.
#include <array>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "program.h"

namespace {

using enum std::memory_order;

// Michael and Scott's queue of two locks: who takes from an empty queue looks at what is being put.
template <bool Atomic>
void two_lock_queue() {
  struct node {
    int value = 0;
    std::atomic<node*> next{nullptr};
    node* plain = nullptr;
  };
  struct queue {
    node dummy;
    node *head = &dummy, *tail = &dummy;
    std::mutex takes, puts;
  } q;
  node one{7};
  int got = 0;
  both(
      [&] {
        const std::scoped_lock lock(q.puts);
        if (Atomic) q.tail->next.store(&one, release);
        else q.tail->plain = &one;
        q.tail = &one;
      },
      [&] {
        const std::scoped_lock lock(q.takes);
        node* const first = Atomic ? q.head->next.load(acquire) : q.head->plain;
        if (first == nullptr) return;
        got = first->value;
        q.head = first;
      });
  assert(got == 0 || got == 7);
}

// A lock for each node, taken before that of the one before is given back.
template <bool OverHand>
void hand_over_hand() {
  struct node {
    std::mutex mutex;
    int value = 0;
    node* next = nullptr;
  };
  node last{.value = 3};
  auto* const middle = new node{.value = 2, .next = &last};
  node first{.value = 1, .next = middle};
  int sum = 0;
  both(
      [&] {  // takes the middle out
        std::unique_lock one(first.mutex);
        node* const gone = first.next;
        std::unique_lock two(gone->mutex);
        first.next = gone->next;
        two.unlock();
        one.unlock();
        delete gone;
      },
      [&] {
        node* at = &first;
        std::unique_lock lock(at->mutex);
        for (;;) {
          sum += at->value;
          node* const next = at->next;
          if (next == nullptr) break;
          if (!OverHand) lock.unlock();
          std::unique_lock further(next->mutex);
          if (OverHand) lock.unlock();
          lock = std::move(further);
          at = next;
        }
      });
  assert(sum == 6 || sum == 4);
}

// Who has the lock does what the others have asked for.
template <std::memory_order Done>
void flat_combining() {
  struct request {
    std::atomic<int> state{0};  // 0 none, 1 asked, 2 done
    int argument = 0, result = 0;
  };
  std::array<request, 2> requests;
  std::atomic_flag lock;
  int total = 0;
  const auto add = [&](int me, int n) {
    request& mine = requests[me];
    mine.argument = n;
    mine.state.store(1, release);
    while (mine.state.load(acquire) != 2) {
      if (lock.test_and_set(acquire)) {
        std::this_thread::yield();
        continue;
      }
      for (request& r : requests)
        if (r.state.load(acquire) == 1) {
          total += r.argument;
          r.result = total;
          r.state.store(2, Done);
        }
      lock.clear(release);
    }
    return mine.result;
  };
  int a = 0, b = 0;
  both([&] { a = add(0, 1); }, [&] { b = add(1, 2); });
  assert(a + b == 4 || a + b == 5);
}

// Two threads meet and change what they have.
template <std::memory_order Order>
void exchanger() {
  std::atomic<int*> place{nullptr};
  std::atomic<bool> taken{false};
  int first = 1, second = 2, got = 0;
  both(
      [&] {
        first = 10;
        place.store(&first, Order);
        while (!taken.load(acquire)) std::this_thread::yield();
        got = second;
      },
      [&] {
        second = 20;
        int* other = nullptr;
        while ((other = place.exchange(nullptr, Order == release ? acquire : relaxed)) == nullptr)
          std::this_thread::yield();
        assert(*other == 10);
        taken.store(true, release);
      });
  assert(got == 20);
}

// A writer makes a new version beside the one that readers have.
template <bool Handshake>
void double_buffer() {
  int buffers[2] = {1, 0};
  std::atomic<int> front{0};
  std::atomic<int> reader{-1};
  both(
      [&] {
        buffers[1] = 2;
        front.store(1, seq_cst);
        if (Handshake)
          while (reader.load(seq_cst) == 0) std::this_thread::yield();
        buffers[0] = 3;
      },
      [&] {
        int mine = front.load(seq_cst);
        if (Handshake)
          for (;;) {
            reader.store(mine, seq_cst);
            const int again = front.load(seq_cst);
            if (again == mine) break;
            mine = again;
          }
        assert(buffers[mine] == mine + 1);
        reader.store(-1, seq_cst);
      });
}

// A new version is there for who comes now; who came before may have the old one still.
template <bool Keeps>
void configuration() {
  struct config {
    int a = 1, b = 1;
  };
  std::atomic<const config*> current{new config};
  const config* old = nullptr;
  both(
      [&] {
        old = current.exchange(new config{2, 2}, acq_rel);
        if (!Keeps) delete old;
      },
      [&] {
        const config* const c = current.load(acquire);
        assert(c->a == c->b);
      });
  if (Keeps) delete old;
  delete current.load();
}

// The last one out looks at what all have done.
template <std::memory_order Order>
void last_one_out() {
  std::atomic<int> left{3};
  int part[3] = {}, sum = 0;
  const auto run = [&](int me) {
    part[me] = me + 1;
    if (left.fetch_sub(1, Order) == 1) sum = part[0] + part[1] + part[2];
  };
  all_three([&] { run(0); }, [&] { run(1); }, [&] { run(2); });
  assert(sum == 6);
}

// Threads that are joined need no more.
template <bool Joins>
void parallel_sum() {
  std::atomic<int> total{0};
  int values[4] = {1, 2, 3, 4};
  const auto add = [&](int from) {
    const int part = values[from] + values[from + 1];
    values[from] = 0;
    total.fetch_add(part, relaxed);
  };
  std::thread other(add, 2);
  add(0);
  if (Joins) other.join();
  const int sum = total.load(relaxed);
  const int first = values[2];
  if (!Joins) other.join();
  assert(sum == 10 && first == 0);
}

// The first reader locks for all, the last one unlocks.
template <bool Counts>
void first_reader_locks() {
  std::mutex counts, writes;
  std::atomic_flag room;  // a lock that another thread may give back
  const auto take = [&] {
    while (room.test_and_set(acquire)) room.wait(true);
  };
  const auto give = [&] {
    room.clear(release);
    room.notify_one();
  };
  int readers = 0, value = 0;
  const auto read = [&] {
    {
      std::unique_lock lock(counts, std::defer_lock);
      if (Counts) lock.lock();
      if (++readers == 1) take();
    }
    assert(value == 0 || value == 1);
    std::unique_lock lock(counts, std::defer_lock);
    if (Counts) lock.lock();
    if (--readers == 0) give();
  };
  all_three(read, read, [&] {
    take();
    value = 1;
    give();
  });
}

// A lock by relaxed exchanges, and fences.
template <bool Enters, bool Leaves>
void fenced_lock() {
  std::atomic<bool> held{false};
  int value = 0;
  const auto run = [&] {
    while (held.exchange(true, relaxed)) std::this_thread::yield();
    if (Enters) std::atomic_thread_fence(acquire);
    ++value;
    if (Leaves) std::atomic_thread_fence(release);
    held.store(false, relaxed);
  };
  both(run, run);
  assert(value == 2);
}

// Each of two says that it is ready, by a bit of one word.
template <bool ReadModifyWrite>
void ready_bits() {
  std::atomic<unsigned> ready{0};
  int part[2] = {};
  const auto say = [&](int me) {
    part[me] = 1;
    if (ReadModifyWrite) ready.fetch_or(1u << me, release);
    else ready.store(ready.load(relaxed) | 1u << me, release);
  };
  all_three([&] { say(0); }, [&] { say(1); },
            [&] {
              if (ready.load(acquire) == 3) assert(part[0] + part[1] == 2);
            });
  assert(ready == 3);
}

// An entry that waits is asked for under the lock, and looked at again.
template <bool InLoop>
void bounded_buffer_of_one() {
  std::mutex mutex;
  std::condition_variable changed;
  int slot = 0, taken = 0;
  const auto put = [&](int value) {
    std::unique_lock lock(mutex);
    if (InLoop) changed.wait(lock, [&] { return slot == 0; });
    else if (slot != 0) changed.wait(lock);
    assert(slot == 0);
    slot = value;
    changed.notify_all();
  };
  all_three([&] { put(1); }, [&] { put(2); },
            [&] {
              for (int i = 0; i < 2; ++i) {
                std::unique_lock lock(mutex);
                changed.wait(lock, [&] { return slot != 0; });
                taken += std::exchange(slot, 0);
                changed.notify_all();
              }
            });
  assert(taken == 3);
}

// A seqlock of a pair, by atomics, and by the version alone.
template <bool ReadsAgain>
void versioned_pair() {
  std::atomic<unsigned> version{0};
  std::atomic<int> a{0}, b{0};
  both(
      [&] {
        version.store(1, relaxed);
        std::atomic_thread_fence(release);
        a.store(1, relaxed);
        b.store(1, relaxed);
        version.store(2, release);
      },
      [&] {
        const unsigned before = version.load(acquire);
        const int x = a.load(relaxed), y = b.load(relaxed);
        std::atomic_thread_fence(acquire);
        const unsigned after = ReadsAgain ? version.load(relaxed) : before;
        if (before % 2 == 0 && before == after) assert(x == y);
      });
}

// A stack whose nodes go back to a list of free ones: the counter beside the pointer counts pops.
template <bool Counts>
void free_list() {
  static std::array<std::atomic<std::uint32_t>, 3> next;  // 0: none
  constexpr std::uint64_t one = std::uint64_t{1} << 32;
  std::atomic<std::uint64_t> top{1};
  next[1] = 2;
  next[2] = 0;
  std::array<std::atomic<int>, 3> owned{};
  const auto pop = [&]() -> std::uint32_t {
    std::uint64_t old = top.load(acquire);
    for (;;) {
      const auto first = static_cast<std::uint32_t>(old);
      if (first == 0) return 0;
      const std::uint64_t to = (Counts ? (old & ~(one - 1)) + one : 0) | next[first].load(relaxed);
      if (top.compare_exchange_strong(old, to, acquire, acquire)) return first;
    }
  };
  const auto push = [&](std::uint32_t node) {
    std::uint64_t old = top.load(relaxed);
    do next[node].store(static_cast<std::uint32_t>(old), relaxed);
    while (!top.compare_exchange_strong(old, (old & ~(one - 1)) | node, release, relaxed));
  };
  both(
      [&] {
        const std::uint32_t a = pop();
        if (a != 0) assert(owned[a].exchange(1) == 0);
      },
      [&] {
        const std::uint32_t a = pop(), b = pop();
        if (b != 0) assert(owned[b].exchange(1) == 0);
        if (a != 0) push(a);
        const std::uint32_t c = pop();
        if (c != 0) assert(owned[c].exchange(1) == 0);
      });
}

// A thread parks on a word; who wakes it changes the word first.
template <bool StoresFirst>
void parked() {
  std::atomic<int> state{0};
  both(
      [&] {
        if (StoresFirst) {
          state.store(1, release);
          state.notify_one();
        } else {
          state.notify_one();
          state.store(1, release);
        }
      },
      [&] {
        state.wait(0, acquire);
        assert(state.load(relaxed) == 1);
      });
}

// Deleting twice: whoever swaps the pointer out owns it.
template <bool Swaps>
void closed_twice() {
  std::atomic<int*> resource{new int(1)};
  const auto close = [&] {
    if (Swaps) {
      delete resource.exchange(nullptr, acq_rel);
    } else if (int* const mine = resource.load(acquire); mine != nullptr) {
      delete mine;
      resource.store(nullptr, release);
    }
  };
  both(close, close);
}

// Reads under a shared lock, and once more when it has been given back for the other one.
template <bool Rechecks>
void upgraded() {
  std::shared_mutex mutex;
  int balance = 1;
  const auto withdraw = [&] {
    {
      const std::shared_lock lock(mutex);
      if (balance < 1) return;
    }
    const std::scoped_lock lock(mutex);
    if (Rechecks && balance < 1) return;
    --balance;
  };
  both(withdraw, withdraw);
  assert(balance == 0);
}

// Turns: each waits for its own, and gives the turn to the other one.
template <std::memory_order Order>
void turns() {
  std::atomic<int> turn{0};
  int value = 0;
  const auto run = [&](int me) {
    while (turn.load(acquire) != me) std::this_thread::yield();
    value = 10 * value + me + 1;
    turn.store(me + 1, Order);
  };
  all_three([&] { run(2); }, [&] { run(0); }, [&] { run(1); });
  assert(value == 123);
}

const scenario_program::scenario all[] = {
    {"two_lock_queue", two_lock_queue<true>},
    {"two_lock_queue_plain", two_lock_queue<false>},
    {"hand_over_hand", hand_over_hand<true>},
    {"hand_after_hand", hand_over_hand<false>},
    {"flat_combining", flat_combining<release>},
    {"flat_combining_relaxed", flat_combining<relaxed>},
    {"exchanger", exchanger<release>},
    {"exchanger_relaxed", exchanger<relaxed>},
    {"double_buffer", double_buffer<true>},
    {"double_buffer_silent", double_buffer<false>},
    {"configuration", configuration<true>},
    {"configuration_deletes", configuration<false>},
    {"last_one_out", last_one_out<acq_rel>},
    {"last_one_out_release", last_one_out<release>},
    {"parallel_sum", parallel_sum<true>},
    {"parallel_sum_early", parallel_sum<false>},
    {"first_reader_locks", first_reader_locks<true>},
    {"first_reader_uncounted", first_reader_locks<false>},
    {"fenced_lock", fenced_lock<true, true>},
    {"fenced_lock_enters", fenced_lock<false, true>},
    {"fenced_lock_leaves", fenced_lock<true, false>},
    {"ready_bits", ready_bits<true>},
    {"ready_bits_stored", ready_bits<false>},
    {"buffer_of_one", bounded_buffer_of_one<true>},
    {"buffer_of_one_once", bounded_buffer_of_one<false>},
    {"versioned_pair", versioned_pair<true>},
    {"versioned_pair_once", versioned_pair<false>},
    {"free_list", free_list<true>},
    {"free_list_aba", free_list<false>},
    {"parked", parked<true>},
    {"parked_late", parked<false>},
    {"closed_once", closed_twice<true>},
    {"closed_twice", closed_twice<false>},
    {"upgraded", upgraded<true>},
    {"upgraded_blindly", upgraded<false>},
    {"turns", turns<release>},
    {"turns_relaxed", turns<relaxed>},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
