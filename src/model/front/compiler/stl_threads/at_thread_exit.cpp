// at_thread_exit.cpp -- what libstdc++ does for a thread that has ended, instrumented: where its
// library does it, no machine sees that a result is ready. (The emulated machine's threads are the
// C library's.)
//
// Memory order (each tag stands at its site below)
//   [R]  release store of the status, as libstdc++'s code has it -- synchronizes with the acquire
//        loads of who waits for the result.
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>

#include "model/front/threads/thread_exit.h"

#define EXPORT __attribute__((visibility("default")))

using syncopate::instrument::at_thread_exit;

namespace std {

namespace {

struct notification {
  condition_variable& of;
  mutex* held;
};

void notify(void* what) {
  const unique_ptr<notification> n(static_cast<notification*>(what));
  n->held->unlock();
  n->of.notify_all();
}

}  // namespace

EXPORT void notify_all_at_thread_exit(condition_variable& of, unique_lock<mutex> held) {
  at_thread_exit(notify, new notification{of, held.release()});
}

// set_value_at_thread_exit and its like, of std::promise and std::packaged_task.
void __future_base::_State_baseV2::_Make_ready::_S_run(void* what) {
  const unique_ptr<_Make_ready> ready(static_cast<_Make_ready*>(what));
  if (const auto state = ready->_M_shared_state.lock())
    state->_M_status._M_store_notify_all(_Status::__ready, memory_order_release);  // [R]
}

EXPORT void __future_base::_State_baseV2::_Make_ready::_M_set() { at_thread_exit(_S_run, this); }

}  // namespace std
