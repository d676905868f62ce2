// buffer.h -- a growable array for the logs of a transaction. Its first elements lie in memory
// that it keeps for good, so that transactions allocate only when a log is larger than ever before.
//
// Invariants
//   I1  first_ <= end_ <= limit_ <= room_; elements are plain data, never constructed or destroyed.
//   I2  limit_ is room_, the end of the memory, but after clear_to_first().
#pragma once

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace syncopate::tm {

template <class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // NOLINTNEXTLINE(bugprone-sizeof-expression): T may well be a pointer
  static constexpr std::size_t element_size = sizeof(T);
  static constexpr std::size_t first_capacity = 4096 / element_size;

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
    const std::size_t present = static_cast<std::size_t>(limit_ - first_);
    if (limit_ != room_) {
      const std::size_t room = static_cast<std::size_t>(room_ - first_);
      limit_ = first_ + (2 * present < room ? 2 * present : room);
      return used + count <= 2 * present || grow(count);
    }
    std::size_t capacity = present == 0 ? first_capacity : 2 * present;
    while (capacity < used + count) capacity *= 2;
    T* const larger =
        static_cast<T*>(std::realloc(static_cast<void*>(first_), capacity * element_size));
    if (larger == nullptr) return false;
    first_ = larger;
    end_ = larger + used;
    limit_ = room_ = larger + capacity;
    return true;
  }

  void clear() noexcept { end_ = first_; }
  // The same; and it is full when as many elements are in it as it first had room for.
  void clear_to_first() noexcept {
    end_ = first_;
    if (__builtin_expect(limit_ - first_ > static_cast<std::ptrdiff_t>(first_capacity), 0))
      limit_ = first_ + first_capacity;
  }
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
  T* room_ = nullptr;
};

}  // namespace syncopate::tm
