// critical_sections.h -- tells a machine that asks which locks of pthread the program's threads
// hold, and what they call meanwhile that no hardware transaction survives.
#pragma once

#include "model/front/engine.h"
#include "model/front/threads/fiber.h"

namespace syncopate::instrument {

// Called in the thread that acts, within an engine_scope. Must not switch fibers.
class section_observer {
 public:
  virtual void begun(engine::address lock, bool shared, engine::place where) = 0;  // held now
  virtual void ended(engine::address lock) = 0;                                    // released next
  virtual void called(const char* function, engine::place where) = 0;
  // From `true` to `false` the thread's accesses are those of a lock's algorithm.
  virtual void in_lock_code(bool) = 0;

 protected:
  ~section_observer() = default;
};

// From now on; null: nobody. Without one, what follows does nothing.
void observe_sections(section_observer*);

void section_begun(const volatile void* lock, bool shared, engine::place where);
void section_ended(const volatile void* lock);
// By the program, also through the C++ library; function: a literal.
void section_called(const char* function, engine::place where);
// The same for what enters the kernel at once; a hardware transaction of the program ends there.
void end_transaction(const char* function, engine::place where);

// The lock that a thread is taking, by a call of pthread's that has not returned yet; null: none.
struct lock_call {
  const volatile void* lock = nullptr;
  const int* owner = nullptr;  // where a mutex notes its holder's gettid(), or 0
  bool timed = false;          // returns by itself
  unsigned number = 0;         // of the thread's calls on locks
};
lock_call running_lock_call(const fiber*) noexcept;  // of a fiber that may have been suspended

enum class lock_kind : unsigned char { mutex, other };
void lock_code_runs(bool, const volatile void* taken = nullptr, lock_kind = lock_kind::other,
                    bool timed = false);

// Around what a lock does for itself. For instrumented code, which must not see how it is decided.
class lock_code {
 public:
  lock_code() { lock_code_runs(true); }
  lock_code(const volatile void* taken, lock_kind kind, bool timed) {
    lock_code_runs(true, taken, kind, timed);
  }
  ~lock_code() { lock_code_runs(false); }
  lock_code(const lock_code&) = delete;
  lock_code& operator=(const lock_code&) = delete;
};

}  // namespace syncopate::instrument
