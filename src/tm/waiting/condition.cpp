// condition.cpp -- transaction-aware condition variables and semaphores (tm/condition.h). Compiled
// with -fgnu-tm: plain functions and clones from one source.
//
// Invariants
//   I1  A waiter is in at most one queue, or has been taken out by the one who is going to post to
//       it, and is freed by its thread after that post. Nobody else frees it, except the roll-back
//       of the transaction that made it, which takes it out of the queue, too.
//       Transactions that have lost may be reading it until then, and after: give_back().
//   I2  Between a waiter's entry (with its transaction) and its sleep (behind it) a post is kept by
//       the semaphore: no signal is lost.
//
// Checked by    tests/check/tm_waiting_scenarios.cpp, tests/tm.
#include <syncopate/tm/condition.h>
#include <syncopate/tm/transaction.h>

#include <cerrno>
#include <cstring>

extern "C" const char* _ITM_libraryVersion();

namespace {

struct request {
  void (*second_half)(void*) = nullptr;
  void* argument = nullptr;
  int* timed_out = nullptr;  // null: it waits for ever
  timespec until = {};
};

}  // namespace

struct tm_waiter {
  tm_waiter* next;
  tm_cond* queue;  // null: it has been taken out
  request what;
  sem_t woken;
};

namespace {

[[gnu::transaction_pure]] void prepare(sem_t* semaphore) { sem_init(semaphore, 0, 0); }

// Takes the waiter out of its queue. Returns false where somebody else has, who is going to post.
[[gnu::noinline]] bool leave_queue(tm_waiter* w) {
  bool left = false;
  __transaction_atomic {
    tm_cond* const cond = w->queue;
    left = cond != nullptr;
    if (left) {
      tm_waiter* before = nullptr;
      for (tm_waiter* each = cond->first; each != w; each = each->next) before = each;
      if (before != nullptr) before->next = w->next;
      else cond->first = w->next;
      if (cond->last == w) cond->last = before;
    }
  }
  return left;
}

void sleep_for_ever(tm_waiter* w) {
  while (sem_wait(&w->woken) != 0 && errno == EINTR) {
  }
}
// Returns whether the time came first.
bool sleep_until_time(tm_waiter* w) {
  int slept = 0;
  while ((slept = sem_timedwait(&w->woken, &w->what.until)) != 0 && errno == EINTR) {
  }
  if (slept == 0) return false;
  if (leave_queue(w)) return true;
  sleep_for_ever(w);  // for the post that is on its way
  return false;
}

bool is_our_library() { return std::strncmp(_ITM_libraryVersion(), "Syncopate", 9) == 0; }

// GCC's library has waited for the transactions that had begun before the one that took the waiter
// out. Ours has not: what a transaction frees it keeps until they are over.
[[gnu::noinline]] void give_back(tm_waiter* w) {
  if (!is_our_library()) return std::free(w);
  __transaction_atomic { std::free(w); }
}

void sleep_until_woken(void* waiting) {
  auto* const w = static_cast<tm_waiter*>(waiting);
  if (w->what.timed_out != nullptr) *w->what.timed_out = sleep_until_time(w) ? 1 : 0;
  else sleep_for_ever(w);
  const request what = w->what;
  sem_destroy(&w->woken);
  give_back(w);
  if (what.second_half != nullptr) what.second_half(what.argument);
}

void wake(void* waiting) { sem_post(&static_cast<tm_waiter*>(waiting)->woken); }

[[gnu::transaction_safe]] void wake_first(tm_cond* cond) {
  tm_waiter* const w = cond->first;
  cond->first = w->next;
  if (w->next == nullptr) cond->last = nullptr;
  w->queue = nullptr;
  syncopate_tm_on_commit(wake, w);
}

// Enters a waiter, whose thread sleeps when the transaction has committed.
[[gnu::transaction_safe]] void enter_queue(tm_cond* cond, const request& what) {
  auto* const w = static_cast<tm_waiter*>(std::malloc(sizeof(tm_waiter)));
  if (w == nullptr) tm_assert_failed("memory for one who waits", __FILE__, __LINE__, __func__);
  w->next = nullptr;
  w->queue = cond;
  w->what = what;
  prepare(&w->woken);
  if (cond->last != nullptr) cond->last->next = w;
  else cond->first = w;
  cond->last = w;
  syncopate_tm_on_commit(sleep_until_woken, w);
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

// The same until a time.
struct timed_request {
  tm_semaphore* semaphore;
  timespec until;
  int* taken;
};
[[gnu::noinline]] bool take_or_sleep_until(const timed_request& request, int* timed_out) {
  bool taken = false;
  __transaction_atomic {
    taken = tm_semaphore_try_wait(request.semaphore) != 0;
    if (!taken) tm_cond_wait_until(&request.semaphore->posted, &request.until, timed_out);
  }
  return taken;
}
[[gnu::transaction_pure]] void take_outside_until(const timed_request& request) {
  int timed_out = 0;
  bool taken = false;
  while (!taken && timed_out == 0) taken = take_or_sleep_until(request, &timed_out);
  *request.taken = taken ? 1 : tm_semaphore_try_wait(request.semaphore);
}
void take_one_until(void* argument) {
  auto* const request = static_cast<timed_request*>(argument);
  take_outside_until(*request);
  std::free(request);
}

}  // namespace

void tm_cond_wait_then(tm_cond* cond, void (*second_half)(void*), void* argument) {
  __transaction_atomic { enter_queue(cond, {.second_half = second_half, .argument = argument}); }
}

void tm_cond_wait_until(tm_cond* cond, const timespec* until, int* timed_out) {
  __transaction_atomic { enter_queue(cond, {.timed_out = timed_out, .until = *until}); }
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

void tm_semaphore_wait_until(tm_semaphore* semaphore, const timespec* until, int* taken) {
  if (!syncopate_tm_in_transaction()) return take_outside_until({semaphore, *until, taken});
  auto* const request = static_cast<timed_request*>(std::malloc(sizeof(timed_request)));
  if (request == nullptr)
    tm_assert_failed("memory for one who waits", __FILE__, __LINE__, __func__);
  request->semaphore = semaphore;
  request->until = *until;
  request->taken = taken;
  syncopate_tm_on_commit(take_one_until, request);
}
