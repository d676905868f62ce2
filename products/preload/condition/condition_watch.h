// condition_watch.h -- who watches the condition variables of this library (posix/condition.h): the
// recorder, and the guard with its reports of misuse. Each is asked whether it is on.
#pragma once

#include "posix/condition.h"
#include "preload/condition/condition_object.h"
#include "preload/guard/guard.h"
#include "preload/misuse/misuse.h"
#include "record/recorder.h"

namespace syncopate::shim {

struct condition_watch : posix::nobody_watches_condition {
  static void about_to_signal(program_condition& c) {
    if (!guards.misuse && !record::enabled) return;
    condition_object& o = c.object();
    const bool is_for_nobody = c.is_empty();
    if (guards.misuse && is_for_nobody) signaled_nobody(&o);
    if (record::enabled && !is_for_nobody)
      record::signaled(record::identify(record::object_kind::condition, 0, &o, &o.slot));
  }
  static void about_to_destroy(program_condition& c) {
    if (guards.misuse) shim::about_to_destroy("condition variable", &c.object(), !c.is_empty());
  }
  static void destroyed(program_condition& c) {
    if (record::enabled)
      record::object_destroyed(record::object_kind::condition, &c.object(), &c.object().slot, 0);
  }
};

// One wait.
class wait_watch : public condition_watch {
 public:
  void begins(program_wait& c, posix::limit until) {
    if (!record::enabled) return;
    condition_object& o = c.object();
    recorded_ = record::wait_begin(record::wait_kind::condition,
                                   record::identify(record::object_kind::condition, 0, &o, &o.slot),
                                   0, {c.caller(), until != nullptr});
  }
  void in_line(program_wait& c) {
    if (guards.misuse) signals_.begin(&c.object(), c.mutex());
  }
  void is_refused(program_wait&) {
    if (record::enabled) record::wait_refused(recorded_);
  }
  void breaks_off(program_wait&) {
    if (record::enabled) record::wait_end_now(recorded_);
  }
  void ends(program_wait&) {
    if (guards.misuse) signals_.end();
    if (record::enabled) record::wait_end_now(recorded_);
  }
  posix::limit until(posix::limit given) { return guards.misuse ? signals_.limit(given) : given; }
  bool was_own_limit() { return guards.misuse && signals_.passed_limit(); }

 private:
  watched_wait signals_;  // for signals that are lost (misuse.h)
  record::wait recorded_{};
};

}  // namespace syncopate::shim
