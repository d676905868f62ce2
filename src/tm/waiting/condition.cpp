// condition.cpp -- transaction-aware condition variables and semaphores (tm/condition.h). Compiled
// with -fgnu-tm: plain functions and clones from one source.
//
// Invariants
//   I1  A waiter is in at most one queue, or has been taken out by the one who is going to post to
//       it, and is freed by its thread after that post. Nobody else frees it, except the roll-back
//       of the transaction that made it, which takes it out of the queue, too.
//   I2  Between a waiter's entry (with its transaction) and its sleep (behind it) a post is kept by
//       the semaphore: no signal is lost.
#include <syncopate/tm/condition.h>
#include <syncopate/tm/transaction.h>

#include <cerrno>

struct tm_waiter {
  tm_waiter* next;
  void (*second_half)(void*);
  void* argument;
  sem_t woken;
};

namespace {

[[gnu::transaction_pure]] void prepare(sem_t* semaphore) { sem_init(semaphore, 0, 0); }

void sleep_until_woken(void* waiting) {
  auto* const w = static_cast<tm_waiter*>(waiting);
  while (sem_wait(&w->woken) != 0 && errno == EINTR) {
  }
  void (*const second_half)(void*) = w->second_half;
  void* const argument = w->argument;
  sem_destroy(&w->woken);
  std::free(w);
  if (second_half != nullptr) second_half(argument);
}

void wake(void* waiting) { sem_post(&static_cast<tm_waiter*>(waiting)->woken); }

[[gnu::transaction_safe]] void wake_first(tm_cond* cond) {
  tm_waiter* const w = cond->first;
  cond->first = w->next;
  if (w->next == nullptr) cond->last = nullptr;
  syncopate_tm_on_commit(wake, w);
}

void take_one(void* semaphore) { tm_semaphore_wait(static_cast<tm_semaphore*>(semaphore)); }

// The transaction by which a thread outside of one takes one; or else it sleeps behind it.
bool take_or_sleep(tm_semaphore* semaphore) {
  bool taken = false;
  __transaction_atomic {
    taken = tm_semaphore_try_wait(semaphore) != 0;
    if (!taken) tm_cond_wait(&semaphore->posted);
  }
  return taken;
}
[[gnu::transaction_pure]] void take_outside(tm_semaphore* semaphore) {
  while (!take_or_sleep(semaphore)) {
  }
}

}  // namespace

void tm_cond_wait_then(tm_cond* cond, void (*second_half)(void*), void* argument) {
  __transaction_atomic {
    auto* const w = static_cast<tm_waiter*>(std::malloc(sizeof(tm_waiter)));
    if (w == nullptr) tm_assert_failed("memory for one who waits", __FILE__, __LINE__, __func__);
    w->next = nullptr;
    w->second_half = second_half;
    w->argument = argument;
    prepare(&w->woken);
    if (cond->last != nullptr) cond->last->next = w;
    else cond->first = w;
    cond->last = w;
    syncopate_tm_on_commit(sleep_until_woken, w);
  }
}

void tm_cond_wait(tm_cond* cond) { tm_cond_wait_then(cond, nullptr, nullptr); }

void tm_cond_signal(tm_cond* cond) {
  __transaction_atomic {
    if (cond->first != nullptr) wake_first(cond);
  }
}

void tm_cond_broadcast(tm_cond* cond) {
  __transaction_atomic {
    while (cond->first != nullptr) wake_first(cond);
  }
}

void tm_semaphore_post(tm_semaphore* semaphore) {
  __transaction_atomic {
    ++semaphore->count;
    tm_cond_signal(&semaphore->posted);
  }
}

int tm_semaphore_try_wait(tm_semaphore* semaphore) {
  int taken = 0;
  __transaction_atomic {
    if (semaphore->count > 0) {
      --semaphore->count;
      taken = 1;
    }
  }
  return taken;
}

void tm_semaphore_wait(tm_semaphore* semaphore) {
  if (syncopate_tm_in_transaction()) syncopate_tm_on_commit(take_one, semaphore);
  else take_outside(semaphore);
}
