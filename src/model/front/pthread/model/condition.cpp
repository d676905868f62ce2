// condition.cpp -- condition variables for the explored machine: what posix/condition.h says, with
// a queue, which the machine keeps (steps.h); one event to enter it, one to signal.
//
// A waiter enters the queue with the mutex held, releases the mutex and sleeps; a signal takes one
// out of the queue, whether it sleeps yet or not. That a waiter may also return without a signal is
// the machine's doing: POSIX allows it, and a program that cannot stand it is wrong.

#include "posix/condition.h"

#include <climits>

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

struct condition_object {
  std::uint32_t queue;  // its address is the queue
  bool destroyed;
};
static_assert(sizeof(condition_object) <= offsetof(pthread_cond_t, __data.__wrefs));

class condition {
 public:
  condition(pthread_cond_t& c, place where) : object_(c), where_(where) {}

  bool is_destroyed() {
    if (fields().destroyed) return true;
    model::note_use(&fields().destroyed, where_);
    return false;
  }
  void mark_destroyed() {
    touch(&object_, sizeof object_, engine::kind::write, where_);
    fields().destroyed = true;
  }
  void notify_one() { wake(1); }
  void notify_all() { wake(INT_MAX); }
  static void drain() {}
  static void stop_eliding() {}

  [[noreturn]] void misused(const char* what) { model::misuse(what, &object_, where_); }

 protected:
  condition_object& fields() const { return reinterpret_cast<condition_object&>(object_); }
  engine::address queue() const { return at(&fields().queue); }
  // By the address only: who gives up a wait may find the object gone.
  void wake(int count) {
    on_engine([&] { engine::wake(queue(), count, ~0u, where_); });
  }

  pthread_cond_t& object_;
  place where_;
};

class wait_in_progress : public condition {
 public:
  wait_in_progress(pthread_cond_t& c, pthread_mutex_t& m, bool timed, place where)
      : condition(c, where), mutex_(m), timed_(timed) {}

  void begins() {
    on_engine([&] { model::begin_wait(at(&object_), at(&mutex_), where_); });
  }
  void ends() {
    on_engine([&] { model::end_wait(at(&object_)); });
  }

  void enlist() {
    on_engine([&] { model::enqueue(queue(), timed_, where_); });
  }
  int unlock_mutex() { return mutex_unlock(mutex_, where_); }
  int lock_mutex() { return mutex_lock(mutex_, nullptr, where_); }

  machine::park_result sleep(limit until) {
    cancelable_sleep_begin(&fields().queue);
    const machine::park_result woken =
        on_engine([&] { return model::sleep_enqueued(queue(), until, where_); });
    timed_out_ = woken == machine::park_result::timed_out;
    over_ = true;
    cancelable_sleep_end();
    return woken;
  }
  bool is_over() const { return over_; }
  // (Who is canceled in its sleep may have taken a signal along.)
  bool withdraw() const {
    return timed_out_ || on_engine([] { return model::leave_queue(); });
  }

  template <class Body, class Left>
  static void cancelable(const Body& body, const Left& left) {
    instrument::cancelable(body, left);
  }

 private:
  pthread_mutex_t& mutex_;
  bool timed_, timed_out_ = false, over_ = false;
};

struct strict : posix::nobody_watches_condition {
  [[noreturn]] static void uses_destroyed(condition& c) {
    c.misused("use of a destroyed condition variable");
  }
  static void in_line(wait_in_progress& c) { c.begins(); }
  static void ends(wait_in_progress& c) { c.ends(); }
  static void is_refused(wait_in_progress& c) { c.ends(); }
  static void breaks_off(wait_in_progress& c) { c.ends(); }
};

}  // namespace

int condition_wait(pthread_cond_t& c, pthread_mutex_t& m, limit until, place where) {
  wait_in_progress call(c, m, until != nullptr, where);
  strict watch;
  return posix::wait_condition(call, watch, until);
}

void condition_signal(pthread_cond_t& c, place where) {
  posix::signal_condition(condition(c, where), strict());
}
void condition_broadcast(pthread_cond_t& c, place where) {
  posix::broadcast_condition(condition(c, where), strict());
}
void condition_destroy(pthread_cond_t& c, place where) {
  posix::destroy_condition(condition(c, where), strict());
}

}  // namespace syncopate::instrument::objects
