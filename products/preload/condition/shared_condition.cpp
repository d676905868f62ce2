// shared_condition.cpp -- see shared_condition.h.

#include "preload/condition/shared_condition.h"

#include <cstddef>
#include <cstdint>

#include "preload/base/real.h"

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

struct wait_in_progress {
  gate& passed;
  pthread_mutex_t* mutex;
};

int leave(wait_in_progress& w) noexcept {
  w.passed.open();
  return lock_mutex(w.mutex, nullptr, record::wait_kind::mutex_relock);
}

// Runs when the thread is canceled in glibc's wait, which has closed the gate again.
void canceled(void* argument) { leave(*static_cast<wait_in_progress*>(argument)); }

int wait_for_real(pthread_cond_t* c, gate& g, clockid_t clock, const timespec* at) {
  if (at == nullptr) return real::pthread_cond_wait(c, &g.mutex);
  if (clock < 0) return real::pthread_cond_timedwait(c, &g.mutex, at);
  return real::pthread_cond_clockwait(c, &g.mutex, clock, at);
}

void wait_cancelable(pthread_cond_t* c, wait_in_progress& w, clockid_t clock, const timespec* at,
                     int* result) {
  pthread_cleanup_push(canceled, &w);
  *result = wait_for_real(c, w.passed, clock, at);
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

int wait_at_gate(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const timespec* at) {
  wait_in_progress w{gate_of(c), m};
  w.passed.close();
  if (const int error = unlock_mutex(m); error != 0) {
    w.passed.open();
    return error;
  }
  int result;
  wait_cancelable(c, w, clock, at, &result);
  const int error = leave(w);
  return error != 0 ? error : result;
}

int signal_at_gate(pthread_cond_t* c) noexcept { return pass(c, real::pthread_cond_signal); }

int broadcast_at_gate(pthread_cond_t* c) noexcept { return pass(c, real::pthread_cond_broadcast); }

void open_gates_after_fork() noexcept {
  for (gate& g : gates) g.mutex = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace syncopate::shim
