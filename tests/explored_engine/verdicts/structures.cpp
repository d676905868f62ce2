// Data structures without locks, and how memory is given back. What each program is, table.txt
// says.
#include <array>
#include <atomic>
#include <cassert>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "program.h"

namespace {

using enum std::memory_order;

// Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012.
enum class seqlock { right, no_fence, plain_data, writer_without_fence };
template <seqlock Form>
void sequence_lock() {
  std::atomic<unsigned> sequence{0};
  std::atomic<int> left{0}, right{0};
  int plain = 0;
  const auto write = [&] {
    sequence.store(1, relaxed);
    if (Form != seqlock::writer_without_fence) std::atomic_thread_fence(release);
    left.store(1, relaxed);
    right.store(1, relaxed);
    if (Form == seqlock::plain_data) plain = 1;
    sequence.store(2, release);
  };
  const auto read = [&] {
    unsigned before, after;
    int l, r, p = 0;
    do {
      before = sequence.load(acquire);
      l = left.load(relaxed);
      r = right.load(relaxed);
      if (Form == seqlock::plain_data) p = plain;
      if (Form != seqlock::no_fence) std::atomic_thread_fence(acquire);
      after = sequence.load(relaxed);
    } while (before != after || before % 2 != 0);
    assert(l == r && (p == 0 || l == 1));
  };
  both(write, read);
}

// Lamport's queue of one producer and one consumer.
template <std::memory_order Publish, std::memory_order Free, unsigned Room>
void one_to_one_ring() {
  constexpr unsigned size = 2;
  int slots[size]{};
  std::atomic<unsigned> head{0}, tail{0};
  const auto produce = [&] {
    for (int i = 1; i <= 3; ++i) {
      const unsigned t = tail.load(relaxed);
      while (t - head.load(acquire) >= Room) std::this_thread::yield();
      slots[t % size] = i;
      tail.store(t + 1, Publish);
    }
  };
  const auto consume = [&] {
    for (int i = 1; i <= 3; ++i) {
      const unsigned h = head.load(relaxed);
      while (tail.load(acquire) == h) std::this_thread::yield();
      assert(slots[h % size] == i);
      head.store(h + 1, Free);
    }
  };
  both(produce, consume);
}

// Vyukov's bounded queue of many producers and many consumers.
template <bool DataFirst, bool Claims>
struct many_to_many_ring {
  struct cell {
    std::atomic<unsigned> sequence;
    int data = 0;
  };
  cell cells[2]{{0}, {1}};
  std::atomic<unsigned> enqueued{0}, dequeued{0};
  bool push(int value) {
    unsigned at = enqueued.load(relaxed);
    for (;;) {
      cell& c = cells[at % 2];
      const int ahead = static_cast<int>(c.sequence.load(acquire) - at);
      if (ahead < 0) return false;
      if (ahead > 0) {
        at = enqueued.load(relaxed);
        continue;
      }
      if (Claims ? !enqueued.compare_exchange_weak(at, at + 1, relaxed)
                 : (enqueued.store(at + 1, relaxed), false))
        continue;
      if (DataFirst) c.data = value;
      c.sequence.store(at + 1, release);
      if (!DataFirst) c.data = value;
      return true;
    }
  }
  std::optional<int> pop() {
    unsigned at = dequeued.load(relaxed);
    for (;;) {
      cell& c = cells[at % 2];
      const int ahead = static_cast<int>(c.sequence.load(acquire) - (at + 1));
      if (ahead < 0) return {};
      if (ahead > 0) {
        at = dequeued.load(relaxed);
        continue;
      }
      if (!dequeued.compare_exchange_weak(at, at + 1, relaxed)) continue;
      const int value = c.data;
      c.sequence.store(at + 2, release);
      return value;
    }
  }
};

template <class Ring>
void many_to_many() {
  Ring ring;
  int taken = 0;
  const auto push = [&](int value) {
    const bool done = ring.push(value);
    assert(done);
  };
  all_three([&] { push(1); }, [&] { push(2); }, [&] { taken = ring.pop().value_or(0); });
  for (std::optional<int> each; (each = ring.pop());) taken += *each;
  assert(taken == 3);
}

// Treiber's stack; its nodes are never given back while it is in use.
struct node {
  int value = 0;
  node* next = nullptr;
};

template <std::memory_order Push, std::memory_order Pop>
void stack() {
  std::atomic<node*> top{nullptr};
  node nodes[2];
  const auto push = [&](node& n, int value) {
    n.value = value;
    n.next = top.load(relaxed);
    while (!top.compare_exchange_weak(n.next, &n, Push, relaxed)) {
    }
  };
  const auto pop = [&]() -> node* {
    node* n = top.load(Pop);
    while (n != nullptr && !top.compare_exchange_weak(n, n->next, Pop, Pop)) {
    }
    return n;
  };
  const auto use = [&](int i) {
    push(nodes[i], i + 1);
    if (node* n = pop()) ++n->value;
  };
  both([&] { use(0); }, [&] { use(1); });
  assert(nodes[0].value + nodes[1].value == 5);
  assert(top == nullptr);
}

// A node that comes back while another thread is about to take it: its successor has gone since.
template <bool Counted>
void stack_whose_nodes_return() {
  struct alignas(8) tagged {
    unsigned node = 0;  // 0: none; else one of two
    unsigned count = 0;
  };
  std::atomic<tagged> top{tagged{1, 0}};
  std::atomic<unsigned> next[3]{0, 2, 0};
  std::atomic<int> owners[3]{0, 0, 0};
  const auto pop = [&]() -> unsigned {
    tagged t = top.load();
    while (t.node != 0)
      if (top.compare_exchange_strong(t, {next[t.node].load(), t.count + Counted})) break;
    if (t.node == 0) return 0;
    const int owners_before = owners[t.node].exchange(1);
    assert(owners_before == 0);
    return t.node;
  };
  const auto push = [&](unsigned n) {
    owners[n] = 0;
    tagged t = top.load();
    do next[n] = t.node;
    while (!top.compare_exchange_strong(t, {n, t.count + Counted}));
  };
  both([&] { pop(); },
       [&] {
         const unsigned first = pop();
         pop();
         if (first != 0) push(first);
         if (first == 1) pop();
       });
}

// Michael, "Hazard pointers", 2004: one reader, one pointer.
template <std::memory_order Announce, bool LooksAgain>
void hazard_pointer() {
  struct object {
    std::atomic<int> value{1};
  };
  std::atomic<object*> current{new object};
  std::atomic<object*> hazard{nullptr};
  const auto read = [&] {
    object* seen;
    do {
      seen = current.load(acquire);
      hazard.store(seen, Announce);
    } while (LooksAgain && current.load(seq_cst) != seen);
    assert(seen->value.load(relaxed) == 1);
    hazard.store(nullptr, release);
  };
  const auto replace = [&] {
    object* const old = current.exchange(new object, seq_cst);
    while (hazard.load(seq_cst) == old) std::this_thread::yield();
    delete old;
  };
  both(read, replace);
  delete current.load();
}

// Readers say that they read; who replaces waits until those who may have the old one have left.
template <std::memory_order Enter, std::memory_order Leave, bool Waits>
void read_copy_update() {
  struct object {
    int value;
  };
  std::atomic<object*> current{new object{1}};
  std::atomic<int> readers{0};
  const auto read = [&] {
    readers.fetch_add(1, Enter);
    assert(current.load(Enter == seq_cst ? seq_cst : acquire)->value > 0);
    readers.fetch_sub(1, Leave);
  };
  const auto replace = [&] {
    object* const old = current.exchange(new object{2}, seq_cst);
    while (Waits && readers.load(seq_cst) != 0) std::this_thread::yield();
    delete old;
  };
  both(read, replace);
  delete current.load();
}

// Chase & Lev's deque as Le, Pop, Cohen & Zappa Nardelli have it (PPoPP 2013), of a fixed size.
template <bool OwnerFence>
void work_stealing() {
  std::atomic<long> top{0}, bottom{0};
  std::atomic<int> tasks[2]{};
  int taken[3]{};
  const auto push = [&](int task) {
    const long b = bottom.load(relaxed);
    tasks[b % 2].store(task, relaxed);
    std::atomic_thread_fence(release);
    bottom.store(b + 1, relaxed);
  };
  const auto take = [&]() -> int {
    const long b = bottom.load(relaxed) - 1;
    bottom.store(b, relaxed);
    if (OwnerFence) std::atomic_thread_fence(seq_cst);
    long t = top.load(relaxed);
    int task = 0;
    if (t <= b) {
      task = tasks[b % 2].load(relaxed);
      if (t != b) return task;
      if (!top.compare_exchange_strong(t, t + 1, seq_cst, relaxed)) task = 0;
    }
    bottom.store(b + 1, relaxed);
    return task;
  };
  const auto steal = [&]() -> int {
    long t = top.load(acquire);
    std::atomic_thread_fence(seq_cst);
    const long b = bottom.load(acquire);
    if (t >= b) return 0;
    const int task = tasks[t % 2].load(relaxed);
    return top.compare_exchange_strong(t, t + 1, seq_cst, relaxed) ? task : 0;
  };
  int stolen[2]{};
  both(
      [&] {
        push(1), push(2);
        ++taken[take()], ++taken[take()];
      },
      [&] { stolen[0] = steal(), stolen[1] = steal(); });
  ++taken[stolen[0]], ++taken[stolen[1]];
  assert(taken[1] == 1 && taken[2] == 1);
}

// Michael & Scott's queue, PODC 1996, whose nodes are not given back while it is in use.
template <bool Swings>
void two_ended_queue() {
  struct link {
    std::atomic<link*> next{nullptr};
    int value = 0;
  };
  link nodes[3];
  std::atomic<link*> head{&nodes[0]}, tail{&nodes[0]};
  const auto push = [&](link& n, int value) {
    n.value = value;
    for (;;) {
      link* last = tail.load(acquire);
      link* next = last->next.load(acquire);
      if (next != nullptr) {
        if (Swings) tail.compare_exchange_strong(last, next, release, relaxed);
        continue;
      }
      if (!last->next.compare_exchange_strong(next, &n, release, relaxed)) continue;
      if (Swings || value == 1) tail.compare_exchange_strong(last, &n, release, relaxed);
      return;
    }
  };
  const auto pop = [&]() -> int {
    for (;;) {
      link* first = head.load(acquire);
      link* last = tail.load(acquire);
      link* next = first->next.load(acquire);
      if (next == nullptr) return 0;
      if (first == last) {
        tail.compare_exchange_strong(last, next, release, relaxed);
        continue;
      }
      if (head.compare_exchange_strong(first, next, acq_rel, relaxed)) return next->value;
    }
  };
  both([&] { push(nodes[1], 1); }, [&] { push(nodes[2], 2); });
  const int one = pop(), two = pop();
  assert(one + two == 3 && pop() == 0);
}

// Double-checked locking.
struct lazy {
  int value = 0;
};

template <std::memory_order Store, std::memory_order Load>
void double_checked() {
  std::mutex mutex;
  std::atomic<lazy*> instance{nullptr};
  const auto get = [&] {
    lazy* it = instance.load(Load);
    if (it == nullptr) {
      const std::scoped_lock lock(mutex);
      it = instance.load(relaxed);
      if (it == nullptr) instance.store(it = new lazy{1}, Store);
    }
    assert(it->value == 1);
  };
  both(get, get);
  delete instance.load();
}

void double_checked_plain_pointer() {
  std::mutex mutex;
  lazy* instance = nullptr;
  const auto get = [&] {
    if (instance == nullptr) {
      const std::scoped_lock lock(mutex);
      if (instance == nullptr) instance = new lazy{1};
    }
    assert(instance->value == 1);
  };
  both(get, get);
  delete instance;
}

// Without a lock: who is second throws its own away.
template <bool OneWins>
void first_come() {
  std::atomic<lazy*> instance{nullptr};
  const auto get = [&]() -> lazy* {
    lazy* it = instance.load(acquire);
    if (it != nullptr) return it;
    lazy* const mine = new lazy{1};
    if (!OneWins) {
      instance.store(mine, release);
      return mine;
    }
    if (instance.compare_exchange_strong(it, mine, acq_rel, acquire)) return mine;
    delete mine;
    return it;
  };
  lazy* one = nullptr;
  lazy* two = nullptr;
  both([&] { one = get(); }, [&] { two = get(); });
  assert(one == two);
  delete one;
}

const scenario_program::scenario all[] = {
    {"seqlock", sequence_lock<seqlock::right>},
    {"seqlock_reader_without_fence", sequence_lock<seqlock::no_fence>},
    {"seqlock_writer_without_fence", sequence_lock<seqlock::writer_without_fence>},
    {"seqlock_plain_data", sequence_lock<seqlock::plain_data>},
    {"ring", one_to_one_ring<release, release, 2>},
    {"ring_relaxed_publish", one_to_one_ring<relaxed, release, 2>},
    {"ring_relaxed_free", one_to_one_ring<release, relaxed, 2>},
    {"ring_too_full", one_to_one_ring<release, release, 3>},
    {"many_ring", many_to_many<many_to_many_ring<true, true>>},
    {"many_ring_publishes_first", many_to_many<many_to_many_ring<false, true>>},
    {"many_ring_claims_nothing", many_to_many<many_to_many_ring<true, false>>},
    {"stack", stack<release, acquire>},
    {"stack_relaxed_push", stack<relaxed, acquire>},
    {"stack_relaxed_pop", stack<release, relaxed>},
    {"stack_counted", stack_whose_nodes_return<true>},
    {"stack_aba", stack_whose_nodes_return<false>},
    {"hazard_pointer", hazard_pointer<seq_cst, true>},
    {"hazard_pointer_release", hazard_pointer<release, true>},
    {"hazard_pointer_looks_once", hazard_pointer<seq_cst, false>},
    {"read_copy_update", read_copy_update<seq_cst, release, true>},
    {"read_copy_update_relaxed_enter", read_copy_update<relaxed, release, true>},
    {"read_copy_update_relaxed_leave", read_copy_update<seq_cst, relaxed, true>},
    {"read_copy_update_does_not_wait", read_copy_update<seq_cst, release, false>},
    {"work_stealing", work_stealing<true>},
    {"work_stealing_without_fence", work_stealing<false>},
    {"two_ended_queue", two_ended_queue<true>},
    {"two_ended_queue_leaves_its_tail", two_ended_queue<false>},
    {"double_checked", double_checked<release, acquire>},
    {"double_checked_relaxed", double_checked<relaxed, relaxed>},
    {"double_checked_plain", double_checked_plain_pointer},
    {"first_come", first_come<true>},
    {"first_come_stores", first_come<false>},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
