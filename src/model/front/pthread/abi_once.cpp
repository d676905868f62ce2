// abi_once.cpp -- pthread_once, C11's call_once, and the C++ compiler's guards of static local
// variables: who comes second waits through the machine, and sees what the first has done.
//
// Memory order (each tag stands at its site below)
//   [G]  release store of the guard when the variable is made, acquire load: who finds it made sees
//        it.

#include <cxxabi.h>

#include <cstdint>
#include <iterator>

#include <pthread.h>
#include <threads.h>

#include "model/front/libc/libc_range.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"
#include "model/front/pthread/real.h"
#include "posix/once.h"

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

namespace {

void run_once(std::uint32_t& word, void (*routine)(), engine::place where) {
  if (!is_of_library(&word)) return posix::call_once(objects::awaited_word{word, where}, routine);
  if (word == posix::once_done) return;
  routine();
  word = posix::once_done;
}

// The guard's first byte is the compiler's: code reads it with acquire order before it calls. The
// second half is ours.
unsigned char* flag_of(__cxxabiv1::__guard* guard) {
  return reinterpret_cast<unsigned char*>(guard);
}
objects::awaited_word word_of(__cxxabiv1::__guard* guard, engine::place where) {
  return {reinterpret_cast<std::uint32_t*>(guard)[1], where};
}
static_assert(sizeof(__cxxabiv1::__guard) == 8);

// A library's variable is made once for all executions, and no step of the program's: as run_once.
bool is_made_by_library(const __cxxabiv1::__guard* guard) {
  struct known {
    const void* guard;
    bool of_library;
  };
  static constinit known recent[64] = {};
  known& k = recent[reinterpret_cast<std::uintptr_t>(guard) / sizeof *guard % std::size(recent)];
  if (k.guard != guard) k = {guard, is_of_library(guard)};
  return k.of_library;
}

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
  if (is_made_by_library(guard)) return *flag_of(guard) == 0 ? 1 : 0;
  const engine::place where = SYNCOPATE_CALLER;
  const auto done = on_engine([&] {
    return engine::load(at(flag_of(guard)), 1, std::memory_order_acquire, where);  // [G]
  });
  return done == 0 && posix::begin_once(word_of(guard, where)) ? 1 : 0;
}

SYNCOPATE_EXPORT void __cxa_guard_release(__guard* guard) noexcept {
  if (!in_program()) return SYNCOPATE_REAL(__cxa_guard_release)(guard);
  if (is_made_by_library(guard)) {
    *flag_of(guard) = 1;
    return;
  }
  const engine::place where = SYNCOPATE_CALLER;
  on_engine(
      [&] { engine::store(at(flag_of(guard)), 1, 1, std::memory_order_release, where); });  // [G]
  posix::end_once(word_of(guard, where), true);
}

SYNCOPATE_EXPORT void __cxa_guard_abort(__guard* guard) noexcept {
  if (!in_program()) return SYNCOPATE_REAL(__cxa_guard_abort)(guard);
  if (is_made_by_library(guard)) return;
  posix::end_once(word_of(guard, SYNCOPATE_CALLER), false);
}

}  // namespace __cxxabiv1
