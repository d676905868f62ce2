// exceptions.h -- exceptions in transactions that roll back: those allocated and not thrown,
// thrown and not caught, caught and not yet left.
#pragma once

#include "tm/logs/memory.h"

// The C++ library's lists of a thread; it is there only in C++ programs.
extern "C" {
struct syncopate_eh_globals {
  void* caught;
  unsigned int uncaught;
};
[[gnu::weak]] syncopate_eh_globals* __cxa_get_globals() noexcept;
}

namespace syncopate::tm {

struct exceptions {
  void* in_flight = nullptr;  // leaves the transaction, which commits (commitTransactionEH)
  void* unthrown = nullptr;   // allocated; being constructed
  u32 caught = 0;             // handlers entered and not left
  u32 uncaught_before = 0;    // the C++ library's count before the transaction's first exception
  bool any = false;           // whether there was one
};

// To be called before the transaction allocates or catches an exception.
void note_exceptions(exceptions& now) noexcept;

// How many exceptions are thrown and not caught, by the C++ library's count.
u32 uncaught_exceptions() noexcept;

// Brings the C++ library's lists back to where they were at `before`.
void revert_exceptions(exceptions& now, const exceptions& before) noexcept;

}  // namespace syncopate::tm
