// costs.cpp -- prints what each lock, reader-writer lock and condition variable does to memory
// when nobody contends: see test_header_costs.py.
#include "counted_accesses.h"

#include <syncopate/condition/condition_variable.h>
#include <syncopate/elide/condition.h>
#include <syncopate/locks/all.h>
#include <syncopate/rwlocks/auto_rwlock.h>
#include <syncopate/rwlocks/bravo_rwlock.h>

#include <cstdio>
#include <string>
#include <string_view>

using namespace syncopate;

template <class T>
struct alignas(64) in_lines {
  T it;
};

static std::string as_text(const access_count& c) {
  return std::to_string(c.rmws) + " " + std::to_string(c.loads) + " " + std::to_string(c.stores) +
         " " + std::to_string(c.lines);
}

static void print(std::string_view header, std::string_view how, const char* what,
                  const access_counts& seen) {
  std::printf("%s %s %s %s %s\n", std::string(header).c_str(),
              how.empty() ? "-" : std::string(how).c_str(), what, as_text(seen.shared).c_str(),
              as_text(seen.own).c_str());
}

static int all(const access_counts& c) {
  return c.shared.rmws + c.shared.loads + c.shared.stores + c.own.loads + c.own.stores;
}

// Of so many calls the one that does least: some do more now and then.
constexpr int calls = 8;
constexpr int warm = 300;  // until a bias, and what is learned at first, is there

template <class Enter, class Leave>
static void tell(std::string_view header, std::string_view how, const char* entering,
                 const char* leaving, Enter enter, Leave leave) {
  for (int i = 0; i < warm; ++i) enter(), leave();
  access_counts in{}, out{}, both{};
  for (int i = 0; i < calls; ++i) {
    const auto least = [i](access_counts& of, auto call) {
      begin_counting();
      call();
      const access_counts seen = end_counting();
      if (i == 0 || all(seen) < all(of)) of = seen;
    };
    least(in, enter);
    least(out, leave);
    least(both, [&] { enter(), leave(); });
  }
  print(header, how, entering, in);
  print(header, how, leaving, out);
  print(header, how, "pair", both);
}

int main() {
  for_each_lock([]<class L>(const lock_entry<L>& e) {
    static in_lines<L> lock;
    const std::string folder = e.header.starts_with("elide/") ? "" : "locks/";
    tell(
        folder + std::string(e.header), e.wait, "lock", "unlock", [] { lock.it.lock(); },
        [] { lock.it.unlock(); });
  });
  const auto rwlock = []<class L>(const char* header, in_lines<L>& lock) {
    tell(
        header, "", "lock", "unlock", [&] { lock.it.lock(); }, [&] { lock.it.unlock(); });
    tell(
        header, "", "shared_lock", "shared_unlock", [&] { lock.it.lock_shared(); },
        [&] { lock.it.unlock_shared(); });
  };
  static in_lines<auto_rwlock> plain;
  static in_lines<bravo_rwlock<auto_rwlock>> biased;
  rwlock("rwlocks/auto_rwlock.h", plain);
  rwlock("rwlocks/bravo_rwlock.h", biased);
  static in_lines<condition_variable> condition;
  tell(
      "condition/condition_variable.h", "", "signal", "broadcast",
      [] { condition.it.notify_one(); }, [] { condition.it.notify_all(); });
  static in_lines<elide::condition> elided;
  tell(
      "elide/condition.h", "", "signal", "broadcast", [] { elided.it.notify_one(); },
      [] { elided.it.notify_all(); });
}
