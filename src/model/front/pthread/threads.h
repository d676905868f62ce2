// threads.h -- the threads of a program on a modeled machine, as pthread shows them.
//
// A pthread_t is the address of a record here, from a fixed table: handles are the same in every
// run, stay valid until the thread was joined (the C library's thread-control blocks are reused as
// soon as a fiber ends), and what is no handle is recognized (ESRCH).
//
// Memory order (each tag stands at its site below)
//   [S]  acq_rel RMW of a record's status, acquire load, release store when it is free again: whose
//        record it is sees what the owner before left.
//   [G]  relaxed look: decides only what [S] expects; or one's own.
//   [H]  relaxed: records above the highest are unused; one that is made meanwhile belongs to a
//        thread that nobody waits for yet.
//   [P]  relaxed: a place stands for itself; who finds none asks the linker.
//   [E]  relaxed as the record is made; acquire load by who joins, of what the end has posted.
//   [Q]  seq_cst: once in a thread's life, or in its cancellation, where a request and the
//        announcement of a sleep must not miss each other (exit.cpp). Weaker ones would save
//        nothing.
#pragma once

#include <syncopate/machine/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <pthread.h>
#include <unwind.h>

#include "model/front/pthread/on_engine.h"
#include "model/front/threads/fiber.h"

namespace syncopate::instrument {

// Runs the program's main on the calling fiber as thread 0, with no other threads known: whatever
// an earlier execution of the program left is forgotten. Returns its status; if main leaves by
// pthread_exit, 0 when all other threads have ended.
int run_main_thread(int (*program)());

// The place on a thread's stack that leaving it unwinds to.
struct thread_root;

// A line of its own: what one thread writes into its record is no business of the next.
struct alignas(64) thread_record {
  // owner says who will free the record; `leaving` is set by the thread once it counts as ended.
  enum owner : std::uint32_t { unused = 0, joinable = 1, joining = 2, detached = 3 };
  static constexpr std::uint32_t owner_mask = 3, leaving = 4;

  static constexpr std::size_t name_bytes = 16, affinity_bytes = 128;

  std::atomic<std::uint32_t> status;
  std::uint32_t ended;  // posix::announce_end; every access through the machine
  unsigned index;       // the engine's
  void* (*routine)(void*);
  int (*c11_routine)(void*);  // where routine is null: a thread of thrd_create
  void* argument;
  void* result;
  const fiber* runs_on;

  thread_root* root;
  __pthread_unwind_buf_t* cleanup;  // handlers of C programs, innermost first
  _Unwind_Exception unwinding;

  std::atomic<bool> cancel_pending;
  bool cancel_disabled, cancel_at_once;
  std::atomic<const void*> sleeps_on;  // while it may be canceled in its sleep

  std::uint64_t signal_mask;  // at its begin: its maker's

  bool is_client;  // program/client.h; as its maker

  char name[name_bytes];
  bool has_affinity;
  unsigned char affinity[affinity_bytes];
};

thread_record& self_record();  // of the calling thread

// The record behind a handle; null for what is no handle of a thread that can still be asked about.
thread_record* find_record(pthread_t thread);
// Whether this is `ended` of some record, in use or not: what joins await.
bool is_end_of_thread(engine::address word);
// Which record a place is in; 0 is main's. Nothing where it is in none. Of threads that are over
// others may have taken it since.
std::optional<std::size_t> record_with(engine::address place);
inline pthread_t handle_of(const thread_record& r) { return reinterpret_cast<pthread_t>(&r); }

// pthread_create with one routine, thrd_create with the other; the one that is not given is null.
int start_thread(pthread_t* handle, const pthread_attr_t* attributes, void* (*routine)(void*),
                 int (*c11_routine)(void*), void* argument, engine::place where);

// Waits for the end and frees the record; ETIMEDOUT when `until` has passed first.
int join_thread(pthread_t thread, void** result, const machine::deadline* until,
                engine::place where);

// ---- exit.cpp -----------------------------------------------------------------------------------

// Calls record.routine with a root below it; returns when that has returned or the thread has left.
void call_with_root(thread_record&);

// Unwinds the calling thread's stack to its root.
[[noreturn]] void leave(thread_record&, void* result);

// What follows the unwinding: destructors, then nothing ever again.
[[noreturn]] void end_thread(thread_record&);

// Whether another thread than the caller may still run.
bool has_other_threads();

// Waits until every thread but the caller has ended (main has called pthread_exit).
void wait_for_all_others(const thread_record&);

}  // namespace syncopate::instrument
