// accesses.cpp -- loads, stores and logs of every width and form.
//
// Widths of up to eight bytes jump to the algorithm's function for that width; the others go
// through blocks.
#include "abi.h"

#include <complex>

#include <immintrin.h>

using namespace syncopate::tm;

namespace {

template <std::size_t>
struct unsigned_of;
template <>
struct unsigned_of<4> {
  using type = u32;
};
template <>
struct unsigned_of<8> {
  using type = u64;
};

// Types of four or eight bytes that travel in vector registers.
template <class T>
using carrier = typename unsigned_of<sizeof(T)>::type;

template <class To, class From>
[[gnu::always_inline]] inline To as(From from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <class T>
const accesses<T>& table(const transaction* tx) noexcept {
  if constexpr (sizeof(T) == 1) return tx->ops->b1;
  else if constexpr (sizeof(T) == 2) return tx->ops->b2;
  else if constexpr (sizeof(T) == 4) return tx->ops->b4;
  else return tx->ops->b8;
}

void log(const void* at, std::size_t size) noexcept {
  transaction* const tx = current;
  if (cannot_roll_back(tx->how) || tx->depth == 0) return;
  if (!tx->undo.add_block(at, size)) restart(tx, cause::memory);
}

}  // namespace

#define SYNCOPATE_SMALL(NAME, TYPE)                         \
  SYNCOPATE_ITM TYPE _ITM_R##NAME(const TYPE* at) {         \
    transaction* const tx = current;                        \
    return table<TYPE>(tx).load(at, tx);                    \
  }                                                         \
  SYNCOPATE_ITM TYPE _ITM_RaR##NAME(const TYPE* at) {       \
    transaction* const tx = current;                        \
    return table<TYPE>(tx).load_again(at, tx);              \
  }                                                         \
  SYNCOPATE_ITM TYPE _ITM_RaW##NAME(const TYPE* at) {       \
    transaction* const tx = current;                        \
    return table<TYPE>(tx).load_own(at, tx);                \
  }                                                         \
  SYNCOPATE_ITM TYPE _ITM_RfW##NAME(const TYPE* at) {       \
    transaction* const tx = current;                        \
    return table<TYPE>(tx).load_for_write(at, tx);          \
  }                                                         \
  SYNCOPATE_ITM void _ITM_W##NAME(TYPE* at, TYPE value) {   \
    transaction* const tx = current;                        \
    table<TYPE>(tx).store(at, value, tx);                   \
  }                                                         \
  SYNCOPATE_ITM void _ITM_WaR##NAME(TYPE* at, TYPE value) { \
    transaction* const tx = current;                        \
    table<TYPE>(tx).store(at, value, tx);                   \
  }                                                         \
  SYNCOPATE_ITM void _ITM_WaW##NAME(TYPE* at, TYPE value) { \
    transaction* const tx = current;                        \
    table<TYPE>(tx).store_again(at, value, tx);             \
  }

#define SYNCOPATE_CARRIED(NAME, TYPE)                                                     \
  static TYPE load_##NAME(const TYPE* at,                                                 \
                          carrier<TYPE> (*access)(const carrier<TYPE>*, transaction*)) {  \
    return as<TYPE>(access(reinterpret_cast<const carrier<TYPE>*>(at), current));         \
  }                                                                                       \
  static void store_##NAME(TYPE* at, TYPE value,                                          \
                           void (*access)(carrier<TYPE>*, carrier<TYPE>, transaction*)) { \
    access(reinterpret_cast<carrier<TYPE>*>(at), as<carrier<TYPE>>(value), current);      \
  }                                                                                       \
  SYNCOPATE_ITM TYPE _ITM_R##NAME(const TYPE* at) {                                       \
    return load_##NAME(at, table<carrier<TYPE>>(current).load);                           \
  }                                                                                       \
  SYNCOPATE_ITM TYPE _ITM_RaR##NAME(const TYPE* at) {                                     \
    return load_##NAME(at, table<carrier<TYPE>>(current).load_again);                     \
  }                                                                                       \
  SYNCOPATE_ITM TYPE _ITM_RaW##NAME(const TYPE* at) {                                     \
    return load_##NAME(at, table<carrier<TYPE>>(current).load_own);                       \
  }                                                                                       \
  SYNCOPATE_ITM TYPE _ITM_RfW##NAME(const TYPE* at) {                                     \
    return load_##NAME(at, table<carrier<TYPE>>(current).load_for_write);                 \
  }                                                                                       \
  SYNCOPATE_ITM void _ITM_W##NAME(TYPE* at, TYPE value) {                                 \
    store_##NAME(at, value, table<carrier<TYPE>>(current).store);                         \
  }                                                                                       \
  SYNCOPATE_ITM void _ITM_WaR##NAME(TYPE* at, TYPE value) {                               \
    store_##NAME(at, value, table<carrier<TYPE>>(current).store);                         \
  }                                                                                       \
  SYNCOPATE_ITM void _ITM_WaW##NAME(TYPE* at, TYPE value) {                               \
    store_##NAME(at, value, table<carrier<TYPE>>(current).store_again);                   \
  }

#define SYNCOPATE_BLOCK_LOAD(FORM, NAME, TYPE, TARGET)          \
  SYNCOPATE_ITM TARGET TYPE _ITM_##FORM##NAME(const TYPE* at) { \
    transaction* const tx = current;                            \
    TYPE value;                                                 \
    __builtin_memset(&value, 0, sizeof value);                  \
    tx->ops->load_block(&value, at, sizeof value, tx);          \
    return value;                                               \
  }
#define SYNCOPATE_BLOCK_STORE(FORM, NAME, TYPE, TARGET)               \
  SYNCOPATE_ITM TARGET void _ITM_##FORM##NAME(TYPE* at, TYPE value) { \
    transaction* const tx = current;                                  \
    tx->ops->store_block(at, &value, sizeof value, tx);               \
  }
#define SYNCOPATE_LARGE(NAME, TYPE, TARGET)      \
  SYNCOPATE_BLOCK_LOAD(R, NAME, TYPE, TARGET)    \
  SYNCOPATE_BLOCK_LOAD(RaR, NAME, TYPE, TARGET)  \
  SYNCOPATE_BLOCK_LOAD(RaW, NAME, TYPE, TARGET)  \
  SYNCOPATE_BLOCK_LOAD(RfW, NAME, TYPE, TARGET)  \
  SYNCOPATE_BLOCK_STORE(W, NAME, TYPE, TARGET)   \
  SYNCOPATE_BLOCK_STORE(WaR, NAME, TYPE, TARGET) \
  SYNCOPATE_BLOCK_STORE(WaW, NAME, TYPE, TARGET)

using complex_float = _Complex float;
using complex_double = _Complex double;
using complex_long_double = _Complex long double;
using long_double = long double;

SYNCOPATE_SMALL(U1, u8)
SYNCOPATE_SMALL(U2, u16)
SYNCOPATE_SMALL(U4, u32)
SYNCOPATE_SMALL(U8, u64)
SYNCOPATE_CARRIED(F, float)
SYNCOPATE_CARRIED(D, double)
SYNCOPATE_CARRIED(M64, __m64)
SYNCOPATE_CARRIED(CF, complex_float)
SYNCOPATE_LARGE(E, long_double, )
SYNCOPATE_LARGE(CD, complex_double, )
SYNCOPATE_LARGE(CE, complex_long_double, )
SYNCOPATE_LARGE(M128, __m128, )
SYNCOPATE_LARGE(M256, __m256, [[gnu::target("avx")]])

// What a transaction may change without telling: it is put back when the transaction rolls back.
SYNCOPATE_ITM void _ITM_LU1(const u8* at) { log(at, 1); }
SYNCOPATE_ITM void _ITM_LU2(const u16* at) { log(at, 2); }
SYNCOPATE_ITM void _ITM_LU4(const u32* at) { log(at, 4); }
SYNCOPATE_ITM void _ITM_LU8(const u64* at) { log(at, 8); }
SYNCOPATE_ITM void _ITM_LF(const float* at) { log(at, sizeof *at); }
SYNCOPATE_ITM void _ITM_LD(const double* at) { log(at, sizeof *at); }
SYNCOPATE_ITM void _ITM_LE(const long double* at) { log(at, sizeof *at); }
SYNCOPATE_ITM void _ITM_LM64(const __m64* at) { log(at, sizeof *at); }
SYNCOPATE_ITM void _ITM_LM128(const __m128* at) { log(at, sizeof *at); }
SYNCOPATE_ITM void _ITM_LM256(const __m256* at) { log(at, sizeof *at); }
SYNCOPATE_ITM void _ITM_LCF(const complex_float* at) { log(at, sizeof *at); }
SYNCOPATE_ITM void _ITM_LCD(const complex_double* at) { log(at, sizeof *at); }
SYNCOPATE_ITM void _ITM_LCE(const complex_long_double* at) { log(at, sizeof *at); }
SYNCOPATE_ITM void _ITM_LB(const void* at, std::size_t size) { log(at, size); }
