// buffer.h -- a list that grows, in memory of the C library's: for what transactions note.
#pragma once

#include <cstddef>
#include <type_traits>

#include "model/front/program/options.h"

extern "C" {
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);
}

namespace syncopate::emulated {

// Zeroed memory is an empty one. Not async-signal-safe.
template <class T>
struct buffer {
  static_assert(std::is_trivially_copyable_v<T>);
  T* first = nullptr;
  T* next = nullptr;  // behind the last one
  T* end = nullptr;

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(next - first); }
  void clear() noexcept { next = first; }

  void push(const T& value) noexcept {
    if (next == end) [[unlikely]]
      reserve(size() + 1);
    *next++ = value;
  }

  void reserve(std::size_t wanted) noexcept {
    const std::size_t had = size();
    if (wanted <= static_cast<std::size_t>(end - first)) return;
    std::size_t room = 2 * static_cast<std::size_t>(end - first);
    if (room < wanted) room = wanted;
    if (room < 64) room = 64;
    auto* const moved = static_cast<T*>(__libc_realloc(first, room * sizeof(T)));
    if (moved == nullptr) instrument::fail("no memory for a transaction's log");
    first = moved;
    next = moved + had;
    end = moved + room;
  }

  void release() noexcept {
    __libc_free(first);
    first = next = end = nullptr;
  }
};

}  // namespace syncopate::emulated
