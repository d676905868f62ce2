// condition.cpp -- condition variables for the explored machine: a sequence word.
//
// A waiter reads the word with the mutex held, releases the mutex and sleeps while the word is what
// it read; a signaler changes it and wakes one. A signal that comes between the release and the
// sleep is thus not lost. A waiter may also return though the signal was another's: POSIX allows
// such wake-ups, and a program that cannot stand them is wrong.

#include <cerrno>
#include <climits>

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

struct condition_object {
  std::uint32_t sequence;
  bool destroyed;
};
static_assert(sizeof(condition_object) <= offsetof(pthread_cond_t, __data.__wrefs));

condition_object& checked(pthread_cond_t& c, place where) {
  auto& o = *reinterpret_cast<condition_object*>(&c);
  if (o.destroyed) model::misuse("use of a destroyed condition variable", &c, where);
  model::note_use(&o.destroyed, where);
  return o;
}

// Takes the mutex again, also when a cancellation leaves the wait.
class waiting {
 public:
  waiting(condition_object& c, pthread_mutex_t& m, place where)
      : sequence_(at(&c.sequence)), mutex_(m), where_(where) {}
  ~waiting() {
    if (over_) return;
    // It may have taken a signal along: pass it on.
    on_engine([&] { engine::wake(sequence_, 1, ~0u, where_); });
    (void)mutex_lock(mutex_, nullptr, where_);
  }
  waiting(const waiting&) = delete;
  waiting& operator=(const waiting&) = delete;

  // The mutex was not the thread's to wait with.
  int never_begun(int error) {
    over_ = true;
    return error;
  }

  int finish() {
    over_ = true;
    return mutex_lock(mutex_, nullptr, where_);
  }

 private:
  engine::address sequence_;  // the address only: the woken may find the object destroyed
  pthread_mutex_t& mutex_;
  place where_;
  bool over_ = false;
};

void notify(pthread_cond_t& c, int count, place where) {
  condition_object& o = checked(c, where);
  model::word<std::uint32_t>(o.sequence, where).add(1, std::memory_order_relaxed);
  on_engine([&] { engine::wake(at(&o.sequence), count, ~0u, where); });
}

}  // namespace

int condition_wait(pthread_cond_t& c, pthread_mutex_t& m, limit until, place where) {
  condition_object& o = checked(c, where);
  const std::uint32_t seen =
      model::word<std::uint32_t>(o.sequence, where).load(std::memory_order_relaxed);
  waiting wait(o, m, where);
  if (const int error = mutex_unlock(m, where); error != 0) return wait.never_begun(error);
  cancelable_sleep_begin(&o.sequence);
  const machine::park_result woken =
      on_engine([&] { return engine::park(at(&o.sequence), seen, until, ~0u, where); });
  cancelable_sleep_end();
  const int error = wait.finish();
  if (error != 0) return error;
  return woken == machine::park_result::timed_out ? ETIMEDOUT : 0;
}

void condition_signal(pthread_cond_t& c, place where) { notify(c, 1, where); }
void condition_broadcast(pthread_cond_t& c, place where) { notify(c, INT_MAX, where); }

void condition_destroy(pthread_cond_t& c, place where) {
  condition_object& o = checked(c, where);
  touch(&c, sizeof c, engine::kind::write, where);
  o.destroyed = true;
}

}  // namespace syncopate::instrument::objects
