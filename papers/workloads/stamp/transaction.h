// transaction.h -- the seam between the STAMP-like programs and what makes their transactions
// atomic.
//
//     TRANSACTION {
//       found = table.insert(key);
//     };
//
// The block is one transaction. The same source is built
//   * with -fgnu-tm: the block is a __transaction_atomic block of the compiler, whose run-time
//     library (libitm's interface) decides how;
//   * without: the block is a critical section under one global lock, which the program chooses
//     when it starts: none at all (sequential), any lock of locks/all.h by name, or one that
//     elides;
//   * with STAMP_LIBRARY_TM: the block is a transaction of libitm's interface, and so is each
//   access
//     to a shared<T> (library_transaction.h): for modeled machines.
//
// Rules, so that all forms mean the same:
//   * no return, break, continue or goto out of the block; results leave it in variables that the
//     block itself sets, since a transaction that is tried again runs it from its start;
//   * data that other threads may write at the time is declared shared<T>, and only values of it
//     are taken, no references: the library form makes each access a call. Otherwise it is T;
//   * what a block calls is a template or inline function of ours (the compiler must see it), or is
//     marked TRANSACTION_PURE: then its accesses are not part of the transaction. Legal for what is
//     constant, private to the thread, or checked again by transactional reads afterwards; never
//     for what the same transaction has written by itself, which a redo log still holds. GCC
//     inlines nothing into such a function that is not marked, too: where its work takes calls, it
//     is one call to an unmarked function that does it.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#ifdef STAMP_GNU_TM
#define TRANSACTION __transaction_atomic
#define TRANSACTION_PURE __attribute__((transaction_pure))
namespace workloads::stamp {
constexpr bool built_with_gnu_tm = true;
}
#elif defined(STAMP_LIBRARY_TM)
#include "library_transaction.h"
#define TRANSACTION \
  if (const workloads::stamp::library_transaction held_here(_ITM_beginTransaction(1)); true)
#define TRANSACTION_PURE
namespace workloads::stamp {
constexpr bool built_with_gnu_tm = true;
}
#else
#define TRANSACTION if (const workloads::stamp::critical_section held_here; true)
#define TRANSACTION_PURE
namespace workloads::stamp {
constexpr bool built_with_gnu_tm = false;
}
#endif

namespace workloads::stamp {

#ifdef STAMP_LIBRARY_TM
template <class T>
using shared = tracked<T>;
#else
template <class T>
using shared = T;
// What a TRANSACTION_PURE function that reads shared<T>s begins with: while one exists, they are
// read as what they are in the library form, too.
struct untracked {
  ~untracked() {}  // used, as far as compilers see
};
#endif

// An array of `count` uninitialized elements, and its end. (new T[count] is not allowed in
// transactions: it may call what throws bad_array_new_length.)
template <class T>
T* new_array(std::size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  return static_cast<T*>(::operator new(count * sizeof(T)));
}
template <class T>
void delete_array(T* array) {
  ::operator delete(array);
}

// Whether there is a global lock; set before threads start.
extern bool has_global_lock;
void lock_globally();
void unlock_globally();

class critical_section {
 public:
  critical_section() {
    if (has_global_lock) lock_globally();
  }
  ~critical_section() {
    if (has_global_lock) unlock_globally();
  }
  critical_section(const critical_section&) = delete;
  critical_section& operator=(const critical_section&) = delete;
};

}  // namespace workloads::stamp
