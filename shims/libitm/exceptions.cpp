// exceptions.cpp -- exceptions thrown and caught in transactions: counted, so that a transaction
// that rolls back leaves the C++ library as it found it (tm/parts/exceptions.h).
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

SYNCOPATE_ITM void* _ITM_cxa_allocate_exception(std::size_t size) {
  transaction* const tx = current;
  const bool inside = tx->depth != 0;
  if (inside) note_exceptions(tx->eh);
  void* const exception = __cxa_allocate_exception(size);
  if (inside) tx->eh.unthrown = exception;
  return exception;
}

SYNCOPATE_ITM void _ITM_cxa_free_exception(void* exception) {
  if (transaction* const tx = current; tx->eh.unthrown == exception)
    tx->eh.unthrown = nullptr;
  __cxa_free_exception(exception);
}

SYNCOPATE_ITM void _ITM_cxa_throw(void* exception, void* type, void (*destroy)(void*)) {
  if (current->depth != 0) current->eh.unthrown = nullptr;
  __cxa_throw(exception, type, destroy);
}

SYNCOPATE_ITM void* _ITM_cxa_begin_catch(void* exception) {
  if (transaction* const tx = current; tx->depth != 0) {
    note_exceptions(tx->eh);
    ++tx->eh.caught;
  }
  return __cxa_begin_catch(exception);
}

SYNCOPATE_ITM void _ITM_cxa_end_catch() {
  if (transaction* const tx = current; tx->eh.caught != 0) --tx->eh.caught;
  __cxa_end_catch();
}
