// any_lock.h -- a lock whose algorithm is chosen at run time, by the names of locks/all.h.
//
// For programs that read the choice from their own configuration. The lock itself lies inside (no
// allocation, one cache line); each call costs one indirect jump through a static table on top of
// the algorithm. Satisfies Lockable: works with std::scoped_lock, std::unique_lock and std::lock.
#pragma once

#include <syncopate/locks/all.h>
#include <syncopate/locks/traits.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace syncopate {

namespace detail {

// What any_lock's table holds of one (algorithm, waiting strategy) pair.
struct lock_kind {
  std::string_view name, wait;
  bool is_default;
  lock_traits traits;
  void (*construct)(void*) noexcept;
  void (*destroy)(void*) noexcept;
  void (*lock)(void*) noexcept;
  bool (*try_lock)(void*) noexcept;
  void (*unlock)(void*) noexcept;
  bool (*contended)(const void*) noexcept;
  bool (*is_locked)(const void*) noexcept;
};

template <class Lock>
Lock& lock_at(void* storage) noexcept {
  return *std::launder(static_cast<Lock*>(storage));
}

template <class Lock>
constexpr lock_kind kind_of(const lock_entry<Lock>& entry) noexcept {
  return {
      entry.name,
      entry.wait,
      entry.is_default,
      Lock::traits,
      [](void* p) noexcept { ::new (p) Lock; },
      [](void* p) noexcept { std::destroy_at(&lock_at<Lock>(p)); },
      [](void* p) noexcept { lock_at<Lock>(p).lock(); },
      [](void* p) noexcept { return lock_at<Lock>(p).try_lock(); },
      [](void* p) noexcept { lock_at<Lock>(p).unlock(); },
      [](const void* p) noexcept { return lock_at<const Lock>(const_cast<void*>(p)).contended(); },
      [](const void* p) noexcept { return lock_at<const Lock>(const_cast<void*>(p)).is_locked(); },
  };
}

struct lock_extent {
  std::size_t kinds = 0, size = 0, alignment = 1;
};

// How many pairs there are, and the room that the largest lock needs.
constexpr lock_extent measure_locks() noexcept {
  lock_extent all;
  for_each_lock([&all]<class Lock>(const lock_entry<Lock>&) {
    all.kinds += 1;
    all.size = std::max(all.size, sizeof(Lock));
    all.alignment = std::max(all.alignment, alignof(Lock));
  });
  return all;
}

inline constexpr lock_extent every_lock = measure_locks();

inline constexpr auto lock_kinds = [] {
  // Without {}: clang 14 would not take lock_traits, a member of which begins as another one is, for
  // constant.
  std::array<lock_kind, every_lock.kinds> result;
  std::size_t next = 0;
  for_each_lock(
      [&]<class Lock>(const lock_entry<Lock>& entry) { result[next++] = kind_of(entry); });
  return result;
}();

}  // namespace detail

class alignas(64) any_lock {
 public:
  // A free lock of the algorithm that "name" or "name:wait" stands for, as in SYNCOPATE_LOCK; the
  // name alone means its default strategy; so do papers' names (paper_names). Throws
  // std::invalid_argument, with the near names in its text, when there is no such lock.
  explicit any_lock(std::string_view name) : kind_(&find_or_throw(name)) {
    kind_->construct(storage_);
  }
  ~any_lock() { kind_->destroy(storage_); }
  any_lock(const any_lock&) = delete;
  any_lock& operator=(const any_lock&) = delete;

  // Blocks until the lock is held.
  void lock() noexcept { kind_->lock(storage_); }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept { return kind_->try_lock(storage_); }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept { kind_->unlock(storage_); }

  // Whether some thread holds the lock; a hint, and the subscription of a transaction.
  [[nodiscard]] bool is_locked() const noexcept { return kind_->is_locked(storage_); }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept { return kind_->contended(storage_); }

  // The algorithm; its waiting strategy, "" where it brings its own; what is worth knowing of it.
  [[nodiscard]] std::string_view name() const noexcept { return kind_->name; }
  [[nodiscard]] std::string_view wait() const noexcept { return kind_->wait; }
  [[nodiscard]] const lock_traits& traits() const noexcept { return kind_->traits; }

  // Whether any_lock(name) succeeds.
  [[nodiscard]] static bool is_name(std::string_view name) noexcept {
    return find(name) != nullptr;
  }

 private:
  using kind = detail::lock_kind;

  static bool matches(const kind& k, std::string_view name) noexcept {
    if (!name.starts_with(k.name)) return false;
    name.remove_prefix(k.name.size());
    if (name.empty()) return k.is_default;
    return !k.wait.empty() && name.front() == ':' && name.substr(1) == k.wait;
  }

  static const kind* find(std::string_view name) noexcept {
    for (const lock_alias& alias : paper_names)
      if (name == alias.name) name = alias.stands_for;
    const auto& all = detail::lock_kinds;
    const auto found =
        std::find_if(all.begin(), all.end(), [name](const kind& k) { return matches(k, name); });
    return found != all.end() ? &*found : nullptr;
  }

  static const kind& find_or_throw(std::string_view name) {
    if (const kind* const found = find(name)) return *found;
    throw std::invalid_argument("no lock is called '" + std::string(name) +
                                "'; near names: " + near_names(name));
  }

  // The listed names nearest to `name` by edit distance: all those at the least distance, and those
  // of the algorithm that it names when only the strategy is wrong.
  static std::string near_names(std::string_view name) {
    std::vector<std::pair<std::size_t, std::string>> candidates;
    const std::string_view algorithm = name.substr(0, name.find(':'));
    for (const kind& k : detail::lock_kinds) {
      const auto add = [&](std::string text) {
        const std::size_t distance = k.name == algorithm ? 0 : edit_distance(name, text);
        candidates.emplace_back(distance, std::move(text));
      };
      if (k.is_default) add(std::string(k.name));
      if (!k.wait.empty()) add(std::string(k.name) + ':' + std::string(k.wait));
    }
    std::size_t least = candidates.front().first;
    for (const auto& [distance, _] : candidates) least = std::min(least, distance);
    std::string result;
    for (const auto& [distance, text] : candidates)
      if (distance == least) result += (result.empty() ? "" : ", ") + text;
    return result;
  }

  // Levenshtein's distance: the fewest characters to insert, delete or replace.
  static std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j <= b.size(); ++j) {
        const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
        diagonal = std::exchange(row[j], std::min({replaced, row[j - 1] + 1, row[j] + 1}));
      }
    }
    return row[b.size()];
  }

  // The choice shares the lock's cache line, which every call needs anyway.
  const kind* kind_;
  alignas(detail::every_lock.alignment) std::byte storage_[detail::every_lock.size];
};

}  // namespace syncopate
