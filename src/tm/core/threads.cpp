//
// Memory order (each tag stands at its site below)
//   [D]  release store of a descriptor that is made, acquire load: who finds it finds its fields.
//   [G]  relaxed: under list_guard.
//   [K]  relaxed: a count for decisions that either answer suits.
//   [F]  relaxed: the child of a fork has one thread.
//   [E]  the epoch before a heavy fence, against regime.h's [A]: a transaction that is not seen
//        active begins in an epoch that is not older. Acquire: what an ended one read
//        happens-before the free.
#include "tm/core/threads.h"

#include "tm/core/configuration.h"
#include "tm/core/engine.h"
#include "tm/core/fences.h"
#include "tm/core/regime.h"
#include "tm/core/stacks.h"

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>

#include <pthread.h>

namespace syncopate::tm {

constinit transaction nobody{};
thread_local constinit transaction* current [[gnu::tls_model("initial-exec")]] = &nobody;

namespace {

constinit std::atomic<transaction*> first{nullptr};
constinit u32 descriptors = 0;
constinit std::atomic<u32> attached{0};  // changed under list_guard
constexpr u32 numbered = 64;
constinit std::atomic<transaction*> in_slot[numbered];
pthread_mutex_t list_guard = PTHREAD_MUTEX_INITIALIZER;
pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_key_t key;

// At the end of a thread.
void detach(void* descriptor) {
  auto* const tx = static_cast<transaction*>(descriptor);
  observer::thread_ended(tx);
  stacks::retract(tx);
  pthread_mutex_lock(&list_guard);
  tx->in_use = false;
  attached.fetch_sub(1, std::memory_order_relaxed);  // [K]
  pthread_mutex_unlock(&list_guard);
  current = &nobody;
}

// No transaction is in the middle of anything while the process forks, except the one that forks.
void before_fork() {
  transaction* const tx = self();
  if (tx->depth == 0) now.acquire(tx);
  pthread_mutex_lock(&list_guard);
}
void after_fork_in_parent() {
  pthread_mutex_unlock(&list_guard);
  if (current->depth == 0) now.release(current);
}
void after_fork_in_child() {
  for (transaction* tx = all_threads(); tx != nullptr; tx = tx->next) {
    if (tx == current) continue;
    abandon(tx);
    tx->in_use = false;
  }
  attached.store(1, std::memory_order_relaxed);  // [K]
  settle_light_fences();
  now.waiters.store(0, std::memory_order_relaxed);  // [F]
  after_fork_in_parent();
}

void prepare() {
  configure();
  pthread_key_create(&key, detach);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void learn_stack(transaction* tx) {
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
  }
  tx->stack_low = reinterpret_cast<address>(low);
  tx->stack_high = tx->stack_low + size;
}

transaction* take_unused() {
  for (transaction* tx = all_threads(); tx != nullptr; tx = tx->next)
    if (!tx->in_use) return tx;
  return nullptr;
}

transaction* make() {
  void* const room = std::aligned_alloc(alignof(transaction), sizeof(transaction));
  if (room == nullptr) {
    std::fputs("libitm (syncopate): no memory for a thread's first transaction\n", stderr);
    std::abort();
  }
  auto* const tx = new (room) transaction;
  tx->slot = descriptors++;
  if (tx->slot < numbered) in_slot[tx->slot].store(tx, std::memory_order_release);  // [D]
  tx->next = first.load(std::memory_order_relaxed);                                 // [G]
  first.store(tx, std::memory_order_release);                                       // [D]
  return tx;
}

}  // namespace

// When the library is loaded, mostly before there are threads: later, it makes the kernel wait for
// all processors, some 10 ms, which the first transaction would have to spend.
[[gnu::constructor]] static void prepare_fences() { machine::prepare_asymmetric_fences(); }

u32 threads_attached() noexcept { return attached.load(std::memory_order_relaxed); }  // [K]

transaction* all_threads() noexcept { return first.load(std::memory_order_acquire); }  // [D]

transaction* thread_in_slot(u32 slot) noexcept {
  return slot < numbered ? in_slot[slot].load(std::memory_order_acquire) : nullptr;  // [D]
}

transaction* attach() noexcept {
  pthread_once(&once, prepare);
  pthread_mutex_lock(&list_guard);
  transaction* tx = take_unused();
  if (tx == nullptr) tx = make();
  tx->in_use = true;
  attached.fetch_add(1, std::memory_order_relaxed);  // [K]
  pthread_mutex_unlock(&list_guard);
  learn_stack(tx);
  pthread_setspecific(key, tx);
  return current = tx;
}

statistics add_statistics() noexcept {
  statistics sum;
  for (transaction* tx = all_threads(); tx != nullptr; tx = tx->next) {
    sum.commits += tx->counts.commits;
    sum.alone += tx->counts.alone;
    sum.hardware += tx->counts.hardware;
    for (unsigned i = 0; i < causes; ++i) sum.restarts[i] += tx->counts.restarts[i];
  }
  return sum;
}

u32 oldest_epoch() noexcept {
  const u32 present = epoch.load(std::memory_order_relaxed);  // [E]
  heavy_fence();
  u32 oldest = present;
  for (transaction* tx = all_threads(); tx != nullptr; tx = tx->next) {
    for (const std::atomic<u32>* since : {&tx->active, &tx->looking}) {
      const u32 began = since->load(std::memory_order_acquire);  // [E]
      if (began != 0 && static_cast<std::int32_t>(began - oldest) < 0) oldest = began;
    }
  }
  return oldest;
}

}  // namespace syncopate::tm
