// allocation.cpp -- malloc, calloc, free, new and delete in transactions.
#include "abi.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>

using namespace syncopate::tm;

SYNCOPATE_ITM void _ITM_WU4(std::uint32_t* at, std::uint32_t value);

// The program's operators, where it is C++; the names are the compiler's.
extern "C" {
[[gnu::weak]] void* _Znwm(std::size_t);
[[gnu::weak]] void* _Znam(std::size_t);
[[gnu::weak]] void* _ZnwmRKSt9nothrow_t(std::size_t, const void*) noexcept;
[[gnu::weak]] void* _ZnamRKSt9nothrow_t(std::size_t, const void*) noexcept;
[[gnu::weak]] void _ZdlPv(void*) noexcept;
[[gnu::weak]] void _ZdaPv(void*) noexcept;
}

namespace {

// Enters the block among those to be freed on roll-back.
void* note(void* at, std::size_t size, free_function release) noexcept {
  transaction* const tx = current;
  if (at == nullptr || tx->depth == 0 || cannot_roll_back(tx->how)) return at;
  tx->not_plain();
  if (!tx->allocated.add(at, size, release)) {
    release(at);
    restart(tx, cause::memory);
  }
  if (tx->checkpoints.empty()) {
    tx->captured = reinterpret_cast<address>(at);
    tx->captured_size = size;
  }
  return at;
}

// What C's function has set errno to is the transaction's, like all that it writes.
template <class Allocate>
void* in_c(std::size_t size, Allocate allocate) noexcept {
  const int before = errno;
  void* const at = allocate();
  if (at == nullptr && current->depth != 0) {
    errno = before;
    _ITM_WU4(reinterpret_cast<std::uint32_t*>(&errno), ENOMEM);
  }
  return note(at, size, std::free);
}

void free_later(void* at, free_function release) noexcept {
  transaction* const tx = current;
  if (at == nullptr) return;
  if (tx->depth == 0 || cannot_roll_back(tx->how)) return release(at);
  tx->not_plain();
  if (!tx->freed.add(at, 0, release)) restart(tx, cause::memory);
}

}  // namespace

SYNCOPATE_ITM void* _ITM_malloc(std::size_t size) {
  return in_c(size, [=] { return std::malloc(size); });
}
SYNCOPATE_ITM void* _ITM_calloc(std::size_t count, std::size_t size) {
  return in_c(count * size, [=] { return std::calloc(count, size); });
}
SYNCOPATE_ITM void _ITM_free(void* at) { free_later(at, std::free); }

SYNCOPATE_ITM void* _ZGTtnwm(std::size_t size) { return note(_Znwm(size), size, _ZdlPv); }
SYNCOPATE_ITM void* _ZGTtnam(std::size_t size) { return note(_Znam(size), size, _ZdaPv); }
SYNCOPATE_ITM void* _ZGTtnwmRKSt9nothrow_t(std::size_t size, const void* tag) {
  return note(_ZnwmRKSt9nothrow_t(size, tag), size, _ZdlPv);
}
SYNCOPATE_ITM void* _ZGTtnamRKSt9nothrow_t(std::size_t size, const void* tag) {
  return note(_ZnamRKSt9nothrow_t(size, tag), size, _ZdaPv);
}
SYNCOPATE_ITM void _ZGTtdlPv(void* at) { free_later(at, _ZdlPv); }
SYNCOPATE_ITM void _ZGTtdlPvm(void* at, std::size_t) { free_later(at, _ZdlPv); }
SYNCOPATE_ITM void _ZGTtdlPvRKSt9nothrow_t(void* at, const void*) { free_later(at, _ZdlPv); }
SYNCOPATE_ITM void _ZGTtdlPvmRKSt9nothrow_t(void* at, std::size_t, const void*) {
  free_later(at, _ZdlPv);
}
SYNCOPATE_ITM void _ZGTtdaPv(void* at) { free_later(at, _ZdaPv); }
SYNCOPATE_ITM void _ZGTtdaPvRKSt9nothrow_t(void* at, const void*) { free_later(at, _ZdaPv); }
