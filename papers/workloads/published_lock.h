// published_lock.h -- htm-1, htm-10 and htm-10-fb-aahtm to the letter of their paper, for its
// figures: a held lock is waited for inside of the transaction, whose abort by the holder's release
// is one of the attempts, and so is any other. The library's locks/htm_lock.h deviates, for better.
//
// Source        Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", 2017,
//               section IV-A: policies of elide/retry_policy.h. That the wait uses up an attempt
//               follows from its end: to the thread, that abort is a conflict like any other. The
//               paper names no lengths of back-off: a name may say with how many PAUSEs it begins.
// Fairness      none.
// Checked by    papers/workloads/test_workloads.py (sums under the lock); tests/elide (the engine).
#pragma once

#include <syncopate/elide/engine.h>
#include <syncopate/locks/speculative_tatas_lock.h>
#include <syncopate/locks/tatas_lock.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace workloads {

class published_lock {
 public:
  // "published:htm-10", as htm-1 and htm-10-fb-aahtm; then ":4" where back-off begins with 4 PAUSEs
  // (1 otherwise).
  static bool is_name(std::string_view name) { return choice_of(name).has_value(); }

  // Requires: is_name(name).
  explicit published_lock(std::string_view name) : published_lock(choice_of(name).value()) {}

  void lock() { runs_ahead_ ? ahead_.lock(policy_) : plain_.lock(policy_); }
  void unlock() { runs_ahead_ ? ahead_.unlock() : plain_.unlock(); }

 private:
  template <class Fallback>
  class elided {
   public:
    void lock(const syncopate::elide::retry_policy& policy) {
      if (!elides() ||
          !syncopate::elide::try_enter({this}, policy, nullptr, [this] { return is_free(); }))
        fallback_.lock();
    }
    void unlock() {
      if (!elides() || !syncopate::elide::try_leave(this)) fallback_.unlock();
    }

   private:
    static bool elides() { return !syncopate::elide::control::is_off(); }
    bool is_free() const { return !fallback_.is_locked(); }
    Fallback fallback_;
  };

  struct choice {
    syncopate::elide::retry_policy policy;
    bool runs_ahead;
  };

  static std::optional<choice> choice_of(std::string_view name) {
    namespace policies = syncopate::elide::policies;
    constexpr std::string_view prefix = "published:";
    if (!name.starts_with(prefix)) return {};
    name.remove_prefix(prefix.size());
    const std::string_view kind = name.substr(0, name.find(':'));
    choice result{};
    if (kind == "htm-1") result = {policies::htm_1, false};
    else if (kind == "htm-10") result = {policies::htm_10, false};
    else if (kind == "htm-10-fb-aahtm") result = {policies::htm_10_fb_aahtm, true};
    else return {};
    if (kind == name) return result;
    std::uint16_t& first = result.policy.first_pause;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + kind.size() + 1, end, first);
    if (read.ec != std::errc{} || read.ptr != end || first < 1 || first > most_pauses) return {};
    result.policy.longest_pause = static_cast<std::uint16_t>(first << 9);  // the tenth attempt's
    return result;
  }
  static constexpr std::uint16_t most_pauses = 64;

  explicit published_lock(const choice& made)
      : policy_(made.policy), runs_ahead_(made.runs_ahead) {}

  const syncopate::elide::retry_policy policy_;  // read at each use, as the next
  const bool runs_ahead_;
  alignas(128) elided<syncopate::tatas_lock<syncopate::waits::spin>> plain_;
  alignas(128) elided<syncopate::speculative_tatas_lock> ahead_;
};

}  // namespace workloads
