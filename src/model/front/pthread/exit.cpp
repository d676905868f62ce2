// exit.cpp -- threads that leave early: pthread_exit and cancellation.
//
// As in the C library, a thread leaves by a forced unwinding of its stack (_Unwind_ForcedUnwind):
// destructors and `catch (...)` blocks run on the way, and such a block must rethrow. Cleanup
// handlers of C programs compiled without exceptions are jumped to when the unwinding passes the
// function that registered them. At the thread's first frame it jumps to call_with_root.
//
// Beyond the C library: nothing. Missing: asynchronous cancellation (PTHREAD_CANCEL_ASYNCHRONOUS is
// remembered, and acts where deferred cancellation does, and when a thread cancels itself), and
// cancellation inside the C library's own functions.
//
// Memory order (each tag stands at its site below)
//   [K]  relaxed: a request, without anything that belongs to it.
//   [Q]  seq_cst: a sleep is announced before the request is looked for, a request is made before
//        the announcement is looked for: one of the two sees the other.

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdlib>

#include "model/front/libc/call_memory.h"
#include "model/front/program/layout.h"
#include "model/front/program/program_exit.h"
#include "model/front/pthread/cancel.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/real.h"
#include "model/front/pthread/threads.h"
#include "model/front/threads/arch.h"
#include "model/front/threads/thread_exit.h"

namespace syncopate::instrument {

struct thread_root {
  std::jmp_buf here;
};

namespace {

// Whether the unwinding has reached the function in whose frame the object lies: stacks grow down.
bool has_reached(_Unwind_Context* context, int actions, const void* object) {
  return (actions & _UA_END_OF_STACK) != 0 ||
         _Unwind_GetCFA(context) > reinterpret_cast<_Unwind_Word>(object);
}

_Unwind_Reason_Code stop_at(int /*version*/, _Unwind_Action actions, _Unwind_Exception_Class,
                            _Unwind_Exception*, _Unwind_Context* context, void* parameter) {
  thread_record& r = *static_cast<thread_record*>(parameter);
  if (r.cleanup != nullptr && has_reached(context, actions, r.cleanup))
    std::longjmp(reinterpret_cast<__jmp_buf_tag*>(r.cleanup->__cancel_jmp_buf), 1);
  if (has_reached(context, actions, r.root)) std::longjmp(r.root->here, 1);
  return _URC_NO_REASON;
}

void not_rethrown(_Unwind_Reason_Code, _Unwind_Exception*) {
  ended_by = SIGABRT;
  on_engine([] {
    engine::finish(engine::end::abort, 128 + SIGABRT,
                   "a catch (...) block did not rethrow while its thread was leaving", nullptr);
  });
}

[[noreturn]] void unwind(thread_record& r) {
  r.unwinding.exception_class = 0;
  r.unwinding.exception_cleanup = not_rethrown;
  _Unwind_ForcedUnwind(&r.unwinding, stop_at, &r);
  std::abort();  // the unwinder found no way: broken unwind tables
}

// The main thread without a root (a start-up that did not call run_main_thread).
[[noreturn]] void leave_without_root(thread_record& r) {
  if (r.index != 0) end_thread(r);
  run_thread_exit_duties();
  wait_for_all_others(r);
  std::exit(0);
}

}  // namespace

[[gnu::noinline]] void call_with_root(thread_record& r) {
  thread_root root;
  r.root = &root;
  if (_setjmp(root.here) == 0) {
    const bool is_c11 = r.routine == nullptr;
    const std::uintptr_t result =
        syncopate_call_at(stack_of(r.runs_on).high - layout::before_thread,
                          is_c11 ? reinterpret_cast<const void*>(r.c11_routine)
                                 : reinterpret_cast<const void*>(r.routine),
                          reinterpret_cast<std::uintptr_t>(r.argument), 0, 0);
    r.result = reinterpret_cast<void*>(is_c11 ? std::intptr_t{static_cast<int>(result)}
                                              : static_cast<std::intptr_t>(result));
  }
  r.root = nullptr;
}

void leave(thread_record& r, void* result) {
  r.result = result;
  r.cancel_disabled = true;
  if (r.root == nullptr) leave_without_root(r);
  unwind(r);
}

bool is_canceled() {
  const thread_record& r = self_record();
  return __builtin_expect(r.cancel_pending.load(std::memory_order_relaxed), 0) &&
         !r.cancel_disabled;  // [K]
}

void test_cancel() {
  if (is_canceled()) leave(self_record(), PTHREAD_CANCELED);
}

void cancelable_sleep_begin(const void* address) {
  self_record().sleeps_on.store(address, std::memory_order_seq_cst);  // [Q]
  test_cancel();
}

void cancelable_sleep_end() {
  self_record().sleeps_on.store(nullptr, std::memory_order_seq_cst);  // [Q]
  test_cancel();
}

namespace {

// A thread that has announced its sleep may not sleep yet: it is woken until it has noticed. Other
// waits end as by a signal, and are begun again where they are no cancellation points.
void interrupt_sleep(thread_record& r, engine::place where) {
  if (r.sleeps_on.load(std::memory_order_seq_cst) == nullptr &&  // [Q]
      !r.cancel_disabled && on_engine([] { return engine::has_signals(); }))
    on_engine([&] { engine::interrupt(r.index); });
  for (;;) {
    const void* const address = r.sleeps_on.load(std::memory_order_seq_cst);  // [Q]
    if (address == nullptr || r.cancel_disabled) return;
    on_engine([&] {
      if (engine::wake(at(address), INT32_MAX, ~0u, where) == 0) engine::yield(where);
    });
  }
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT void pthread_exit(void* result) {
  if (!in_program()) SYNCOPATE_REAL(pthread_exit)(result);
  leave(self_record(), result);
}

SYNCOPATE_EXPORT int pthread_cancel(pthread_t thread) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_cancel, thread);
  thread_record* const r = find_record(thread);
  if (r == nullptr) return ESRCH;
  r->cancel_pending.store(true, std::memory_order_seq_cst);  // [Q]
  if (r != &self_record()) interrupt_sleep(*r, SYNCOPATE_CALLER);
  else if (r->cancel_at_once) test_cancel();
  return 0;
}

SYNCOPATE_EXPORT void pthread_testcancel() {
  if (!in_program()) return SYNCOPATE_REAL(pthread_testcancel)();
  test_cancel();
}

SYNCOPATE_EXPORT int pthread_setcancelstate(int state, int* before) {
  const results_of_call told(SYNCOPATE_CALLER, before);
  SYNCOPATE_UNLESS_PROGRAM(pthread_setcancelstate, state, before);
  if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE) return EINVAL;
  thread_record& r = self_record();
  if (before != nullptr)
    *before = r.cancel_disabled ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
  r.cancel_disabled = state == PTHREAD_CANCEL_DISABLE;
  if (r.cancel_at_once) test_cancel();
  return 0;
}

SYNCOPATE_EXPORT int pthread_setcanceltype(int type, int* before) {
  const results_of_call told(SYNCOPATE_CALLER, before);
  SYNCOPATE_UNLESS_PROGRAM(pthread_setcanceltype, type, before);
  if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS) return EINVAL;
  thread_record& r = self_record();
  if (before != nullptr)
    *before = r.cancel_at_once ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
  r.cancel_at_once = type == PTHREAD_CANCEL_ASYNCHRONOUS;
  if (r.cancel_at_once) test_cancel();
  return 0;
}

// Handlers of pthread_cleanup_push in C without -fexceptions. The first word of the padding links
// them, as in the C library.
SYNCOPATE_EXPORT void __pthread_register_cancel(__pthread_unwind_buf_t* buffer) {
  if (!in_program()) return SYNCOPATE_REAL(__pthread_register_cancel)(buffer);
  thread_record& r = self_record();
  buffer->__pad[0] = r.cleanup;
  r.cleanup = buffer;
}

SYNCOPATE_EXPORT void __pthread_unregister_cancel(__pthread_unwind_buf_t* buffer) {
  if (!in_program()) return SYNCOPATE_REAL(__pthread_unregister_cancel)(buffer);
  self_record().cleanup = static_cast<__pthread_unwind_buf_t*>(buffer->__pad[0]);
}

SYNCOPATE_EXPORT void __pthread_unwind_next(__pthread_unwind_buf_t* buffer) {
  if (!in_program()) SYNCOPATE_REAL(__pthread_unwind_next)(buffer);
  thread_record& r = self_record();
  r.cleanup = static_cast<__pthread_unwind_buf_t*>(buffer->__pad[0]);
  unwind(r);
}
