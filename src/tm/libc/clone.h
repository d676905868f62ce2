// clone.h -- a function and, written apart from it, its clone for transactions.
//
// In a transaction, the compiler calls f's clone by the name _ZGTt<length of f><f>, or looks it up
// in the clone table when it calls through a pointer. It makes clones from f's source; these files
// are compiled without -fgnu-tm and say by hand what the clone does, so that f itself can be the C
// library's function. Clones reach the program's memory by the compilers' interface alone: they
// run on any libitm.so.1.
//
// A clone may not come to its end: where the transaction begins again, no destructor runs. So it
// holds nothing but memory of _ITM_malloc(), which the transaction gives back itself.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

extern "C" {
std::uint8_t _ITM_RU1(const std::uint8_t*);
std::uint32_t _ITM_RU4(const std::uint32_t*);
std::uint64_t _ITM_RU8(const std::uint64_t*);
void _ITM_WU4(std::uint32_t*, std::uint32_t);
void _ITM_WU8(std::uint64_t*, std::uint64_t);
// Log what is there, to be put back on roll-back.
void _ITM_LU4(const std::uint32_t*);
void _ITM_LB(const void*, std::size_t);
void _ITM_memcpyRtWn(void*, const void*, std::size_t);
void _ITM_memcpyRnWt(void*, const void*, std::size_t);
void _ITM_memcpyRtWt(void*, const void*, std::size_t);
void _ITM_memsetW(void*, int, std::size_t);
void* _ITM_malloc(std::size_t);
void _ITM_free(void*);
std::uint32_t _ITM_inTransaction();
void _ITM_changeTransactionMode(int);
void* _ITM_getTMCloneOrIrrevocable(void*);
}

namespace syncopate::tm {
inline constexpr int serial_irrevocable = 0;  // alone, from its beginning

struct clone_table_entry {
  void* original;
  void* clone;
};

// errno as the transaction has it: where its writes wait for the commit, the program's own do too.
inline std::uint32_t* place_of_errno() noexcept { return reinterpret_cast<std::uint32_t*>(&errno); }
inline int transactions_errno() noexcept { return static_cast<int>(_ITM_RU4(place_of_errno())); }
inline void set_transactions_errno(int value) noexcept {
  _ITM_WU4(place_of_errno(), static_cast<std::uint32_t>(value));
}

// Calls a function of the C library that reads or writes errno; it may not leave the transaction.
template <class Call>
auto with_errno(Call call) noexcept {
  const int mine = transactions_errno();
  const int outside = errno;
  errno = mine;
  const auto result = call();
  const int set = errno;
  errno = outside;
  if (set != mine) set_transactions_errno(set);
  return result;
}
}  // namespace syncopate::tm

// Declares NAME's clone clone_of_NAME, of the same type, and enters it in the clone table.
// LENGTH is that of NAME.
#define SYNCOPATE_TM_CLONE(NAME, LENGTH)                                \
  extern "C" decltype(NAME) clone_of_##NAME asm("_ZGTt" #LENGTH #NAME); \
  [[gnu::section(".tm_clone_table"), gnu::used]] alignas(               \
      8) static syncopate::tm::clone_table_entry entry_of_##NAME = {    \
      reinterpret_cast<void*>(NAME), reinterpret_cast<void*>(clone_of_##NAME)}
