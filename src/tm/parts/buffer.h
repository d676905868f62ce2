// buffer.h -- L3: a growable array for the logs of a transaction. Its first elements lie in memory
// that it keeps for good, so that transactions allocate only when a log is larger than ever before.
//
// Invariants
//   I1  first_ <= end_ <= limit_; elements are plain data, never constructed or destroyed.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace syncopate::tm {

template <class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t first_capacity = 4096 / sizeof(T);

  // Returns room for one more element, or nullptr when there is no memory.
  [[nodiscard, gnu::always_inline]] T* push() noexcept {
    if (__builtin_expect(end_ == limit_, 0) && !grow(1)) return nullptr;
    return end_++;
  }

  [[nodiscard]] bool is_full() const noexcept { return end_ == limit_; }
  // Requires: !is_full().
  void push_unchecked(const T& element) noexcept { *end_++ = element; }

  // Makes room for `count` more elements. Returns false when there is no memory.
  [[gnu::noinline, gnu::cold]] bool grow(std::size_t count) noexcept {
    const std::size_t used = size();
    std::size_t capacity = limit_ == first_ ? first_capacity : 2 * (limit_ - first_);
    while (capacity < used + count) capacity *= 2;
    T* const larger =
        static_cast<T*>(std::realloc(static_cast<void*>(first_), capacity * sizeof(T)));
    if (larger == nullptr) return false;
    first_ = larger;
    end_ = larger + used;
    limit_ = larger + capacity;
    return true;
  }

  void clear() noexcept { end_ = first_; }
  // Requires: size <= size().
  void shrink(std::size_t size) noexcept { end_ = first_ + size; }

  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(end_ - first_);
  }
  [[nodiscard]] bool empty() const noexcept { return end_ == first_; }
  T* begin() noexcept { return first_; }
  T* end() noexcept { return end_; }
  const T* begin() const noexcept { return first_; }
  const T* end() const noexcept { return end_; }
  T& operator[](std::size_t i) noexcept { return first_[i]; }
  T& back() noexcept { return end_[-1]; }
  void pop() noexcept { --end_; }

 private:
  T* end_ = nullptr;
  T* limit_ = nullptr;
  T* first_ = nullptr;
};

}  // namespace syncopate::tm
