// What compare-exchanges do beside exchanging, atomic objects of every size, and more ways to give
// memory back. What each program is, table.txt says.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "program.h"

namespace {

using enum std::memory_order;

// Epochs: who unlinks frees what was unlinked two epochs ago.
template <int Grace>
void epochs() {
  struct object {
    int value = 1;
  };
  std::atomic<object*> current{new object};
  std::atomic<unsigned> global{2}, local[2]{0, 0};  // 0: outside
  std::vector<std::pair<unsigned, object*>> limbo;
  const auto enter = [&](int me) {
    local[me].store(global.load(relaxed), seq_cst);
    std::atomic_thread_fence(seq_cst);
  };
  const auto leave = [&](int me) { local[me].store(0, release); };
  const auto advance = [&] {
    const unsigned e = global.load(relaxed);
    std::atomic_thread_fence(seq_cst);
    for (auto& l : local) {
      const unsigned at = l.load(acquire);
      if (at != 0 && at != e) return;
    }
    global.store(e + 1, release);
  };
  both(
      [&] {
        enter(0);
        assert(current.load(acquire)->value == 1);
        leave(0);
      },
      [&] {
        object* old = current.exchange(new object, acq_rel);
        limbo.emplace_back(global.load(relaxed), old);
        for (int i = 0; i < 3; ++i) {
          advance();
          const unsigned e = global.load(relaxed);
          std::erase_if(limbo, [&](auto& l) {
            if (e < l.first + Grace) return false;
            delete l.second;
            return true;
          });
        }
      });
  for (auto& l : limbo) delete l.second;
  delete current.load();
}

// Ramalhete & Correia's left-right: readers never wait.
void left_right() {
  int copies[2]{1, 1};
  std::atomic<int> which{0}, version{0}, readers[2]{0, 0};
  const auto read = [&] {
    const int v = version.load();
    ++readers[v];
    const int x = copies[which.load()];
    assert(x == 1 || x == 2);
    --readers[v];
  };
  const auto write = [&] {
    copies[1] = 2;
    which = 1;
    const int prev = version.load(), next = 1 - prev;
    while (readers[next] != 0) std::this_thread::yield();
    version = next;
    while (readers[prev] != 0) std::this_thread::yield();
    copies[0] = 2;
  };
  all_three(
      read, [&] { read(); }, write);
}
void left_right_no_wait() {
  int copies[2]{1, 1};
  std::atomic<int> which{0}, readers{0};
  both(
      [&] {
        ++readers;
        assert(copies[which.load()] > 0);
        --readers;
      },
      [&] {
        copies[1] = 2;
        which = 1;
        copies[0] = 2;
      });
}

// SRCU: two counters, flip and wait.
template <bool Flips>
void srcu() {
  std::atomic<unsigned> index{0}, in[2]{0, 0};
  int old_value = 1;
  std::atomic<int*> p{&old_value};
  int fresh = 2;
  const auto read = [&] {
    const unsigned i = index.load() & 1;
    ++in[i];
    assert(*p.load() > 0);
    --in[i];
  };
  const auto update = [&] {
    p = &fresh;
    for (int twice = 0; twice < 2; ++twice) {
      const unsigned i = index.load() & 1;
      if (Flips) {
        while (in[1 - i] != 0) std::this_thread::yield();
        index = index + 1;
      }
      if (Flips)
        while (in[i] != 0) std::this_thread::yield();
    }
    old_value = -1;
  };
  both(read, update);
}

// Atomics over plain memory.
template <bool Both>
void atomic_refs() {
  int counter = 0;
  both([&] { std::atomic_ref<int>(counter).fetch_add(1, relaxed); },
       [&] {
         if (Both) std::atomic_ref<int>(counter).fetch_add(1, relaxed);
         else ++counter;
       });
  assert(counter == 2);
}

// A seqlock over plain data that is copied by atomic_ref word by word, with several writers.
template <bool Atomic>
void seqlock_of_writers() {
  struct pair {
    int a, b;
  };
  pair data{0, 0};
  std::atomic<unsigned> seq{0};
  const auto write = [&](int v) {
    unsigned s = seq.load(relaxed);
    for (;;) {
      if (s & 1) {
        std::this_thread::yield();
        s = seq.load(relaxed);
        continue;
      }
      if (seq.compare_exchange_weak(s, s + 1, acquire, relaxed)) break;
    }
    std::atomic_thread_fence(release);
    std::atomic_ref(data.a).store(v, relaxed);
    std::atomic_ref(data.b).store(v, relaxed);
    seq.store(s + 2, release);
  };
  const auto read = [&] {
    for (;;) {
      const unsigned s = seq.load(acquire);
      pair p;
      if (Atomic)
        p = {std::atomic_ref(data.a).load(relaxed), std::atomic_ref(data.b).load(relaxed)};
      else std::memcpy(&p, &data, sizeof p);
      std::atomic_thread_fence(acquire);
      if ((s & 1) == 0 && seq.load(relaxed) == s) return p;
      std::this_thread::yield();
    }
  };
  both([&] { write(1); },
       [&] {
         const pair p = read();
         assert(p.a == p.b);
       });
}

// Arc::get_mut / drop of Rust, weak by CAS.
template <std::memory_order Drop>
void arc() {
  struct box {
    std::atomic<int> strong{2};
    int value = 0;
  };
  box* b = new box;
  const auto drop = [&](box* x) {
    if (x->strong.fetch_sub(1, Drop) == 1) {
      std::atomic_thread_fence(acquire);
      assert(x->value >= 1);
      delete x;
    }
  };
  both(
      [&] {
        b->value = 1;
        drop(b);
      },
      [&] { drop(b); });
}

// Expected values in shared memory.
template <bool Shared>
void expected_of_all() {
  std::atomic<int> word{0};
  int expected[2]{0, 0};
  const auto take = [&](int i) {
    return word.compare_exchange_strong(expected[Shared ? 0 : i], i + 1, relaxed);
  };
  both([&] { take(0); }, [&] { take(1); });
  assert(word != 0);
}
struct holder {
  int expected;
};
template <bool Shared>
void expected_on_heap() {
  std::atomic<int> word{0};
  auto a = std::make_unique<holder>(), b = std::make_unique<holder>();
  a->expected = b->expected = 0;
  both([&] { word.compare_exchange_strong(a->expected, 1, relaxed); },
       [&] { word.compare_exchange_strong((Shared ? a : b)->expected, 2, relaxed); });
  assert(word != 0);
}
// Only the failure writes there.
template <bool Fails>
void expected_is_read() {
  std::atomic<int> word{Fails ? 1 : 0};
  static int zero;
  zero = 0;
  int seen = 0;
  both([&] { word.compare_exchange_strong(zero, 2); }, [&] { seen = zero; });
  assert(seen == 0 || Fails);
}

// A failed weak attempt is no news.
template <bool Loops>
void weak_attempts() {
  std::atomic<int> count{0};
  const auto add = [&] {
    int seen = count.load();
    do {
    } while (!count.compare_exchange_weak(seen, seen + 1) && Loops);
  };
  both(add, add);
  assert(count == 2);
}
template <class T>
void weak_of() {
  std::atomic<T> word{T{}};
  T none{};
  T other{};
  std::memset(&other, 1, sizeof(T));
  const bool done = word.compare_exchange_weak(none, other);
  assert(done);
}
struct alignas(16) wide {
  std::uint64_t a, b;
};

// Three words, none of the machine's sizes: the library's lock.
struct large {
  long a, b, c;
};
template <bool Atomic>
void large_atomic() {
  std::atomic<large> word{large{0, 0, 0}};
  large plain{0, 0, 0};
  both(
      [&] {
        if (Atomic) word.store({1, 1, 1});
        else plain = {1, 1, 1};
      },
      [&] {
        const large x = Atomic ? word.load() : plain;
        assert(x.a == x.b && x.b == x.c);
      });
}
// ... is a store of its own: two threads count with it.
void large_counter() {
  std::atomic<large> word{large{0, 0, 0}};
  const auto add = [&] {
    large x = word.load();
    word.store({x.a + 1, x.b, x.c});
  };
  both(add, add);
  assert(word.load().a == 2);
}
void large_exchange() {
  std::atomic<large> word{large{0, 0, 0}};
  const auto add = [&] {
    large x = word.load();
    while (!word.compare_exchange_weak(x, {x.a + 1, x.b, x.c})) {
    }
  };
  both(add, add);
  assert(word.load().a == 2);
}
template <bool Add>
void doubles() {
  std::atomic<double> sum{0};
  both(
      [&] {
        if (Add) sum += 1.5;
        else sum = sum + 1.5;
      },
      [&] {
        if (Add) sum.fetch_add(2.0);
        else sum = sum + 2.0;
      });
  assert(sum == 3.5);
}

const scenario_program::scenario all[] = {
    {"epochs", epochs<2>},
    {"epochs_too_few", epochs<1>},
    {"left_right", left_right},
    {"left_right_no_wait", left_right_no_wait},
    {"srcu", srcu<true>},
    {"srcu_does_not_wait", srcu<false>},
    {"atomic_refs", atomic_refs<true>},
    {"atomic_refs_one", atomic_refs<false>},
    {"seqlock_of_writers", seqlock_of_writers<true>},
    {"seqlock_of_writers_plain", seqlock_of_writers<false>},
    {"arc", arc<release>},
    {"arc_relaxed", arc<relaxed>},
    {"expected_of_each", expected_of_all<false>},
    {"expected_of_all", expected_of_all<true>},
    {"expected_on_heap", expected_on_heap<false>},
    {"expected_on_heap_shared", expected_on_heap<true>},
    {"expected_is_read", expected_is_read<false>},
    {"expected_is_written", expected_is_read<true>},
    {"weak_attempts", weak_attempts<true>},
    {"weak_attempts_once", weak_attempts<false>},
    {"weak_byte", weak_of<char>},
    {"weak_short", weak_of<short>},
    {"weak_long", weak_of<long>},
    {"weak_pointer_word", weak_of<void*>},
    {"weak_wide", weak_of<wide>},
    {"large_atomic", large_atomic<true>},
    {"large_plain", large_atomic<false>},
    {"large_counter", large_counter},
    {"large_exchange", large_exchange},
    {"doubles", doubles<true>},
    {"doubles_load_and_store", doubles<false>},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
