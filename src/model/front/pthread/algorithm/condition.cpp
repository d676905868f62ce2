// condition.cpp -- condition variables of a program on a modeled machine: what posix/condition.h
// says, by condition_variable.h. Instrumented.

#include "posix/condition.h"

#include <syncopate/condition/condition_variable.h>

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

static_assert(sizeof(condition_variable) <= offsetof(pthread_cond_t, __data.__wrefs));

class condition {
 public:
  explicit condition(pthread_cond_t& c) : object_(*reinterpret_cast<condition_variable*>(&c)) {}

  static bool is_destroyed() { return false; }
  static void mark_destroyed() {}
  void notify_one() { object_.notify_one(); }
  void notify_all() { object_.notify_all(); }
  void drain() { object_.drain(); }
  static void stop_eliding() {}

 protected:
  condition_variable& object_;
};

class wait_in_progress : public condition {
 public:
  wait_in_progress(pthread_cond_t& c, pthread_mutex_t& m, place where)
      : condition(c), mutex_(m), where_(where) {}

  void enlist() { object_.enlist(element_); }
  int unlock_mutex() { return mutex_unlock(mutex_, where_); }
  int lock_mutex() { return mutex_lock(mutex_, nullptr, where_); }
  bool is_over() { return element_.is_signaled(); }
  bool withdraw() { return object_.withdraw(element_); }
  machine::park_result sleep(limit until) {
    cancelable_sleep_begin(element_.parked_on());
    const machine::park_result woken = element_.sleep(until);
    cancelable_sleep_end();
    return woken;
  }
  template <class Body, class Left>
  static void cancelable(const Body& body, const Left& left) {
    instrument::cancelable(body, left);
  }

 private:
  pthread_mutex_t& mutex_;
  place where_;
  condition_variable::waiter element_;
};

using nobody = posix::nobody_watches_condition;

}  // namespace

int condition_wait(pthread_cond_t& c, pthread_mutex_t& m, limit until, place where) {
  wait_in_progress call(c, m, where);
  nobody watch;
  return posix::wait_condition(call, watch, until);
}

void condition_signal(pthread_cond_t& c, place /*where*/) {
  posix::signal_condition(condition(c), nobody());
}
void condition_broadcast(pthread_cond_t& c, place /*where*/) {
  posix::broadcast_condition(condition(c), nobody());
}
void condition_destroy(pthread_cond_t& c, place /*where*/) {
  posix::destroy_condition(condition(c), nobody());
}

}  // namespace syncopate::instrument::objects
