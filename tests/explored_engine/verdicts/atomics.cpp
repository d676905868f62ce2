// What atomic accesses of all orders promise, and what they do not. What each program is, table.txt
// says.
#include <atomic>
#include <cassert>
#include <cstdint>

#include "program.h"

namespace {

using enum std::memory_order;

// Each stores, and reads what the other one has stored: not both may miss it.
template <std::memory_order Store, std::memory_order Load>
void store_buffering() {
  std::atomic<int> x{0}, y{0};
  int saw_y = 0, saw_x = 0;
  both([&] { x.store(1, Store), saw_y = y.load(Load); },
       [&] { y.store(1, Store), saw_x = x.load(Load); });
  assert(saw_x == 1 || saw_y == 1);
}

// One side has a fence only: the other one's accesses may still change places.
template <bool Both>
void store_buffering_by_fences() {
  std::atomic<int> x{0}, y{0};
  int saw_y = 0, saw_x = 0;
  both(
      [&] {
        x.store(1, relaxed);
        std::atomic_thread_fence(seq_cst);
        saw_y = y.load(relaxed);
      },
      [&] {
        y.store(1, relaxed);
        if (Both) std::atomic_thread_fence(seq_cst);
        saw_x = x.load(relaxed);
      });
  assert(saw_x == 1 || saw_y == 1);
}

// Read-modify-writes instead of the loads: the later one of two of a word acquires what the earlier
// one had released.
void store_buffering_by_one_word() {
  std::atomic<int> x{0}, y{0}, word{0};
  int saw_y = 0, saw_x = 0;
  both([&] { x.store(1, relaxed), word.fetch_add(1, acq_rel), saw_y = y.load(relaxed); },
       [&] { y.store(1, relaxed), word.fetch_add(1, acq_rel), saw_x = x.load(relaxed); });
  assert(saw_x == 1 || saw_y == 1);
}

// Two readers agree on the order of two writers.
template <std::memory_order Store, std::memory_order Load>
void independent_writers() {
  std::atomic<int> x{0}, y{0};
  int x_first = 0, then_y = 1, y_first = 0, then_x = 1;
  std::thread writer([&] { x.store(1, Store); }), other([&] { y.store(1, Store); });
  both([&] { x_first = x.load(Load), then_y = y.load(Load); },
       [&] { y_first = y.load(Load), then_x = x.load(Load); });
  writer.join();
  other.join();
  assert(!(x_first == 1 && then_y == 0 && y_first == 1 && then_x == 0));
}

// Each writes both words, in opposite orders: not both words may keep what came first.
template <std::memory_order Store>
void two_writers() {
  std::atomic<int> x{0}, y{0};
  both([&] { x.store(1, Store), y.store(2, Store); },
       [&] { y.store(1, Store), x.store(2, Store); });
  assert(!(x == 1 && y == 1));
}

template <std::memory_order Store, std::memory_order Load>
void message() {
  std::atomic<bool> ready{false};
  int data = 0;
  both([&] { data = 1, ready.store(true, Store); },
       [&] {
         if (ready.load(Load)) assert(data == 1);
       });
}

template <bool Writer, bool Reader>
void message_by_fences() {
  std::atomic<bool> ready{false};
  int data = 0;
  both(
      [&] {
        data = 1;
        if (Writer) std::atomic_thread_fence(release);
        ready.store(true, relaxed);
      },
      [&] {
        if (!ready.load(relaxed)) return;
        if (Reader) std::atomic_thread_fence(acquire);
        assert(data == 1);
      });
}

// A flag for which the language promises nothing.
void message_by_volatile() {
  static volatile bool ready;
  int data = 0;
  both(
      [&] {
        data = 1;
        ready = true;
      },
      [&] {
        if (ready) assert(data == 1);
      });
}

// Passed on by a third: happens-before goes through both.
template <std::memory_order Second>
void passed_on() {
  std::atomic<int> first{0}, second{0};
  int data = 0;
  all_three([&] { data = 1, first.store(1, release); },
            [&] {
              if (first.load(acquire) == 1) second.store(1, Second);
            },
            [&] {
              if (second.load(acquire) == 1) assert(data == 1);
            });
}

// What stands between the release and the acquire of one word: a read-modify-write passes on what
// was released, a store does not.
template <bool Adds>
void release_sequence() {
  std::atomic<int> word{0};
  int data = 0;
  all_three([&] { data = 1, word.store(1, release); },
            [&] {
              int one = 1;
              if (Adds) word.compare_exchange_strong(one, 2, relaxed);
              else if (word.load(relaxed) == 1) word.store(2, relaxed);
            },
            [&] {
              if (word.load(acquire) == 2) assert(data == 1);
            });
}

// Loads of one word do not go back, loads of two do.
template <bool OneWord>
void coherence() {
  std::atomic<int> word{0}, other{0};
  int first = 0, then = 0;
  both([&] { word.store(1, relaxed), other.store(1, relaxed); },
       [&] { first = (OneWord ? word : other).load(relaxed), then = word.load(relaxed); });
  assert(then >= first);
}

template <bool Atomically>
void counter() {
  std::atomic<int> count{0};
  const auto add = [&] {
    if (Atomically) count.fetch_add(1, relaxed);
    else count.store(count.load() + 1);
  };
  all_three(add, add, add);
  assert(count == 3);
}

template <bool Again>
void largest() {
  std::atomic<int> most{0};
  const auto see = [&](int value) {
    int now = most.load(relaxed);
    while (now < value && !most.compare_exchange_weak(now, value, relaxed))
      if (!Again) break;
  };
  both([&] { see(2); }, [&] { see(1); });
  assert(most == 2);
}

// A weak compare-exchange may fail though nobody else is there.
template <bool Weak>
void one_attempt() {
  std::atomic<int> word{0};
  int zero = 0;
  const bool done =
      Weak ? word.compare_exchange_weak(zero, 1) : word.compare_exchange_strong(zero, 1);
  assert(done);
}

// Who has set its bit last sees all bits.
template <bool One>
void bits() {
  std::atomic<unsigned> set{0};
  std::atomic<int> last{0};
  const auto mark = [&](unsigned bit) {
    const unsigned before = set.fetch_or(bit, relaxed);
    if (((One ? before : set.load(relaxed)) | bit) == 3) ++last;
  };
  both([&] { mark(1); }, [&] { mark(2); });
  assert(last == 1);
}

// The last one to leave frees; who leaves before it has to hand over what it has done.
template <std::memory_order Leave>
void references() {
  struct object {
    std::atomic<int> references{2};
    int left = 0, right = 0;
  };
  auto* const o = new object;
  const auto drop = [o] {
    if (o->references.fetch_sub(1, Leave) != 1) return;
    delete o;
  };
  both([&] { o->left = 1, drop(); }, [&] { o->right = 1, drop(); });
}

void references_by_fence() {
  struct object {
    std::atomic<int> references{2};
    int left = 0;
  };
  auto* const o = new object;
  const auto drop = [o] {
    if (o->references.fetch_sub(1, release) != 1) return;
    std::atomic_thread_fence(acquire);
    delete o;
  };
  both([&] { o->left = 1, drop(); }, [&] { drop(); });
}

// A third takes a reference from one that may be the last.
template <bool UnlessZero>
void reference_from_weak() {
  struct object {
    std::atomic<int> references{1};
  };
  object o;
  bool freed = false;
  const auto free_it = [&] { freed = true; };
  both(
      [&] {
        if (o.references.fetch_sub(1, acq_rel) == 1) free_it();
      },
      [&] {
        int now = o.references.load(relaxed);
        if (UnlessZero) {
          while (now != 0 && !o.references.compare_exchange_weak(now, now + 1, acq_rel)) {
          }
          if (now == 0) return;
        } else {
          o.references.fetch_add(1, acq_rel);
        }
        if (o.references.fetch_sub(1, acq_rel) == 1) free_it();
      });
  assert(freed);
}

// The kinds of memory that no access orders.
void two_bytes_of_a_word() {
  struct {
    char left = 0, right = 0;
  } pair;
  both([&] { pair.left = 1; }, [&] { pair.right = 1; });
  assert(pair.left + pair.right == 2);
}

void two_bits_of_a_byte() {
  struct {
    unsigned left : 4 = 0, right : 4 = 0;
  } pair;
  both([&] { pair.left = 1; }, [&] { pair.right = 1; });
  assert(pair.left + pair.right <= 2);
}

const scenario_program::scenario all[] = {
    {"store_buffering", store_buffering<seq_cst, seq_cst>},
    {"store_buffering_acquire_release", store_buffering<release, acquire>},
    {"store_buffering_one_side", store_buffering<seq_cst, acquire>},
    {"store_buffering_two_fences", store_buffering_by_fences<true>},
    {"store_buffering_one_fence", store_buffering_by_fences<false>},
    {"store_buffering_one_word", store_buffering_by_one_word},
    {"independent_writers", independent_writers<seq_cst, seq_cst>},
    {"independent_writers_acquire_release", independent_writers<release, acquire>},
    {"two_writers", two_writers<seq_cst>},
    {"two_writers_release", two_writers<release>},
    {"message", message<release, acquire>},
    {"message_relaxed_store", message<relaxed, acquire>},
    {"message_relaxed_load", message<release, relaxed>},
    {"message_fences", message_by_fences<true, true>},
    {"message_no_release_fence", message_by_fences<false, true>},
    {"message_no_acquire_fence", message_by_fences<true, false>},
    {"message_volatile", message_by_volatile},
    {"passed_on", passed_on<release>},
    {"passed_on_relaxed", passed_on<relaxed>},
    {"release_sequence", release_sequence<true>},
    {"release_sequence_broken", release_sequence<false>},
    {"coherence", coherence<true>},
    {"coherence_of_two_words", coherence<false>},
    {"counter", counter<true>},
    {"counter_load_and_store", counter<false>},
    {"largest", largest<true>},
    {"largest_one_attempt", largest<false>},
    {"one_strong_attempt", one_attempt<false>},
    {"one_weak_attempt", one_attempt<true>},
    {"bits", bits<true>},
    {"bits_read_again", bits<false>},
    {"references", references<acq_rel>},
    {"references_fence", references_by_fence},
    {"references_relaxed", references<relaxed>},
    {"references_release", references<release>},
    {"reference_unless_zero", reference_from_weak<true>},
    {"reference_from_zero", reference_from_weak<false>},
    {"two_bytes", two_bytes_of_a_word},
    {"two_bits", two_bits_of_a_byte},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
