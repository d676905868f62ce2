// exceptions.cpp -- exceptions thrown and caught in transactions: counted, so that a transaction
// that rolls back leaves the C++ library as it found it (tm/logs/exceptions.h).
#include "tm/logs/exceptions.h"
#include "abi.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

using namespace syncopate::tm;

extern "C" {
[[gnu::weak]] void* __cxa_allocate_exception(std::size_t) noexcept;
[[gnu::weak]] void __cxa_free_exception(void*) noexcept;
[[gnu::weak]] void __cxa_throw(void*, void*, void (*)(void*));
[[gnu::weak]] void* __cxa_begin_catch(void*) noexcept;
[[gnu::weak]] void __cxa_end_catch();
// std::current_exception() and the end of what it returns, whose content is one pointer.
[[gnu::weak]] void _ZSt17current_exceptionv(void** result) noexcept;
[[gnu::weak]] void _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(void** held) noexcept;
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

// The exception lives until the transaction has committed: its destructor is plain code, which
// frees what the transaction has allocated, and could not be taken back. If the transaction rolls
// back, its memory alone is freed. Returns whether that can be done.
bool destroy_later(transaction* tx, block& b) {
  if (_ZSt17current_exceptionv == nullptr ||
      _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv == nullptr)
    return false;
  void* held = nullptr;
  _ZSt17current_exceptionv(&held);
  b.release = __cxa_free_exception;
  const auto destroy = [](void* exception) {
    _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(&exception);
  };
  tx->not_plain();
  if (!tx->on_commit.add(destroy, held)) restart(tx, cause::memory);
  return true;
}

}  // namespace

// GCC's library makes a standard exception so: it copies an empty one there by _ITM_memcpyRnWt, and
// then stores the pointer to the message plainly. A redo log would write the empty one over it.
bool syncopate::tm::copy_to_exception(transaction* tx, void* to, const void* from,
                                      std::size_t size) noexcept {
  const auto at = reinterpret_cast<address>(to);
  const auto holds = [&](const block& b) {
    return b.release == left_to_library && at - reinterpret_cast<address>(b.at) < b.size;
  };
  if (std::none_of(tx->allocated.begin(), tx->allocated.end(), holds)) return false;
  tx->writes.flush(at, size);  // what was logged for these bytes is older
  std::memcpy(to, from, size);
  return true;
}

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
    block* const freed = freed_by_end_catch(tx);
    if (freed != nullptr && !destroy_later(tx, *freed)) forget_exception(tx, *freed);
  }
  __cxa_end_catch();
}
