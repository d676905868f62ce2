#include "model/front/libc/libc_copy.h"

#include <cstdint>
#include <cstring>

#include "model/front/pthread/real.h"

namespace syncopate::instrument {

namespace {

void* first_memcpy(void* to, const void* from, std::size_t n) {
  void* at = to;
  asm volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
  return to;
}
void* first_memmove(void* to, const void* from, std::size_t n) {
  auto* t = static_cast<volatile char*>(to);
  auto* f = static_cast<const volatile char*>(from);
  if (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) >= n) {
    return first_memcpy(to, from, n);
  }
  while (n-- != 0) t[n] = f[n];
  return to;
}
void* first_memset(void* to, int byte, std::size_t n) {
  void* at = to;
  asm volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(byte) : "memory");
  return to;
}

}  // namespace

constinit decltype(real_memcpy) real_memcpy = first_memcpy;
constinit decltype(real_memmove) real_memmove = first_memmove;
constinit decltype(real_memset) real_memset = first_memset;

namespace {

[[gnu::constructor(101)]] void find_real_functions() {
  real_memcpy = SYNCOPATE_REAL(memcpy);
  real_memmove = SYNCOPATE_REAL(memmove);
  real_memset = SYNCOPATE_REAL(memset);
}

}  // namespace

}  // namespace syncopate::instrument
