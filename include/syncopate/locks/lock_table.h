// lock_table.h -- the locks of locks/all.h without types, found by name: any_lock, the preload
// library and the OpenMP library have their tables from here.
#pragma once

#include <syncopate/locks/all.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine/types.h>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <string_view>

namespace syncopate {

// One (algorithm, waiting strategy) pair, as functions on the bytes that hold such a lock.
struct erased_lock {
  std::string_view name, wait;  // as in lock_entry; both end with a null character
  bool is_default;
  lock_traits traits;
  std::size_t size, alignment;
  void (*construct)(void*) noexcept;
  void (*destroy)(void*) noexcept;
  void (*lock)(void*) noexcept;
  bool (*try_lock)(void*) noexcept;
  void (*unlock)(void*) noexcept;
  bool (*contended)(const void*) noexcept;
  bool (*is_locked)(const void*) noexcept;
  bool (*lock_until)(void*, const machine::deadline&) noexcept;  // null unless traits.timed
};

namespace detail {
template <class Type>
Type& lock_at(void* p) noexcept {
  return *std::launder(static_cast<Type*>(p));
}
template <class Type>
const Type& lock_at(const void* p) noexcept {
  return *std::launder(static_cast<const Type*>(p));
}
// In debug builds whoever releases a lock looks first whether its invariants hold.
template <class Type>
void check_held([[maybe_unused]] const Type& lock) noexcept {
#if !defined(NDEBUG)
  if constexpr (requires { lock.check_invariants(); }) lock.check_invariants();
#endif
}
}  // namespace detail

// `Type`: what stands for the entry in this table; the entry's own lock where nothing else does.
template <class Type, class Listed>
constexpr erased_lock erase(const lock_entry<Listed>& entry) noexcept {
  erased_lock result{
      entry.name,
      entry.wait,
      entry.is_default,
      Type::traits,
      sizeof(Type),
      alignof(Type),
      [](void* p) noexcept { ::new (p) Type; },
      [](void* p) noexcept { std::destroy_at(&detail::lock_at<Type>(p)); },
      [](void* p) noexcept { detail::lock_at<Type>(p).lock(); },
      [](void* p) noexcept { return detail::lock_at<Type>(p).try_lock(); },
      [](void* p) noexcept {
        detail::check_held(detail::lock_at<Type>(p));
        detail::lock_at<Type>(p).unlock();
      },
      [](const void* p) noexcept { return detail::lock_at<Type>(p).contended(); },
      [](const void* p) noexcept { return detail::lock_at<Type>(p).is_locked(); },
      nullptr,
  };
  if constexpr (Type::traits.timed)
    result.lock_until = [](void* p, const machine::deadline& until) noexcept {
      return detail::lock_at<Type>(p).lock_until(until);
    };
  return result;
}

// The rows that Rows::make(entry) makes of the entries for which Rows::has<Lock>.
template <class Rows>
constexpr auto make_lock_table() noexcept {
  constexpr std::size_t count = [] {
    std::size_t n = 0;
    for_each_lock(
        [&]<class Lock>(const lock_entry<Lock>&) { n += Rows::template has<Lock> ? 1 : 0; });
    return n;
  }();
  using row = decltype(Rows::make(lock_entry<auto_lock>{}));
  std::array<row, count> table;  // without {}: clang 14 would not take lock_traits for constant
  std::size_t next = 0;
  for_each_lock([&]<class Lock>(const lock_entry<Lock>& entry) {
    if constexpr (Rows::template has<Lock>) table[next++] = Rows::make(entry);
  });
  return table;
}

// The row of a table that "name" or "name:wait" stands for, or null.
template <class Table>
constexpr auto find_lock(const Table& table, std::string_view text) noexcept
    -> decltype(table.data()) {
  for (const auto& row : table)
    if (is_called(row, text)) return &row;
  return nullptr;
}

}  // namespace syncopate
