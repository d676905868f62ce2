// condition.cpp -- condition variables for the explored machine: what posix/condition.h says, with
// a sequence word.
//
// A waiter reads the word with the mutex held, releases the mutex and sleeps while the word is what
// it read; a signaler changes it and wakes one. A signal that comes between the release and the
// sleep is thus not lost. A waiter may also return though the signal was another's: POSIX allows
// such wake-ups, and a program that cannot stand them is wrong.

#include "posix/condition.h"

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
  void notify_one() { notify(1); }
  void notify_all() { notify(INT_MAX); }
  static void drain() {}
  static void stop_eliding() {}

  [[noreturn]] void misused(const char* what) { model::misuse(what, &object_, where_); }

 protected:
  condition_object& fields() const { return reinterpret_cast<condition_object&>(object_); }
  model::word<std::uint32_t> word() const { return {fields().sequence, where_}; }
  void wake(int count) {
    on_engine([&] { engine::wake(at(&fields().sequence), count, ~0u, where_); });
  }

  pthread_cond_t& object_;
  place where_;

 private:
  void notify(int count) {
    word().add(1, std::memory_order_relaxed);
    wake(count);
  }
};

class wait_in_progress : public condition {
 public:
  wait_in_progress(pthread_cond_t& c, pthread_mutex_t& m, place where)
      : condition(c, where), mutex_(m) {}

  void enlist() { seen_ = word().load(std::memory_order_relaxed); }
  int unlock_mutex() { return mutex_unlock(mutex_, where_); }
  int lock_mutex() { return mutex_lock(mutex_, nullptr, where_); }

  machine::park_result sleep(limit until) {
    sleeps_ = true;
    cancelable_sleep_begin(&fields().sequence);
    const machine::park_result woken =
        on_engine([&] { return engine::park(at(&fields().sequence), seen_, until, ~0u, where_); });
    cancelable_sleep_end();
    sleeps_ = false;
    woken_ = true;
    return woken;
  }
  bool is_over() const { return woken_; }
  // Who is canceled in its sleep may have taken a signal along.
  bool withdraw() const { return !sleeps_; }
  // Passes it on. By the address only: the object may be gone.
  void notify_one() { wake(1); }

  template <class Body, class Left>
  static void cancelable(const Body& body, const Left& left) {
    instrument::cancelable(body, left);
  }

 private:
  pthread_mutex_t& mutex_;
  std::uint32_t seen_ = 0;
  bool sleeps_ = false, woken_ = false;
};

struct strict : posix::nobody_watches_condition {
  [[noreturn]] static void uses_destroyed(condition& c) {
    c.misused("use of a destroyed condition variable");
  }
};

}  // namespace

int condition_wait(pthread_cond_t& c, pthread_mutex_t& m, limit until, place where) {
  wait_in_progress call(c, m, where);
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
