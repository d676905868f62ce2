// tm_waiting_scenarios.cpp -- conditions, semaphores and word locks of transactions
// (src/tm/waiting/condition.cpp, tm/word_lock.h): whether each sleeper is woken, and by one signal
// only one.
//
// GCC 12 cannot compile transactions for a modeled machine (-fgnu-tm with -fsanitize=thread), so
// here a transaction is a section of one lock, and its commit actions run when it has ended: what
// the waiting is built on, and no more. The transactions themselves: tm_scenarios.cpp.
#include <cassert>
#include <cstdint>
#include <ctime>

#include <pthread.h>

namespace {

struct action {
  void (*function)(void*);
  void* argument;
};
constexpr unsigned most_actions = 4;
pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
thread_local unsigned depth, asked;
thread_local action actions[most_actions];

class section {
 public:
  section() {
    if (depth++ == 0) pthread_mutex_lock(&one_at_a_time);
  }
  ~section() {
    if (--depth != 0) return;
    pthread_mutex_unlock(&one_at_a_time);
    action run[most_actions];
    const unsigned count = asked;
    for (unsigned i = 0; i < count; ++i) run[i] = actions[i];
    asked = 0;
    for (unsigned i = 0; i < count; ++i) run[i].function(run[i].argument);
  }
  section(const section&) = delete;
  section& operator=(const section&) = delete;
  bool is_entered() { return !left_ && (left_ = true); }

 private:
  bool left_ = false;
};

}  // namespace

extern "C" {
void _ITM_addUserCommitAction(void (*function)(void*), std::uint64_t, void* argument) {
  assert(depth != 0 && asked < most_actions);
  actions[asked++] = {function, argument};
}
void _ITM_addUserUndoAction(void (*)(void*), void*) {}
std::uint32_t _ITM_inTransaction() { return depth != 0; }
const char* _ITM_libraryVersion() { return "Syncopate"; }
void _ITM_abortTransaction(int) { assert(!"nothing is rolled back here"); }
}

#define __transaction_atomic for (section here; here.is_entered();)
#include "tm/waiting/condition.cpp"

#include <syncopate/tm/word_lock.h>

void tm_assert_failed(const char*, const char*, unsigned, const char*) { __builtin_trap(); }

#include "check.h"

namespace {

struct shared {
  tm_cond changed{};
  tm_semaphore semaphore{};
  pthread_mutex_t lock{};  // a word lock
  int ready = 0, taken = 0;
  int inside = 0;  // plain: guarded by `lock`
};

// Takes one of `ready`; sleeps while there is none.
void take(shared& s) {
  for (bool done = false; !done;) {
    __transaction_atomic {
      done = s.ready > 0;
      if (done) --s.ready, ++s.taken;
      else tm_cond_wait(&s.changed);
    }
  }
}

void signal_is_not_lost() {
  auto* const s = new shared;
  auto waits = [s] { take(*s); };
  auto signals = [s] {
    __transaction_atomic {
      ++s->ready;
      tm_cond_signal(&s->changed);
    }
  };
  check::together(waits, signals);
  assert(s->taken == 1 && s->changed.first == nullptr && s->changed.last == nullptr);
  delete s;
}

// Two wait while a third gives.
template <class Give>
void two_take(Give give) {
  auto* const s = new shared;
  auto waits = [s] { take(*s); };
  auto other = waits;
  auto gives = [s, give] { give(*s); };
  check::together(waits, other, gives);
  assert(s->taken == 2 && s->changed.first == nullptr);
  delete s;
}

void one_signal_each() {
  two_take([](shared& s) {
    for (int i = 0; i < 2; ++i) {
      __transaction_atomic {
        ++s.ready;
        tm_cond_signal(&s.changed);
      }
    }
  });
}

void broadcast_wakes_all() {
  two_take([](shared& s) {
    __transaction_atomic {
      s.ready += 2;
      tm_cond_broadcast(&s.changed);
    }
  });
}

// A waiter whose time comes has left the queue, or taken the signal: it does not swallow one.
void timed_waiter_and_signal() {
  auto* const s = new shared;
  auto timed = [s] {
    const timespec soon{1, 0};
    int timed_out = 0;
    bool done = false;
    __transaction_atomic {
      done = s->ready > 0;
      if (done) --s->ready, ++s->taken;
      else tm_cond_wait_until(&s->changed, &soon, &timed_out);
    }
    if (!done && timed_out == 0) take(*s);  // it was woken: there is one
  };
  auto signals = [s] {
    __transaction_atomic {
      ++s->ready;
      tm_cond_signal(&s->changed);
    }
  };
  check::together(timed, signals);
  assert(s->ready + s->taken == 1 && s->changed.first == nullptr);
  delete s;
}

void semaphore_passes_on() {
  auto* const s = new shared;
  auto waits = [s] {
    tm_semaphore_wait(&s->semaphore);
    assert(s->ready == 1);  // written before the post
  };
  auto posts = [s] {
    s->ready = 1;
    tm_semaphore_post(&s->semaphore);
  };
  check::together(waits, posts);
  assert(s->semaphore.count == 0);
  delete s;
}

// In a transaction, it is taken behind it.
void semaphore_behind_a_transaction() {
  auto* const s = new shared;
  auto waits = [s] {
    __transaction_atomic {
      ++s->taken;
      tm_semaphore_wait(&s->semaphore);
    }
  };
  auto posts = [s] { tm_semaphore_post(&s->semaphore); };
  check::together(waits, posts);
  assert(s->semaphore.count == 0 && s->taken == 1);
  delete s;
}

void timed_semaphore() {
  auto* const s = new shared;
  int taken = -1;
  auto waits = [s, &taken] {
    const timespec soon{1, 0};
    tm_semaphore_wait_until(&s->semaphore, &soon, &taken);
  };
  auto posts = [s] { tm_semaphore_post(&s->semaphore); };
  check::together(posts, waits);
  assert((taken == 0 || taken == 1) && s->semaphore.count == 1 - taken);
  delete s;
}

void inside_word_lock(shared& s) {
  assert(s.inside++ == 0);
  --s.inside;
}

void word_lock_excludes() {
  auto* const s = new shared;
  auto one = [s] {
    tm_word_acquire(&s->lock);
    inside_word_lock(*s);
    tm_word_release(&s->lock);
  };
  auto other = one;
  check::together(one, other);
  assert(tm_word_trylock(&s->lock) == 0);
  delete s;
}

void word_lock_tried() {
  auto* const s = new shared;
  auto takes = [s] {
    tm_word_acquire(&s->lock);
    inside_word_lock(*s);
    tm_word_release(&s->lock);
  };
  auto tries = [s] {
    if (tm_word_trylock(&s->lock) != 0) return;
    inside_word_lock(*s);
    tm_word_release(&s->lock);
  };
  check::together(takes, tries);
  delete s;
}

// As with a mutex and its condition: no signal is lost between the release and the sleep.
void word_lock_and_condition() {
  auto* const s = new shared;
  auto waits = [s] {
    tm_word_acquire(&s->lock);
    while (s->ready == 0) tm_word_wait(&s->changed, &s->lock);
    inside_word_lock(*s);
    tm_word_release(&s->lock);
  };
  auto signals = [s] {
    tm_word_acquire(&s->lock);
    s->ready = 1;
    tm_word_release(&s->lock);
    tm_cond_signal(&s->changed);
  };
  check::together(waits, signals);
  delete s;
}

constexpr check::scenario scenarios[] = {
    {"signal_is_not_lost", signal_is_not_lost},
    {"one_signal_each", one_signal_each},
    {"broadcast_wakes_all", broadcast_wakes_all},
    {"timed_waiter_and_signal", timed_waiter_and_signal},
    {"semaphore_passes_on", semaphore_passes_on},
    {"semaphore_behind_a_transaction", semaphore_behind_a_transaction},
    {"timed_semaphore", timed_semaphore},
    {"word_lock_excludes", word_lock_excludes},
    {"word_lock_tried", word_lock_tried},
    {"word_lock_and_condition", word_lock_and_condition},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
