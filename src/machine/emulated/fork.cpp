#include "fork.h"

#include <pthread.h>
#include <unistd.h>

#include "registry.h"
#include "transaction.h"

namespace syncopate::emulated {

namespace {

// The forking thread is in no transaction: fork() ends it (library_calls.h).
void before_fork() {
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
  for (auto& owner : slot_owner) owner.store(nullptr);
  for (thread* t = all_threads.load(); t != nullptr; t = t->next_thread) {
    t->status.store(0);
    t->bit = 0;
    t->dispatches_calls = false;  // the kernel's part is not inherited
    if (t == here.self) continue;
    t->in_use = false;
    t->stack_low = t->stack_top = t->marked_from = 0;
  }
  if (here.self != nullptr) {
    here.self->id = gettid();
    here.self->marked_from = here.self->stack_top;
  }
  in_parent();
}

}  // namespace

void watch_forks() noexcept { pthread_atfork(before_fork, in_parent, in_child); }

}  // namespace syncopate::emulated
