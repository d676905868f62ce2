// shared_condition.cpp -- see shared_condition.h.

#include "preload/condition/shared_condition.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "preload/base/real.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

constexpr unsigned gate_bits = 6;

struct alignas(64) gate {
  pthread_mutex_t mutex;  // only ever seen by glibc's own functions

  void close() noexcept { real::pthread_mutex_lock(&mutex); }
  void open() noexcept { real::pthread_mutex_unlock(&mutex); }
};

constinit gate gates[1u << gate_bits]{};  // zero: PTHREAD_MUTEX_INITIALIZER

gate& gate_of(const pthread_cond_t* c) noexcept {
  const auto mixed = reinterpret_cast<std::uintptr_t>(c) * 0x9e37'79b9'7f4a'7c15u;
  return gates[mixed >> (64 - gate_bits)];
}

int call_real(const real_wait& w, pthread_mutex_t* m) {
  if (w.at == nullptr) return real::pthread_cond_wait(w.condition, m);
  if (w.clock == nullptr) return real::pthread_cond_timedwait(w.condition, m, w.at);
  return real::pthread_cond_clockwait(w.condition, m, *w.clock, w.at);
}

// What other processes see of the condition variable has no room for the recorder.
record::wait begin_recorded(const real_wait& w) {
  using record::object_kind;
  return record::wait_begin(record::wait_kind::condition,
                            record::identify(object_kind::condition, 0, w.condition, nullptr), 0,
                            {w.caller, w.at != nullptr});
}

struct wait_in_progress {
  const real_wait& of;
  gate* passed;  // null: the mutex is glibc's
  record::wait recorded{};

  void begin() {
    if (record::enabled) recorded = begin_recorded(of);
  }
  // `result`: of the C library's wait, which looks at times and clocks, and at whether the mutex
  // may be released, before it waits.
  int leave(int result) noexcept {
    const bool is_refused = result == EINVAL || result == EPERM;
    if (is_refused) record::wait_refused(recorded);
    else if (record::enabled) record::wait_end_now(recorded);
    if (passed == nullptr) return 0;
    passed->open();
    return lock_mutex(of.mutex, {}, record::wait_kind::mutex_relock, of.caller);
  }
};

// Runs when the thread is canceled in glibc's wait, which has its mutex again.
void canceled(void* argument) { static_cast<wait_in_progress*>(argument)->leave(0); }

void wait_cancelable(wait_in_progress& w, pthread_mutex_t* m, int* result) {
  pthread_cleanup_push(canceled, &w);
  *result = call_real(w.of, m);
  pthread_cleanup_pop(0);
}

template <class Signal>
int pass(pthread_cond_t* c, Signal signal) noexcept {
  gate& g = gate_of(c);
  g.close();
  const int result = signal(c);
  g.open();
  return result;
}

}  // namespace

int wait_for_real(const real_wait& call) {
  if (!record::enabled) return call_real(call, call.mutex);
  wait_in_progress w{call, nullptr};
  w.begin();
  int result;
  wait_cancelable(w, call.mutex, &result);
  w.leave(result);
  return result;
}

int wait_at_gate(const real_wait& call) {
  wait_in_progress w{call, &gate_of(call.condition)};
  w.passed->close();
  if (const int error = unlock_mutex(call.mutex); error != 0) {
    w.passed->open();
    return error;
  }
  w.begin();
  int result;
  wait_cancelable(w, &w.passed->mutex, &result);
  const int error = w.leave(result);
  return error != 0 ? error : result;
}

int signal_at_gate(pthread_cond_t* c) noexcept { return pass(c, real::pthread_cond_signal); }

int broadcast_at_gate(pthread_cond_t* c) noexcept { return pass(c, real::pthread_cond_broadcast); }

void open_gates_after_fork() noexcept {
  for (gate& g : gates) g.mutex = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace syncopate::shim
