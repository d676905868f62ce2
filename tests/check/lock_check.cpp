// lock_check.cpp -- every lock of locks/all.h under every interleaving of each scenario.
// Usage: lock_check NAME[:WAIT] SCENARIO; without arguments lists "NAME:WAIT SCENARIO" pairs.
#include <syncopate/locks/all.h>

#include "lock_scenarios.h"

namespace {

template <class Lock>
inline constexpr check::scenario untimed[] = {
    {"two_threads", check::two_threads<Lock>},
    {"three_threads", check::three_threads<Lock>},
    {"try_lock", check::try_lock<Lock>},
    {"try_lock_again", check::try_lock_again<Lock>},
    {"destroy_after_unlock", check::destroy_after_unlock<Lock>},
};

template <class Lock>
concept has_deadline = requires(Lock& lock, const syncopate::machine::deadline& until) {
  lock.lock_until(until);
};

template <class Lock, class Visit>
void for_each_scenario(Visit visit) {
  for (const check::scenario& s : untimed<Lock>) visit(s);
  if constexpr (has_deadline<Lock>) visit(check::scenario{"timed", check::timed<Lock>});
  if constexpr (requires(const Lock& lock) { lock.check_invariants(); }) {
    visit(check::scenario{"invariants", check::invariants<Lock>});
    // Those that sleep have the same queues, and many times as many executions.
    if constexpr (syncopate::never_sleeps<Lock>)
      visit(check::scenario{"invariants_with_a_queue", check::invariants_with_a_queue<Lock>});
  }
}

}  // namespace

int main(int argc, char** argv) {
  void (*chosen)() = nullptr;
  const std::string_view lock_name = argc < 3 ? "" : argv[1], scenario = argc < 3 ? "" : argv[2];
  syncopate::for_each_lock([&]<class Entry>(const Entry& entry) {
    using lock = typename Entry::type;
    if constexpr (lock::traits.excludes) {
      // Every execution comes here, and what it reads is watched.
      if (argc >= 3 && !syncopate::is_called(entry, lock_name)) return;
      for_each_scenario<lock>([&](const check::scenario& s) {
        if (argc < 3)
          std::printf("%.*s%s%.*s %.*s\n", static_cast<int>(entry.name.size()), entry.name.data(),
                      entry.wait.empty() ? "" : ":", static_cast<int>(entry.wait.size()),
                      entry.wait.data(), static_cast<int>(s.name.size()), s.name.data());
        else if (s.name == scenario) chosen = s.run;
      });
    }
  });
  if (argc < 3) return 0;
  if (chosen == nullptr) {
    std::fprintf(stderr, "lock_check: no lock and scenario called '%s %s'\n", argv[1], argv[2]);
    return 2;
  }
  chosen();
  return 0;
}
