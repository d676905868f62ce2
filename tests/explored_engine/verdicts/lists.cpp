// Stacks, queues and lists whose nodes lie in memory that all see. What each program is, table.txt
// says.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "program.h"

namespace {

using enum std::memory_order;

// Treiber's stack as in every text book: nodes on the heap, never freed during use.
template <std::memory_order Push, std::memory_order Pop>
void heap_stack() {
  struct node {
    int value;
    node* next;
  };
  static std::atomic<node*> top;
  top = nullptr;
  const auto push = [](int v) {
    node* n = new node{v, top.load(relaxed)};
    while (!top.compare_exchange_weak(n->next, n, Push, relaxed)) {
    }
  };
  const auto pop_all = [](int& sum) {
    node* n = top.exchange(nullptr, Pop);
    while (n) {
      sum += n->value;
      node* next = n->next;
      delete n;
      n = next;
    }
  };
  int sum = 0, last = 0;
  all_three([&] { push(1); }, [&] { push(2); }, [&] { pop_all(sum); });
  pop_all(last);
  assert(sum + last == 3);
}

// Vyukov's intrusive queue of many producers and one consumer.
template <std::memory_order Link>
void mpsc() {
  struct node {
    std::atomic<node*> next{nullptr};
    int value = 0;
  };
  struct queue {
    std::atomic<node*> head;
    node* tail;
    node stub;
    queue() : head(&stub), tail(&stub) {}
    void push(node* n) {
      n->next.store(nullptr, relaxed);
      node* prev = head.exchange(n, acq_rel);
      prev->next.store(n, Link);
    }
    node* pop() {
      node* t = tail;
      node* next = t->next.load(acquire);
      if (t == &stub) {
        if (!next) return nullptr;
        tail = next;
        t = next;
        next = next->next.load(acquire);
      }
      if (next) {
        tail = next;
        return t;
      }
      if (t != head.load(acquire)) return nullptr;
      push(&stub);
      next = t->next.load(acquire);
      if (next) {
        tail = next;
        return t;
      }
      return nullptr;
    }
  } q;
  node a, b;
  int sum = 0, n = 0;
  all_three(
      [&] {
        a.value = 1;
        q.push(&a);
      },
      [&] {
        b.value = 2;
        q.push(&b);
      },
      [&] {
        for (int i = 0; i < 2; ++i)
          if (node* x = q.pop()) sum += x->value, ++n;
      });
  while (n < 2)
    if (node* x = q.pop()) sum += x->value, ++n;
  assert(sum == 3);
}

// Michael & Scott with counted pointers, nodes from a pool of indices that return at once.
template <bool Counted>
void counted_queue() {
  struct tagged {
    std::uint32_t index = 0, count = 0;
  };
  struct node {
    std::atomic<int> value{0};
    std::atomic<tagged> next{};
  };
  static node pool[4];
  std::atomic<tagged> head{tagged{1, 0}}, tail{tagged{1, 0}};
  for (node& n : pool) n.value = 0, n.next = tagged{};
  const auto same = [](tagged a, tagged b) { return a.index == b.index && a.count == b.count; };
  const auto next_of = [](tagged t, std::uint32_t to) { return tagged{to, t.count + Counted}; };
  const auto push = [&](std::uint32_t n, int value) {
    pool[n].value.store(value, relaxed);
    tagged old = pool[n].next.load(relaxed);
    pool[n].next.store(next_of(old, 0), relaxed);
    for (;;) {
      tagged t = tail.load();
      tagged next = pool[t.index].next.load();
      if (!same(t, tail.load())) continue;
      if (next.index == 0) {
        if (pool[t.index].next.compare_exchange_strong(next, next_of(next, n))) {
          tail.compare_exchange_strong(t, next_of(t, n));
          return;
        }
      } else {
        tail.compare_exchange_strong(t, next_of(t, next.index));
      }
    }
  };
  const auto pop = [&](int& got) -> std::uint32_t {
    for (;;) {
      tagged h = head.load(), t = tail.load(), next = pool[h.index].next.load();
      if (!same(h, head.load())) continue;
      if (h.index == t.index) {
        if (next.index == 0) return 0;
        tail.compare_exchange_strong(t, next_of(t, next.index));
      } else {
        const int value = pool[next.index].value.load(relaxed);
        if (head.compare_exchange_strong(h, next_of(h, next.index))) return got = value, h.index;
      }
    }
  };
  push(2, 5);
  int got[4]{};
  both(
      [&] {
        if (auto n = pop(got[0])) {
          push(n, 7);
          pop(got[3]);
        }
      },
      [&] { pop(got[1]); });
  int rest = 0;
  while (pop(got[2])) rest += got[2];
  assert(got[0] + got[1] + got[3] + rest == (got[0] ? 12 : 5));
}

// Harris' list, mark in the low bit of next; keys 1..3; nodes stay.
template <bool Marks>
void harris_list() {
  struct node {
    int key;
    std::atomic<std::uintptr_t> next{0};
  };
  static node head{0}, one{1}, two{2}, three{3};
  const auto raw = [](node* n) { return reinterpret_cast<std::uintptr_t>(n); };
  const auto ptr = [](std::uintptr_t v) { return reinterpret_cast<node*>(v & ~std::uintptr_t{1}); };
  head.next = raw(&one);
  one.next = raw(&three);
  three.next = 0;
  two.next = 0;
  const auto insert_two = [&] {
    for (;;) {
      node* pred = &head;
      node* cur = ptr(head.next.load());
      while (cur && cur->key < 2) {
        const std::uintptr_t next = cur->next.load();
        if (next & 1) {
          std::uintptr_t c = raw(cur);
          pred->next.compare_exchange_strong(c, next & ~std::uintptr_t{1});
          cur = ptr(next);
          continue;
        }
        pred = cur;
        cur = ptr(next);
      }
      two.next = raw(cur);
      std::uintptr_t expected = raw(cur);
      if (pred->next.compare_exchange_strong(expected, raw(&two))) return;
    }
  };
  const auto remove_one = [&] {
    for (;;) {
      std::uintptr_t next = one.next.load();
      if (Marks && !one.next.compare_exchange_strong(next, next | 1)) continue;
      std::uintptr_t expected = raw(&one);
      head.next.compare_exchange_strong(expected, next);
      return;
    }
  };
  both(insert_two, remove_one);
  bool there = false;
  for (node* n = ptr(head.next); n; n = ptr(n->next)) there |= n == &two;
  assert(there);
}

// Heller et al.'s lazy list: lock both, look again.
template <bool Validates>
void lazy_list() {
  struct node {
    int key;
    std::atomic<node*> next{nullptr};
    std::atomic<bool> gone{false};
    std::mutex mutex;
  };
  node head{.key = 0}, one{.key = 1}, two{.key = 2}, three{.key = 3};
  head.next = &one;
  one.next = &three;
  const auto valid = [](node* a, node* b) {
    return !Validates || (!a->gone && (!b || !b->gone) && a->next == b);
  };
  const auto find = [&](int key) {
    node* p = &head;
    node* c = p->next;
    while (c && c->key < key) p = c, c = c->next;
    return std::pair(p, c);
  };
  both(
      [&] {
        for (;;) {
          auto [p, c] = find(2);
          std::scoped_lock lock(p->mutex);
          if (!valid(p, c)) continue;
          two.next = c;
          p->next = &two;
          return;
        }
      },
      [&] {
        for (;;) {
          auto [p, c] = find(1);
          std::scoped_lock lock(p->mutex), lock2(c->mutex);
          if (!valid(p, c)) continue;
          c->gone = true;
          p->next = c->next.load();
          return;
        }
      });
  bool there = false;
  for (node* n = head.next; n; n = n->next) there |= n == &two;
  assert(there);
}

// rigtorp's SPSC with cached indices.
template <std::memory_order Take>
void cached_ring() {
  struct {
    alignas(64) std::atomic<unsigned> write{0};
    unsigned read_cache = 0;
    alignas(64) std::atomic<unsigned> read{0};
    unsigned write_cache = 0;
    int slot[2]{};
  } r;
  const auto push = [&](int v) {
    const unsigned w = r.write.load(relaxed), next = (w + 1) % 2;
    while (next == r.read_cache) r.read_cache = r.read.load(acquire);
    r.slot[w] = v;
    r.write.store(next, release);
  };
  const auto pop = [&] {
    const unsigned at = r.read.load(relaxed);
    while (at == r.write_cache) r.write_cache = r.write.load(Take);
    const int v = r.slot[at];
    r.read.store((at + 1) % 2, release);
    return v;
  };
  int a = 0, b = 0;
  both(
      [&] {
        push(1);
        push(2);
      },
      [&] {
        a = pop();
        b = pop();
      });
  assert(a == 1 && b == 2);
}

// Insert-only open addressing.
template <bool Exchanges>
void hash_set() {
  std::atomic<int> keys[4]{};
  std::atomic<int> values[4]{};
  const auto put = [&](int key, int value) {
    for (unsigned i = static_cast<unsigned>(key) % 4;; i = (i + 1) % 4) {
      int k = keys[i].load(acquire);
      if (k == 0) {
        if (Exchanges) {
          if (!keys[i].compare_exchange_strong(k, key, acq_rel) && k != key) continue;
        } else keys[i].store(key, release);
        k = key;
      }
      if (k == key) {
        values[i].store(value, release);
        return;
      }
    }
  };
  const auto get = [&](int key) {
    for (unsigned i = static_cast<unsigned>(key) % 4;; i = (i + 1) % 4) {
      const int k = keys[i].load(acquire);
      if (k == key) return values[i].load(acquire);
      if (k == 0) return 0;
    }
  };
  both([&] { put(1, 10); }, [&] { put(5, 50); });
  assert(get(1) == 10 && get(5) == 50);
}

// Williams' stack with split reference counts (C++ Concurrency in Action, 7.2.4).
// (Threads that count up for each other can go on so for ever: the right one is bounded.)
template <std::memory_order Last>
void split_counts() {
  struct node;
  struct counted {
    long external = 0;
    node* to = nullptr;
  };
  struct node {
    std::shared_ptr<int> data;
    std::atomic<int> internal{0};
    counted next;
    explicit node(int v) : data(std::make_shared<int>(v)) {}
  };
  static std::atomic<counted> head;
  head = counted{};
  const auto push = [](int v) {
    counted fresh{1, new node(v)};
    fresh.to->next = head.load(relaxed);
    while (!head.compare_exchange_weak(fresh.to->next, fresh, release, relaxed)) {
    }
  };
  const auto pop = []() -> std::shared_ptr<int> {
    counted old = head.load(relaxed);
    for (;;) {
      counted fresh;
      do {
        fresh = old;
        ++fresh.external;
      } while (!head.compare_exchange_strong(old, fresh, acquire, relaxed));
      old = fresh;
      node* const n = old.to;
      if (!n) return {};
      if (head.compare_exchange_strong(old, n->next, relaxed)) {
        std::shared_ptr<int> result;
        result.swap(n->data);
        const int more = static_cast<int>(old.external) - 2;
        if (n->internal.fetch_add(more, acq_rel) == -more) delete n;
        return result;
      }
      if (n->internal.fetch_add(-1, Last) == 1) delete n;
    }
  };
  push(1);
  std::shared_ptr<int> a, b;
  both([&] { a = pop(); }, [&] { b = pop(); });
  assert((a ? 1 : 0) + (b ? 1 : 0) == 1);
}

const scenario_program::scenario all[] = {
    {"heap_stack", heap_stack<release, acquire>},
    {"heap_stack_relaxed_push", heap_stack<relaxed, acquire>},
    {"heap_stack_relaxed_pop", heap_stack<release, relaxed>},
    {"mpsc", mpsc<release>},
    {"mpsc_relaxed", mpsc<relaxed>},
    {"counted_queue", counted_queue<true>},
    {"counted_queue_aba", counted_queue<false>},
    {"harris_list", harris_list<true>},
    {"harris_list_unmarked", harris_list<false>},
    {"lazy_list", lazy_list<true>},
    {"lazy_list_looks_once", lazy_list<false>},
    {"cached_ring", cached_ring<acquire>},
    {"cached_ring_relaxed", cached_ring<relaxed>},
    {"hash_set", hash_set<true>},
    {"hash_set_stores", hash_set<false>},
    {"split_counts_relaxed", split_counts<relaxed>},
};

}  // namespace

int main(int argc, char** argv) { return scenario_program::main(argc, argv, all); }
