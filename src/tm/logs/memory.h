// memory.h -- how transactions touch the program's memory.
//
// Other threads may read or write the same bytes at the same time; the algorithm then finds out and
// does not use what was read. So accesses are relaxed atomic ones where they are aligned. Accesses
// that are not aligned are plain copies: what they tear, validation rejects.
//
// Memory order (each tag stands at its site below)
//   [R]  relaxed: what is read counts only when the algorithm has validated it, with orders of its
//        own.
//   [W]  relaxed: the algorithm holds the place, and releases it behind the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace syncopate::tm {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using address = std::uintptr_t;

inline constexpr std::size_t word_size = 8;

template <class T>
struct any_type {
  using type [[gnu::may_alias]] = T;
};

template <class T>
[[nodiscard]] inline bool is_aligned(const T* at) noexcept {
  return (reinterpret_cast<address>(at) & (sizeof(T) - 1)) == 0;
}

template <class T>
[[nodiscard]] inline T peek(const T* at) noexcept {
  using loose = typename any_type<T>::type;
  if (__builtin_expect(is_aligned(at), 1))
    return __atomic_load_n(reinterpret_cast<const loose*>(at), __ATOMIC_RELAXED);  // [R]
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
inline void poke(T* at, T value) noexcept {
  using loose = typename any_type<T>::type;
  if (__builtin_expect(is_aligned(at), 1))
    return __atomic_store_n(reinterpret_cast<loose*>(at), value, __ATOMIC_RELAXED);  // [W]
  std::memcpy(at, &value, sizeof value);
}

// A place in memory and its size, which is 1, 2, 4 or 8: the two highest bits of the address, which
// no address of a program uses, say how often it is to be halved from 8. So a word is its address.
class place {
 public:
  place() = default;
  template <class T>
  explicit place(const T* at) noexcept
      : bits_(reinterpret_cast<address>(at) | address{3 - __builtin_ctz(sizeof(T))} << size_shift) {
  }

  // The same for the same place and size alone.
  [[nodiscard]] u64 identity() const noexcept { return bits_; }
  [[nodiscard]] address where() const noexcept { return bits_ & ~(address{3} << size_shift); }
  [[nodiscard]] std::size_t size() const noexcept { return word_size >> (bits_ >> size_shift); }

  [[nodiscard]] u64 value() const noexcept {
    switch (bits_ >> size_shift) {
      case 0: return peek(reinterpret_cast<const u64*>(where()));
      case 1: return peek(reinterpret_cast<const u32*>(where()));
      case 2: return peek(reinterpret_cast<const u16*>(where()));
      default: return peek(reinterpret_cast<const u8*>(where()));
    }
  }
  void set(u64 value) const noexcept {
    switch (bits_ >> size_shift) {
      case 0: return poke(reinterpret_cast<u64*>(where()), value);
      case 1: return poke(reinterpret_cast<u32*>(where()), static_cast<u32>(value));
      case 2: return poke(reinterpret_cast<u16*>(where()), static_cast<u16>(value));
      default: return poke(reinterpret_cast<u8*>(where()), static_cast<u8>(value));
    }
  }

 private:
  static constexpr unsigned size_shift = 62;
  address bits_ = 0;
};

// Calls f(T* at, offset) for the aligned pieces of 1 to 8 bytes that make up `size` bytes at `at`.
template <class F>
inline void for_each_piece(const void* at, std::size_t size, F f) {
  address a = reinterpret_cast<address>(at);
  const address first = a, end = a + size;
  while (a < end) {
    const std::size_t left = end - a;
    if ((a & 7) == 0 && left >= 8) f(reinterpret_cast<u64*>(a), a - first), a += 8;
    else if ((a & 3) == 0 && left >= 4) f(reinterpret_cast<u32*>(a), a - first), a += 4;
    else if ((a & 1) == 0 && left >= 2) f(reinterpret_cast<u16*>(a), a - first), a += 2;
    else f(reinterpret_cast<u8*>(a), a - first), a += 1;
  }
}

}  // namespace syncopate::tm
