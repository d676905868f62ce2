// told.h -- what a language's own run-time library tells of: waits, releases and names that no call
// of pthread's shows. One table of functions, so that who tells (products/jvm) may use the recorder
// that is in the process already, or its own copy.
//
// Code and objects have numbers in place of addresses, which told lines name (described in
// syncopate/symbols/toldnames.py). While a thread is in a told wait, what it waits for below, as
// the run-time library's own condition variables, is a part of that and not recorded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/format.h"

namespace syncopate::record {

struct told_wait {
  wait_kind kind;
  object_kind object;
  std::uint64_t address;  // the object's number
  std::uint32_t stack;    // stack id, 0: none
  std::uint32_t holder;   // kernel thread id, 0: not known
  bool timed, has_owner;
  std::uint32_t holder_stack = 0;  // where that is, of a wait that began before the recording
};

struct telling {
  std::uint32_t version;  // 3
  // As recorder.h's start(), and the end of a recording after which the process goes on.
  bool (*start)(const char* path, const char* lock_name);
  void (*finish)(bool detached);
  bool (*is_recording)();
  // Lines for the record; each ends with a newline.
  void (*names)(const char* lines, std::size_t bytes);
  // Whether the calling thread may pay for the stack of its next wait, or release.
  bool (*wants_stack)(bool of_release);
  std::uint32_t (*stack_id)(const std::uint64_t* numbers, unsigned depth);
  void (*wait_begins)(const told_wait&);
  // `stack`: of the wait, where it had none. Whether such a one is wanted, wait_is_long() says.
  bool (*wait_is_long)();
  // `holder`, `holder_stack`: who was seen to hold the lock meanwhile, and where; 0: nobody.
  void (*wait_ends)(std::uint32_t stack, std::uint32_t holder, std::uint32_t holder_stack);
  // Before that: the wait's time limit is over, so that the thread has no lock.
  void (*wait_fails)();
  // Another thread of the process runs, and has told nothing itself.
  void (*thread_runs)(std::uint32_t thread);
  // The same, and it has waited since before the recording. When it goes on, it may say so by
  // wait_ends(); else who lets it go on says it, or who sees that it did: `just_now`, or nobody
  // knows when.
  void (*waits_already)(std::uint32_t thread, const told_wait&);
  void (*goes_on)(std::uint32_t thread, bool just_now);
  // The calling thread lets go of a lock, or posts a semaphore, for which another waits.
  void (*releases)(object_kind, std::uint64_t address, std::uint32_t stack);
  // The calling thread is one of the record's; it ends.
  void (*thread_begins)();
  void (*thread_ends)();
};

extern const telling told;

// Who knows what an interpreter's functions are at: on the machine's stack there is only the
// interpreter. Set once, by who can ask it.
struct interpreter {
  // The functions that the calling thread is in, innermost first, as numbers that told lines name;
  // returns how many, 0 where it may not be asked now.
  unsigned (*frames)(std::uint64_t (&found)[stack_depth]);
  // How many of these return addresses, innermost first, lie between the interpreter's functions
  // and the call; 0: nothing may be asked there.
  unsigned (*calls)(const std::uint64_t* pc, unsigned depth);
};
extern constinit const interpreter* asked_interpreter;
// Lines as of telling::names, by it while it is asked.
void tell_names(const char* lines, std::size_t bytes) noexcept;

// What is recorded meanwhile is a call of the interpreter's, between two steps of its own: the
// stacks of it have its functions in them.
class interpreter_calls {
 public:
  explicit interpreter_calls(bool it_does) noexcept;
  ~interpreter_calls();
  interpreter_calls(const interpreter_calls&) = delete;
  interpreter_calls& operator=(const interpreter_calls&) = delete;
};

// In such a call: the thread is about to wait, and the interpreter can be asked only before it
// does. What that says is kept for the stack of the wait, until forget_frames().
void keep_frames() noexcept;
void forget_frames() noexcept;

}  // namespace syncopate::record
