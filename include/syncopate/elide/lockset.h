// lockset.h -- one critical section of several locks: one transaction that subscribes to all of
// them, or all of them taken in an order that cannot deadlock.
//
// Source: Yoo, Hughes, Lai & Rajwar, "Performance Evaluation of Intel Transactional Synchronization
// Extensions for High-Performance Computing", SC 2013, section 5.2.1 (lockset elision), listing 1.
//
//   lockset both(from.lock, to.lock);         Lockable: lock(), try_lock(), unlock()
//   lockset_guard hold(from.lock, to.lock);   the same for a scope
//   lockset_span all(pointers);               a number of locks that only the run decides
//   try_then_block(lock, free, busy);         listing 1
//   visit_free_first(items, lock_of, visit);  the same over many items: busy ones last
//
// Locks are any of locks/all.h, or elided_lock<...>, which is taken for the lock inside. The same
// one may be given twice (an object paired with itself).
//
// Invariants
//   I1  handles are in the order of the locks' addresses, each lock once. Who blocks for a lock of
//       the set holds only locks before it: sets do not deadlock with sets, nor with threads that
//       take single locks.
//   I2  A set that runs as a transaction has read in it that each of its locks is free; whoever
//       takes one of them aborts it.
//   I3  A set that runs as a transaction is in the list of its sets (section.h): the same thread
//       finds its locks taken, and it finds those taken that the thread had elided before.
#pragma once

#include <syncopate/elide/engine.h>
#include <syncopate/elide/retry_policy.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace syncopate::elide {

namespace detail {

// The lock to take when there is no transaction.
template <class Lock>
auto& real_lock(Lock& lock) noexcept {
  if constexpr (requires { lock.underlying(); }) return lock.underlying();
  else return lock;
}

// A member of a set: Lock* where all are of one type, else this.
struct any_handle {
  struct operations {
    void (*take)(void*);
    bool (*try_take)(void*);
    void (*give)(void*);
    bool (*is_taken)(const void*);
  };
  void* lock;
  const operations* how;
};

inline void take(const any_handle& h) { h.how->take(h.lock); }
inline bool try_take(const any_handle& h) { return h.how->try_take(h.lock); }
inline void give(const any_handle& h) { h.how->give(h.lock); }
inline bool is_taken(const any_handle& h) { return h.how->is_taken(h.lock); }
inline const void* address_of(const any_handle& h) noexcept { return h.lock; }

template <class Lock>
void take(Lock* lock) {
  real_lock(*lock).lock();
}
template <class Lock>
bool try_take(Lock* lock) {
  return real_lock(*lock).try_lock();
}
template <class Lock>
void give(Lock* lock) {
  real_lock(*lock).unlock();
}
template <class Lock>
bool is_taken(const Lock* lock) {
  return lock->is_locked();
}
template <class Lock>
const void* address_of(const Lock* lock) noexcept {
  return lock;
}

template <class Lock>
inline constexpr any_handle::operations operations_of = {
    [](void* l) { take(static_cast<Lock*>(l)); },
    [](void* l) { return try_take(static_cast<Lock*>(l)); },
    [](void* l) { give(static_cast<Lock*>(l)); },
    [](const void* l) { return is_taken(static_cast<const Lock*>(l)); }};

template <class Handle>
void take_all(std::span<const Handle> set) {
  for (const Handle& h : set) take(h);
}

template <class Handle>
void give_all(std::span<const Handle> set) {
  for (std::size_t i = set.size(); i-- > 0;) give(set[i]);
}

// All of them, or none.
template <class Handle>
bool try_take_all(std::span<const Handle> set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (try_take(set[i])) continue;
    give_all(set.first(i));
    return false;
  }
  return true;
}

// Puts handles into I1's order; returns how many different ones there are.
template <class Handle>
std::size_t put_in_order(std::span<Handle> set) {
  std::sort(set.begin(), set.end(), [](const Handle& a, const Handle& b) {
    return std::less<>{}(address_of(a), address_of(b));
  });
  const auto end = std::unique(set.begin(), set.end(), [](const Handle& a, const Handle& b) {
    return address_of(a) == address_of(b);
  });
  return static_cast<std::size_t>(end - set.begin());
}

// What lockset and lockset_span have in common. Derived::handles() is the set (I1).
template <class Derived, retry_policy Policy>
class lockset_base : elided_set {
 public:
  lockset_base() noexcept : elided_set{&has} {}

  // Blocks until all locks are held, or the calling thread is in a transaction that excludes their
  // holders.
  void lock() {
    if (!control::is_off()) {
      refuse_if_elided();
      if (try_enter({this}, Policy, nullptr, all_free())) return section::add(*this);  // I3
    }
    take_all(set());
  }

  // Returns whether all were free and are now held or elided; takes none otherwise.
  [[nodiscard]] bool try_lock() {
    if (!control::is_off()) {
      if (section::active() && !all_free()()) return false;
      refuse_if_elided();
      const entry end = enter({this}, once(Policy), nullptr, all_free(), all_free());
      if (end == entry::elided) {
        section::add(*this);  // I3
        return true;
      }
    }
    return try_take_all(set());
  }

  // Requires: the calling thread holds the set, or is in the section that elided it.
  void unlock() {
    if (!control::is_off() && section::active()) {
      section::remove(*this);
      if (try_leave(this)) return;
    }
    give_all(set());
  }

 private:
  [[nodiscard]] auto set() const noexcept { return static_cast<const Derived*>(this)->handles(); }
  [[nodiscard]] auto all_free() const noexcept {
    return [this] {
      const auto handles = set();
      return std::none_of(handles.begin(), handles.end(),
                          [](const auto& h) { return is_taken(h); });
    };
  }
  // One that this very thread has elided: the real lock decides.
  void refuse_if_elided() const noexcept {
    if (!section::active()) return;
    for (const auto& h : set())
      if (section::contains(address_of(h))) section::abort<abort_code::nested_try>();
  }
  static bool has(const elided_set& self, const void* lock) noexcept {
    const auto handles = static_cast<const lockset_base&>(self).set();
    return std::any_of(handles.begin(), handles.end(),
                       [lock](const auto& h) { return address_of(h) == lock; });
  }
};

template <class... Locks>
struct handle_for {
  using type = any_handle;
};
template <class First, class... Others>
requires(std::is_same_v<First, Others>&&...) struct handle_for<First, Others...> {
  using type = First*;
};

template <class Handle, class Lock>
Handle handle_of(Lock& lock) noexcept {
  if constexpr (std::is_same_v<Handle, any_handle>) return {&lock, &operations_of<Lock>};
  else return &lock;
}

}  // namespace detail

// Requires: the locks outlive the set. A set is used by one thread at a time, and is not in use
// when it is destroyed.
template <class... Locks>
class lockset : public detail::lockset_base<lockset<Locks...>, policies::standard> {
  using handle = typename detail::handle_for<Locks...>::type;

 public:
  explicit lockset(Locks&... locks)
      : handles_{detail::handle_of<handle>(locks)...},
        count_(detail::put_in_order(std::span<handle>(handles_))) {}
  lockset(const lockset&) = delete;
  lockset& operator=(const lockset&) = delete;

 private:
  friend detail::lockset_base<lockset, policies::standard>;
  [[nodiscard]] std::span<const handle> handles() const noexcept {
    return std::span<const handle>(handles_).first(count_);
  }

  std::array<handle, sizeof...(Locks)> handles_;
  std::size_t count_;
};

template <class... Locks>
class lockset_guard {
 public:
  [[nodiscard]] explicit lockset_guard(Locks&... locks) : set_(locks...) { set_.lock(); }
  ~lockset_guard() { set_.unlock(); }
  lockset_guard(const lockset_guard&) = delete;
  lockset_guard& operator=(const lockset_guard&) = delete;

 private:
  lockset<Locks...> set_;
};

// A set of any size, of locks of one type. The pointers are put in order where they are, and stay
// the caller's: they must not change while the set exists.
template <class Lock>
class lockset_span : public detail::lockset_base<lockset_span<Lock>, policies::standard> {
 public:
  explicit lockset_span(std::span<Lock*> locks)
      : locks_(locks.first(detail::put_in_order(locks))) {}
  lockset_span(const lockset_span&) = delete;
  lockset_span& operator=(const lockset_span&) = delete;

 private:
  friend detail::lockset_base<lockset_span, policies::standard>;
  [[nodiscard]] std::span<Lock* const> handles() const noexcept { return locks_; }

  std::span<Lock*> locks_;
};

template <class Lock, std::size_t Size>
lockset_span(std::span<Lock*, Size>) -> lockset_span<Lock>;

// Listing 1: runs when_free() in a section of the lock if that is free, else waits for it and runs
// when_busy() in a section. With an elided lock or a lockset, the first check, the acquisition and
// the release are one transaction.
template <class Lock, class WhenFree, class WhenBusy>
void try_then_block(Lock& lock, WhenFree when_free, WhenBusy when_busy) {
  if (lock.try_lock()) {
    const std::lock_guard hold(lock, std::adopt_lock);
    when_free();
  } else {
    const std::lock_guard hold(lock);
    when_busy();
  }
}

// Calls visit(item) once for each item, in a section of lock_of(item): first, in order, those whose
// locks are free when it is their turn, then the others, in order. Returns how many those were.
// Requires: iterators of `items` stay valid meanwhile. Allocates for the busy ones, outside of
// sections.
template <class Items, class LockOf, class Visit>
std::size_t visit_free_first(Items&& items, LockOf lock_of, Visit visit) {
  using std::begin, std::end;
  std::vector<decltype(begin(items))> busy;
  for (auto item = begin(items); item != end(items); ++item) {
    auto& lock = lock_of(*item);
    if (!lock.try_lock()) {
      busy.push_back(item);
      continue;
    }
    const std::lock_guard hold(lock, std::adopt_lock);
    visit(*item);
  }
  for (const auto& item : busy) {
    const std::lock_guard hold(lock_of(*item));
    visit(*item);
  }
  return busy.size();
}

}  // namespace syncopate::elide
