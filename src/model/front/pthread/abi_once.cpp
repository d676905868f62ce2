// abi_once.cpp -- pthread_once, C11's call_once, and the C++ compiler's guards of static local
// variables: who comes second waits through the machine, and sees what the first has done.
//
// Memory order (each tag stands at its site below)
//   [G]  release store of the guard when the variable is made, acquire load: who finds it made sees
//        it.

#include <cxxabi.h>

#include <pthread.h>
#include <threads.h>

#include "model/front/libc/libc_range.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"
#include "model/front/pthread/real.h"

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

namespace {

// Leaves the word untouched for the next caller when the routine is left by an exception (as
// std::call_once needs) or the thread is canceled inside.
class once_run {
 public:
  once_run(std::uint32_t& word, engine::place where) : word_(word), where_(where) {}
  ~once_run() { objects::once_end(word_, done_, where_); }
  once_run(const once_run&) = delete;
  once_run& operator=(const once_run&) = delete;
  void done() { done_ = true; }

 private:
  std::uint32_t& word_;
  engine::place where_;
  bool done_ = false;
};

constexpr std::uint32_t finished = 2;  // as in the C library

void run_once(std::uint32_t& word, void (*routine)(), engine::place where) {
  if (is_of_library(&word)) {
    if (word == finished) return;
    routine();
    word = finished;
    return;
  }
  if (!objects::once_begin(word, where)) return;
  once_run run(word, where);
  routine();
  run.done();
}

// The guard's first byte is the compiler's: code reads it with acquire order before it calls. The
// second half is ours.
unsigned char* flag_of(__cxxabiv1::__guard* guard) {
  return reinterpret_cast<unsigned char*>(guard);
}
std::uint32_t& word_of(__cxxabiv1::__guard* guard) {
  return reinterpret_cast<std::uint32_t*>(guard)[1];
}
static_assert(sizeof(__cxxabiv1::__guard) == 8);

}  // namespace

SYNCOPATE_EXPORT int pthread_once(pthread_once_t* control, void (*routine)()) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_once, control, routine);
  run_once(reinterpret_cast<std::uint32_t&>(*control), routine, SYNCOPATE_CALLER);
  return 0;
}

SYNCOPATE_EXPORT void call_once(once_flag* control, void (*routine)()) {
  if (!in_program()) return SYNCOPATE_REAL(call_once)(control, routine);
  run_once(reinterpret_cast<std::uint32_t&>(*control), routine, SYNCOPATE_CALLER);
}

namespace __cxxabiv1 {

SYNCOPATE_EXPORT int __cxa_guard_acquire(__guard* guard) {
  SYNCOPATE_UNLESS_PROGRAM(__cxa_guard_acquire, guard);
  const engine::place where = SYNCOPATE_CALLER;
  const auto done = on_engine([&] {
    return engine::load(at(flag_of(guard)), 1, std::memory_order_acquire, where);  // [G]
  });
  return done == 0 && objects::once_begin(word_of(guard), where) ? 1 : 0;
}

SYNCOPATE_EXPORT void __cxa_guard_release(__guard* guard) noexcept {
  if (!in_program()) return SYNCOPATE_REAL(__cxa_guard_release)(guard);
  const engine::place where = SYNCOPATE_CALLER;
  on_engine(
      [&] { engine::store(at(flag_of(guard)), 1, 1, std::memory_order_release, where); });  // [G]
  objects::once_end(word_of(guard), true, where);
}

SYNCOPATE_EXPORT void __cxa_guard_abort(__guard* guard) noexcept {
  if (!in_program()) return SYNCOPATE_REAL(__cxa_guard_abort)(guard);
  objects::once_end(word_of(guard), false, SYNCOPATE_CALLER);
}

}  // namespace __cxxabiv1
