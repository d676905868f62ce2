//
// Memory order (each tag stands at its site below)
//   [F]  relaxed: stored in the child of a fork, which has one thread then.
#include "fork.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "model/emulated/htm/transaction.h"
#include "model/front/pthread/real.h"
#include "registry.h"

namespace syncopate::emulated {

namespace {

constinit std::atomic<std::uint32_t> generation{1};
constinit std::atomic<int> parent_thread{0};  // that forked this process

// fork() has ended the thread's transaction (library_calls.h), but handlers of the program that ran
// before this one may have begun another: one that took all locks, to keep them over the fork.
void before_fork() {
  end_transaction(reason::system_call, __builtin_return_address(0));
  here.inside = here.inside + 1;
  stop_transactions();
  registry.lock();
}

void in_parent() {
  registry.unlock();
  allow_transactions();
  const runtime_scope delivers;
  here.inside = here.inside - 1;
}

void in_child() {
  clear_shadow();
  for (auto& owner : slot_owner) owner.store(nullptr, std::memory_order_relaxed);  // [F]
  thread* t = all_threads.load(std::memory_order_relaxed);                         // [F]
  for (; t != nullptr; t = t->next_thread) {
    t->status.store(0, std::memory_order_relaxed);  // [F]
    t->bit = 0;
    t->foreign_write.settle();
    if (t != here.self) t->interruptions_told.store(0, std::memory_order_relaxed);  // [F]
    t->dispatches_calls = false;  // the kernel's part is not inherited
    if (t == here.self) continue;
    t->in_use = false;
    t->local = nullptr;
    t->stack_low = t->stack_top = t->marked_from = 0;
  }
  generation.fetch_add(1, std::memory_order_relaxed);  // [F]
  if (here.self != nullptr) {
    parent_thread.store(here.self->id, std::memory_order_relaxed);  // [F]
    here.self->id = gettid();
    here.self->marked_from = here.self->stack_top;
  }
  in_parent();
}

}  // namespace

void watch_forks() noexcept { pthread_atfork(before_fork, in_parent, in_child); }

}  // namespace syncopate::emulated

SYNCOPATE_EXPORT std::uint32_t syncopate_fork_generation() noexcept {
  return syncopate::emulated::generation.load(std::memory_order_relaxed);  // [F]
}
SYNCOPATE_EXPORT int syncopate_forked_from() noexcept {
  return syncopate::emulated::parent_thread.load(std::memory_order_relaxed);  // [F]
}
