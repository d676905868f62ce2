// exceptions.cpp -- exceptions thrown and caught in transactions: counted, so that a transaction
// that rolls back leaves the C++ library as it found it (tm/logs/exceptions.h).
#include "tm/logs/exceptions.h"
#include "abi.h"

#include <cstdlib>

#include <dlfcn.h>

using namespace syncopate::tm;

extern "C" {
[[gnu::weak]] void* __cxa_allocate_exception(std::size_t) noexcept;
[[gnu::weak]] void __cxa_free_exception(void*) noexcept;
[[gnu::weak]] void __cxa_throw(void*, void*, void (*)(void*));
[[gnu::weak]] void* __cxa_begin_catch(void*) noexcept;
[[gnu::weak]] void __cxa_end_catch();
}

namespace {

// The C++ library frees exceptions. They are listed among what the transaction has allocated so
// that no log outlives them.
void left_to_library(void*) {}

// What the transaction has written to its exceptions goes to memory: the C++ library looks there.
void settle(transaction* tx) noexcept {
  for (const block& b : tx->allocated)
    if (b.release == left_to_library) tx->writes.flush(reinterpret_cast<address>(b.at), b.size);
}

// Before the transaction's first exception.
void prepare(transaction* tx) noexcept {
  tx->not_plain();
  note_exceptions(tx->eh);
}

// What the C++ library has before each exception (Itanium C++ ABI, section 2.2.1).
struct header {
  void *type, *destroy, *unexpected, *terminate, *next;
  int handlers;  // negative: thrown on
};
constexpr address header_size = 128;  // at most

// The exception that the end of the innermost handler frees, or null.
block* freed_by_end_catch(transaction* tx) noexcept {
  const auto* const top = static_cast<const header*>(__cxa_get_globals()->caught);
  if (top == nullptr || top->handlers != 1) return nullptr;
  for (block& b : tx->allocated)
    if (b.release == left_to_library && b.size != 0 &&
        reinterpret_cast<address>(b.at) - reinterpret_cast<address>(top) <= header_size)
      return &b;
  return nullptr;
}

// The exception is about to be freed, and its memory will be something else.
void forget_exception(transaction* tx, block& b) noexcept {
  settle(tx);
  tx->reads.drop(reinterpret_cast<address>(b.at), b.size);
  tx->undo.blank(reinterpret_cast<address>(b.at), b.size);
  b.size = 0;
}

}  // namespace

SYNCOPATE_ITM void* _ITM_cxa_allocate_exception(std::size_t size) {
  transaction* const tx = current;
  const bool inside = tx->depth != 0;
  if (inside) prepare(tx);
  void* const exception = __cxa_allocate_exception(size);
  if (!inside) return exception;
  if (!cannot_roll_back(tx->how) && !tx->allocated.add(exception, size, left_to_library)) {
    __cxa_free_exception(exception);
    restart(tx, cause::memory);
  }
  tx->eh.unthrown = exception;
  return exception;
}

SYNCOPATE_ITM void _ITM_cxa_free_exception(void* exception) {
  if (transaction* const tx = current; tx->eh.unthrown == exception) tx->eh.unthrown = nullptr;
  __cxa_free_exception(exception);
}

SYNCOPATE_ITM void _ITM_cxa_throw(void* exception, void* type, void (*destroy)(void*)) {
  if (transaction* const tx = current; tx->depth != 0) {
    tx->eh.unthrown = nullptr;
    settle(tx);
  }
  __cxa_throw(exception, type, destroy);
}

SYNCOPATE_ITM void* _ITM_cxa_begin_catch(void* exception) {
  if (transaction* const tx = current; tx->depth != 0) {
    prepare(tx);
    ++tx->eh.caught;
  }
  return __cxa_begin_catch(exception);
}

SYNCOPATE_ITM void _ITM_cxa_end_catch() {
  if (transaction* const tx = current; tx->eh.caught != 0) {
    --tx->eh.caught;
    if (block* const freed = freed_by_end_catch(tx)) forget_exception(tx, *freed);
  }
  __cxa_end_catch();
}
