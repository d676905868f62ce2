// hash_bytes.cpp -- libstdc++'s function behind std::hash<std::string>: what it reads is
// announced.
#include "model/front/libc/libc_range.h"

SYNCOPATE_EXPORT std::size_t syncopate_hash_bytes(const void* from, std::size_t bytes,
                                                  std::size_t seed) asm("_ZSt11_Hash_bytesPKvmm");

std::size_t syncopate_hash_bytes(const void* from, std::size_t bytes, std::size_t seed) {
  using namespace syncopate;
  using hash_bytes = std::size_t(const void*, std::size_t, std::size_t);
  static auto* const real =
      reinterpret_cast<hash_bytes*>(dlsym(RTLD_NEXT, "_ZSt11_Hash_bytesPKvmm"));
  const void* const where = SYNCOPATE_CALLER;
  if (instrument::by_program(where)) {
    instrument::announce(from, bytes, engine::kind::read, where);
  }
  return real(from, bytes, seed);
}
