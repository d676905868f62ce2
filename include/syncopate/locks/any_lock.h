// any_lock.h -- a lock whose algorithm is chosen at run time, by the names of locks/all.h.
//
// For programs that read the choice from their own configuration. The lock itself lies inside (no
// allocation, one cache line); each call costs one indirect jump through a static table on top of
// the algorithm. Satisfies Lockable: works with std::scoped_lock, std::unique_lock and std::lock.
#pragma once

#include <syncopate/locks/lock_table.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace syncopate {

namespace detail {

struct every_lock {
  template <class Lock>
  static constexpr bool has = true;
  template <class Lock>
  static constexpr erased_lock make(const lock_entry<Lock>& entry) noexcept {
    return erase<Lock>(entry);
  }
};
inline constexpr auto lock_kinds = make_lock_table<every_lock>();

// What the largest lock needs.
constexpr std::size_t largest_lock(std::size_t erased_lock::*of) noexcept {
  std::size_t most = 1;
  for (const erased_lock& each : lock_kinds) most = std::max(most, each.*of);
  return most;
}

}  // namespace detail

class alignas(64) any_lock {
 public:
  // A free lock of the algorithm that "name" or "name:wait" stands for, as in SYNCOPATE_LOCK; the
  // name alone means its default strategy; so do papers' names (paper_names). Throws
  // std::invalid_argument, with the near names in its text, when there is no such lock; where the
  // program is compiled without exceptions, says that on standard error and ends the process.
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
  using kind = erased_lock;

  static const kind* find(std::string_view name) noexcept {
    for (const lock_alias& alias : paper_names)
      if (name == alias.name) name = alias.stands_for;
    return find_lock(detail::lock_kinds, name);
  }

  static const kind& find_or_throw(std::string_view name) {
    if (const kind* const found = find(name)) return *found;
    const std::string text =
        "no lock is called '" + std::string(name) + "'; near names: " + near_names(name);
#ifdef __cpp_exceptions
    throw std::invalid_argument(text);
#else
    std::fprintf(stderr, "%s\n", text.c_str());
    std::abort();
#endif
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
  alignas(detail::largest_lock(
      &erased_lock::alignment)) std::byte storage_[detail::largest_lock(&erased_lock::size)];
};

}  // namespace syncopate
