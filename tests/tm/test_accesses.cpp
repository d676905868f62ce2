// Every load, store, log and block copy of the interface, called by name inside of transactions
// that could be canceled, at aligned and unaligned places.
// Options: -mavx -Wno-psabi -Wno-maybe-uninitialized
#include "check.h"

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include <immintrin.h>

#define LOADS(NAME, TYPE)                                     \
  [[gnu::transaction_pure]] TYPE _ITM_R##NAME(const TYPE*);   \
  [[gnu::transaction_pure]] TYPE _ITM_RaR##NAME(const TYPE*); \
  [[gnu::transaction_pure]] TYPE _ITM_RaW##NAME(const TYPE*); \
  [[gnu::transaction_pure]] TYPE _ITM_RfW##NAME(const TYPE*); \
  [[gnu::transaction_pure]] void _ITM_W##NAME(TYPE*, TYPE);   \
  [[gnu::transaction_pure]] void _ITM_WaR##NAME(TYPE*, TYPE); \
  [[gnu::transaction_pure]] void _ITM_WaW##NAME(TYPE*, TYPE); \
  [[gnu::transaction_pure]] void _ITM_L##NAME(const TYPE*);

extern "C" {
LOADS(U1, std::uint8_t)
LOADS(U2, std::uint16_t)
LOADS(U4, std::uint32_t)
LOADS(U8, std::uint64_t)
LOADS(F, float)
LOADS(D, double)
LOADS(E, long double)
LOADS(M64, __m64)
LOADS(M128, __m128)
LOADS(M256, __m256)
LOADS(CF, _Complex float)
LOADS(CD, _Complex double)
LOADS(CE, _Complex long double)
[[gnu::transaction_pure]] void _ITM_LB(const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRnWt(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRnWt(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRnWtaR(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRnWtaR(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRnWtaW(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRnWtaW(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtWn(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtWn(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtWt(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtWt(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtWtaR(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtWtaR(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtWtaW(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtWtaW(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtaRWn(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtaRWn(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtaRWt(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtaRWt(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtaRWtaR(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtaRWtaR(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtaRWtaW(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtaRWtaW(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtaWWn(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtaWWn(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtaWWt(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtaWWt(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtaWWtaR(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtaWWtaR(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memcpyRtaWWtaW(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memmoveRtaWWtaW(void*, const void*, std::size_t);
[[gnu::transaction_pure]] void _ITM_memsetW(void*, int, std::size_t);
[[gnu::transaction_pure]] void _ITM_memsetWaR(void*, int, std::size_t);
[[gnu::transaction_pure]] void _ITM_memsetWaW(void*, int, std::size_t);
}

namespace {

volatile bool never = false;
[[gnu::transaction_pure]] bool unlikely() { return never; }
[[gnu::transaction_pure]] void copy(void* to, const void* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    static_cast<volatile char*>(to)[i] = static_cast<const char*>(from)[i];
}

[[gnu::transaction_pure]] void set_never() { never = true; }

alignas(64) unsigned char shared[256], before[256];

void fill(unsigned start) {
  for (unsigned i = 0; i < sizeof shared; ++i)
    shared[i] = static_cast<unsigned char>(start + i * 7);
  std::memcpy(before, shared, sizeof shared);
}

// What the transaction wrote is what is there, and nothing beside it.
void check_written(std::size_t at, const void* expected, std::size_t size) {
  CHECK(std::memcmp(shared + at, expected, size) == 0);
  CHECK(std::memcmp(shared, before, at) == 0);
  CHECK(std::memcmp(shared + at + size, before + at + size, sizeof shared - at - size) == 0);
}

// Bytes that a value of the type has: long double has ten, its padding may change.
template <class T>
constexpr std::size_t bytes = sizeof(T);
template <>
constexpr std::size_t bytes<long double> = 10;

template <class T>
constexpr bool is_long = bytes<T> == 10;
template <>
constexpr bool is_long<_Complex long double> = true;

template <class T>
bool same(const void* a, const void* b) {
  return std::memcmp(a, b, bytes<T>) == 0;
}
template <>
bool same<_Complex long double>(const void* a, const void* b) {
  return same<long double>(a, b) &&
         same<long double>(static_cast<const char*>(a) + 16, static_cast<const char*>(b) + 16);
}

using complex_float = _Complex float;
using complex_double = _Complex double;
using complex_long_double = _Complex long double;

#define EACH(NAME, TYPE)                                                                         \
  void test_##NAME(std::size_t at) {                                                             \
    fill(static_cast<unsigned>(at));                                                             \
    TYPE* const p = reinterpret_cast<TYPE*>(shared + at);                                        \
    TYPE r1, r2, r3, r4, value;                                                                  \
    unsigned char image[sizeof(TYPE)];                                                           \
    for (unsigned i = 0; i < sizeof image; ++i) image[i] = static_cast<unsigned char>(0x31 + i); \
    if (is_long<TYPE>)                                                                           \
      for (unsigned i = 0; i < sizeof image; i += 16)                                            \
        std::memset(image + i, 0, 16), image[i + 7] = 0x80, image[i + 9] = 0x3f;                 \
    std::memcpy(&value, image, sizeof value);                                                    \
    __transaction_atomic {                                                                       \
      r1 = _ITM_R##NAME(p);                                                                      \
      r2 = _ITM_RaR##NAME(p);                                                                    \
      r3 = _ITM_RfW##NAME(p);                                                                    \
      if (unlikely()) __transaction_cancel;                                                      \
    }                                                                                            \
    CHECK(same<TYPE>(&r1, shared + at));                                                         \
    CHECK(same<TYPE>(&r2, shared + at));                                                         \
    CHECK(same<TYPE>(&r3, shared + at));                                                         \
    __transaction_atomic {                                                                       \
      _ITM_W##NAME(p, value);                                                                    \
      r4 = _ITM_RaW##NAME(p);                                                                    \
      r1 = _ITM_R##NAME(p);                                                                      \
      _ITM_WaW##NAME(p, value);                                                                  \
      if (unlikely()) __transaction_cancel;                                                      \
    }                                                                                            \
    CHECK(same<TYPE>(&r4, image));                                                               \
    CHECK(same<TYPE>(&r1, image));                                                               \
    CHECK(same<TYPE>(shared + at, image));                                                       \
    CHECK(std::memcmp(shared, before, at) == 0);                                                 \
    CHECK(shared[at + sizeof(TYPE)] == before[at + sizeof(TYPE)]);                               \
    fill(3);                                                                                     \
    __transaction_atomic {                                                                       \
      r1 = _ITM_R##NAME(p);                                                                      \
      _ITM_WaR##NAME(p, value);                                                                  \
      set_never();                                                                               \
      if (unlikely()) __transaction_cancel;                                                      \
    }                                                                                            \
    never = false;                                                                               \
    CHECK(std::memcmp(shared, before, sizeof shared) == 0);                                      \
    __transaction_atomic {                                                                       \
      _ITM_L##NAME(p);                                                                           \
      copy(p, &value, bytes<TYPE>);                                                              \
      _ITM_LB(shared + 200, 20);                                                                 \
      copy(shared + 200, image, 3);                                                              \
      set_never();                                                                               \
      if (unlikely()) __transaction_cancel;                                                      \
    }                                                                                            \
    never = false;                                                                               \
    CHECK(std::memcmp(shared, before, sizeof shared) == 0);                                      \
  }

EACH(U1, std::uint8_t)
EACH(U2, std::uint16_t)
EACH(U4, std::uint32_t)
EACH(U8, std::uint64_t)
EACH(F, float)
EACH(D, double)
EACH(E, long double)
EACH(M64, __m64)
EACH(M128, __m128)
EACH(M256, __m256)
EACH(CF, complex_float)
EACH(CD, complex_double)
EACH(CE, complex_long_double)

using copy_function = void (*)(void*, const void*, std::size_t);

// One of the two areas is the transaction's own, where the function's name says so.
#define COPY(NAME)                                                       \
  void test_##NAME(std::size_t to, std::size_t from, std::size_t size) { \
    fill(9);                                                             \
    unsigned char expected[sizeof shared];                               \
    std::memcpy(expected, before, sizeof expected);                      \
    std::memmove(expected + to, before + from, size);                    \
    __transaction_atomic {                                               \
      _ITM_##NAME(shared + to, shared + from, size);                     \
      if (unlikely()) __transaction_cancel;                              \
    }                                                                    \
    CHECK(std::memcmp(shared, expected, sizeof expected) == 0);          \
  }
COPY(memcpyRnWt)
COPY(memmoveRnWt)
COPY(memcpyRnWtaR)
COPY(memmoveRnWtaR)
COPY(memcpyRnWtaW)
COPY(memmoveRnWtaW)
COPY(memcpyRtWn)
COPY(memmoveRtWn)
COPY(memcpyRtWt)
COPY(memmoveRtWt)
COPY(memcpyRtWtaR)
COPY(memmoveRtWtaR)
COPY(memcpyRtWtaW)
COPY(memmoveRtWtaW)
COPY(memcpyRtaRWn)
COPY(memmoveRtaRWn)
COPY(memcpyRtaRWt)
COPY(memmoveRtaRWt)
COPY(memcpyRtaRWtaR)
COPY(memmoveRtaRWtaR)
COPY(memcpyRtaRWtaW)
COPY(memmoveRtaRWtaW)
COPY(memcpyRtaWWn)
COPY(memmoveRtaWWn)
COPY(memcpyRtaWWt)
COPY(memmoveRtaWWt)
COPY(memcpyRtaWWtaR)
COPY(memmoveRtaWWtaR)
COPY(memcpyRtaWWtaW)
COPY(memmoveRtaWWtaW)

#define SET(NAME)                                      \
  void test_##NAME(std::size_t at, std::size_t size) { \
    fill(5);                                           \
    __transaction_atomic {                             \
      _ITM_##NAME(shared + at, 0xa5, size);            \
      if (unlikely()) __transaction_cancel;            \
    }                                                  \
    unsigned char expected[sizeof shared];             \
    std::memset(expected, 0xa5, sizeof expected);      \
    check_written(at, expected, size);                 \
  }
SET(memsetW)
SET(memsetWaR)
SET(memsetWaW)

}  // namespace

int main() {
  for (std::size_t at : {0, 8, 1, 3, 5, 7, 13, 61}) test_U1(at);
  for (std::size_t at : {0, 8, 1, 3, 5, 7, 13, 61}) test_U2(at);
  for (std::size_t at : {0, 8, 1, 3, 5, 7, 13, 61}) test_U4(at);
  for (std::size_t at : {0, 8, 1, 3, 5, 7, 13, 61}) test_U8(at);
  for (std::size_t at : {0, 8, 1, 3, 5, 7, 13, 61}) test_F(at);
  for (std::size_t at : {0, 8, 1, 3, 5, 7, 13, 61}) test_D(at);
  for (std::size_t at : {0, 16, 24, 48}) test_E(at);
  for (std::size_t at : {0, 8, 1, 3, 5, 7, 13, 61}) test_M64(at);
  for (std::size_t at : {0, 16, 64, 8, 24, 56}) test_M128(at);
  for (std::size_t at : {0, 32, 64}) test_M256(at);
  for (std::size_t at : {0, 8, 1, 3, 5, 7, 13, 61}) test_CF(at);
  for (std::size_t at : {0, 16, 24, 48}) test_CD(at);
  for (std::size_t at : {0, 16, 24, 48}) test_CE(at);
  for (std::size_t size : {0, 1, 7, 8, 9, 33, 100}) {
    test_memcpyRnWt(130, 11, size);
    test_memmoveRnWt(130, 11, size);
    test_memcpyRnWtaR(130, 11, size);
    test_memmoveRnWtaR(130, 11, size);
    test_memcpyRnWtaW(130, 11, size);
    test_memmoveRnWtaW(130, 11, size);
    test_memcpyRtWn(130, 11, size);
    test_memmoveRtWn(130, 11, size);
    test_memcpyRtWt(130, 11, size);
    test_memmoveRtWt(130, 11, size);
    test_memcpyRtWtaR(130, 11, size);
    test_memmoveRtWtaR(130, 11, size);
    test_memcpyRtWtaW(130, 11, size);
    test_memmoveRtWtaW(130, 11, size);
    test_memcpyRtaRWn(130, 11, size);
    test_memmoveRtaRWn(130, 11, size);
    test_memcpyRtaRWt(130, 11, size);
    test_memmoveRtaRWt(130, 11, size);
    test_memcpyRtaRWtaR(130, 11, size);
    test_memmoveRtaRWtaR(130, 11, size);
    test_memcpyRtaRWtaW(130, 11, size);
    test_memmoveRtaRWtaW(130, 11, size);
    test_memcpyRtaWWn(130, 11, size);
    test_memmoveRtaWWn(130, 11, size);
    test_memcpyRtaWWt(130, 11, size);
    test_memmoveRtaWWt(130, 11, size);
    test_memcpyRtaWWtaR(130, 11, size);
    test_memmoveRtaWWtaR(130, 11, size);
    test_memcpyRtaWWtaW(130, 11, size);
    test_memmoveRtaWWtaW(130, 11, size);
    test_memmoveRtWt(13, 10, size);
    test_memmoveRtWt(10, 13, size);
    test_memmoveRtWtaR(13, 10, size);
    test_memmoveRtWtaR(10, 13, size);
    test_memmoveRtWtaW(13, 10, size);
    test_memmoveRtWtaW(10, 13, size);
    test_memmoveRtaRWt(13, 10, size);
    test_memmoveRtaRWt(10, 13, size);
    test_memmoveRtaRWtaR(13, 10, size);
    test_memmoveRtaRWtaR(10, 13, size);
    test_memmoveRtaRWtaW(13, 10, size);
    test_memmoveRtaRWtaW(10, 13, size);
    test_memmoveRtaWWt(13, 10, size);
    test_memmoveRtaWWt(10, 13, size);
    test_memmoveRtaWWtaR(13, 10, size);
    test_memmoveRtaWWtaR(10, 13, size);
    test_memmoveRtaWWtaW(13, 10, size);
    test_memmoveRtaWWtaW(10, 13, size);
    test_memsetW(13, size);
    test_memsetWaR(13, size);
    test_memsetWaW(13, size);
  }
}
