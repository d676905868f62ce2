// condition.cpp -- condition variables, by condition_variable.h. Instrumented.

#include <syncopate/condition/condition_variable.h>

#include <cerrno>

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

static_assert(sizeof(condition_variable) <= offsetof(pthread_cond_t, __data.__wrefs));

condition_variable& of(pthread_cond_t& c) { return *reinterpret_cast<condition_variable*>(&c); }

// A wait that is left by cancellation: POSIX says that it must not consume a signal that another
// waiter could use, and that its cleanup handlers run with the mutex held.
class wait_in_progress {
 public:
  wait_in_progress(condition_variable& c, pthread_mutex_t& m, place where)
      : condition_(c), mutex_(m), where_(where) {
    condition_.enlist(element_);
  }
  ~wait_in_progress() {
    if (over_) return;
    give_up();
    (void)mutex_lock(mutex_, nullptr, where_);
  }
  wait_in_progress(const wait_in_progress&) = delete;
  wait_in_progress& operator=(const wait_in_progress&) = delete;

  // The mutex was not ours to wait with: as if never called.
  int never_begun(int error) {
    over_ = true;
    give_up();
    return error;
  }

  int sleep(limit until) {
    while (!element_.is_signaled()) {
      cancelable_sleep_begin(element_.parked_on());
      const machine::park_result woken = element_.sleep(until);
      cancelable_sleep_end();
      if (woken == machine::park_result::timed_out)
        return condition_.withdraw(element_) ? ETIMEDOUT : 0;
    }
    return 0;
  }

  int relock(int result) {
    over_ = true;
    const int error = mutex_lock(mutex_, nullptr, where_);
    return error != 0 ? error : result;
  }

 private:
  void give_up() {
    if (!condition_.withdraw(element_)) condition_.notify_one();
  }

  condition_variable& condition_;
  pthread_mutex_t& mutex_;
  place where_;
  bool over_ = false;
  condition_variable::waiter element_;
};

}  // namespace

int condition_wait(pthread_cond_t& c, pthread_mutex_t& m, limit until, place where) {
  wait_in_progress wait(of(c), m, where);
  if (const int error = mutex_unlock(m, where); error != 0) return wait.never_begun(error);
  return wait.relock(wait.sleep(until));
}

void condition_signal(pthread_cond_t& c, place /*where*/) { of(c).notify_one(); }
void condition_broadcast(pthread_cond_t& c, place /*where*/) { of(c).notify_all(); }
void condition_destroy(pthread_cond_t& c, place /*where*/) { of(c).drain(); }

}  // namespace syncopate::instrument::objects
