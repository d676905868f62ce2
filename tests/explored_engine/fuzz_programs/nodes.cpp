// Nodes of the heap whose memory is used again as an object of another type, and handed on.
#include <new>

#include "objects.h"

namespace {

struct node {
  std::atomic<int> first, second;
};

struct counter {
  std::atomic<long> count;
};

static_assert(sizeof(node) == sizeof(counter));

std::atomic<node*> shared_node;
std::atomic<counter*> shared_counter;

// At least release: what is in the node is told with it.
std::memory_order publishing(unsigned order) {
  const std::memory_order o = change_orders[order];
  return o == std::memory_order_relaxed || o == std::memory_order_acquire
             ? std::memory_order_release
             : o;
}

bool publish(node* n, std::memory_order order) {
  node* none = nullptr;
  return shared_node.compare_exchange_strong(none, n, order, std::memory_order_relaxed);
}

}  // namespace

namespace operations {

int push_node(const step& s) {
  auto* n = new node;
  n->first.store(s.value, std::memory_order_relaxed);
  n->second.store(1, store_orders[s.order]);
  if (publish(n, publishing(s.order))) return 0;
  delete n;
  return 1;
}

// Of any order, so that it may be a race with who takes it. Who stood there before is forgotten.
int push_counter(const step& s) {
  auto* c = new counter;
  c->count.store(s.value, std::memory_order_relaxed);
  return shared_counter.exchange(c, change_orders[s.order]) != nullptr;
}

int take_node(const step& s) {
  node* n = shared_node.exchange(nullptr, std::memory_order_acq_rel);
  if (n == nullptr) return -1;
  const int found =
      n->first.load(std::memory_order_relaxed) * 2 + n->second.load(load_orders[s.order]);
  n->~node();
  auto* c = new (n) counter{s.value};
  const int counted = int(c->count.fetch_add(1, std::memory_order_relaxed));
  delete c;
  return found + 100 * counted;
}

int take_counter(const step& s) {
  counter* c = shared_counter.exchange(nullptr, std::memory_order_acq_rel);
  if (c == nullptr) return -1;
  const int found = int(c->count.load(std::memory_order_relaxed));
  c->~counter();
  auto* n = new (c) node;
  n->first.store(s.value, std::memory_order_relaxed);
  n->second.store(0, std::memory_order_relaxed);
  if (!publish(n, std::memory_order_release)) delete n;
  return found;
}

}  // namespace operations

void tell_ends_of_nodes() {
  tell_end(shared_node.load() != nullptr);
  tell_end(shared_counter.load() != nullptr);
}
