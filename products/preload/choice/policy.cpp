// policy.cpp -- finds the site of a lock, and so what the lock is to be.
//
// Invariants
//   I1  Sites are complete before `known` counts them; then only their `locks` change.
//   I2  chosen_locks[i], i > 0, is set before a site that names i is counted.
// Memory order
//   [K]  release store of `known` -- synchronizes with [L]
//   [L]  acquire load of `known`: the sites that it counts are complete (I1, I2).

#include "preload/choice/policy.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "base/option.h"
#include "preload/base/say.h"
#include "preload/choice/algorithms.h"
#include "preload/choice/chosen_barrier.h"
#include "preload/choice/policy_sites.h"
#include "record/unwind.h"

namespace syncopate::shim {

constinit bool has_policy = false;
constinit const algorithm* chosen_locks[most_chosen_locks] = {};

namespace {

constinit policy_table table = {};
constinit std::atomic<std::size_t> known{0};

bool is_detour(std::uintptr_t at) noexcept {
  for (std::size_t i = 0; i < table.detour_count; ++i)
    if (table.detours[i].holds(at)) return true;
  return false;
}

// The innermost return address that is the program's own. A call at the end of a function returns
// behind it, hence the 1. The stack is walked only where the caller itself is not the one.
std::uintptr_t telling(const void* caller) noexcept {
  const auto direct = reinterpret_cast<std::uintptr_t>(caller);
  if (direct == 0 || !is_detour(direct - 1)) return direct;
  std::uint64_t pc[record::stack_depth];
  const unsigned depth = record::walk_stack(record::find_stack_bounds(), pc);
  for (unsigned i = 0; i < depth; ++i)
    if (!is_detour(pc[i] - 1)) return pc[i];
  return direct;
}

// Whether an item with these settings is for objects of that kind.
bool is_for(chooser who, unsigned setting) noexcept {
  constexpr unsigned lock = (most_chosen_locks - 1) << chosen_lock_shift,
                     prefer = prefer_readers | prefer_writers,
                     barrier = barrier_wait_mask << barrier_wait_shift;
  const unsigned own = who == chooser::mutex ? lock : who == chooser::rwlock ? prefer : barrier;
  return (setting & own) != 0 ||
         ((setting & (lock | prefer | barrier)) == 0 && who != chooser::barrier);
}

decision choose(chooser who, const void* object, const void* caller, char by_code) noexcept {
  const std::size_t count = known.load(std::memory_order_acquire);  // [L]
  std::uintptr_t code = 0;
  for (std::size_t i = 0; i < count; ++i) {
    site& s = table.sites[i];
    if ((s.kind != 'v' && s.kind != by_code) || !is_for(who, s.setting)) continue;
    if (s.kind != 'v' && code == 0) code = telling(caller) - 1;
    if (!s.holds(s.kind == 'v' ? reinterpret_cast<std::uintptr_t>(object) : code)) continue;
    return {s.setting, &s.locks};
  }
  return {asked, nullptr};
}

void say_number(char (&text)[12], std::uint32_t number) noexcept {
  char* at = text + sizeof text - 1;
  *at = '\0';
  do *--at = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  std::memmove(text, at, static_cast<std::size_t>(text + sizeof text - at));
}

}  // namespace

bool is_policy_given(bool elision_counts) noexcept {
  const char* const text = setting<option::sites>();
  return text != nullptr &&
         (elision_counts || std::strstr(text, "lock=") != nullptr ||
          std::strstr(text, "prefer=") != nullptr || std::strstr(text, "barrier=") != nullptr);
}

bool policy_names(bool (*is_one)(const algorithm&)) noexcept {
  constexpr char key[] = "lock=";
  const char* at = setting<option::sites>();
  while (at != nullptr && (at = std::strstr(at, key)) != nullptr) {
    at += sizeof key - 1;
    char name[64] = {};
    std::memcpy(name, at, std::min(std::strcspn(at, "+,;"), sizeof name - 1));
    if (const algorithm* const lock = find_algorithm(name); lock != nullptr && is_one(*lock))
      return true;
  }
  return false;
}

void read_policy() noexcept {
  if (!has_policy) return;
  const char* const text = setting<option::sites>();
  if (text == nullptr) return;
  if (!read_sites(text, table)) {
    say({"syncopate: SYNCOPATE_SITES cannot be read; it is written by `syncopate run --policy`"});
    return;
  }
  record::prepare_unwinding();
  known.store(table.site_count, std::memory_order_release);  // [K]
}

decision choose_at_first_use(chooser who, const void* object, const void* caller) noexcept {
  return choose(who, object, caller, 'u');
}

decision choose_at_init(chooser who, const void* object, const void* caller) noexcept {
  const decision chosen = choose(who, object, caller, 'c');
  return chosen.locks == nullptr && table.waits_for_first_use ? decision{0, nullptr} : chosen;
}

const char* label_at(const void* object) noexcept {
  const std::size_t count = known.load(std::memory_order_acquire);  // [L]
  for (std::size_t i = 0; i < count; ++i)
    if (table.sites[i].kind == 'v' &&
        table.sites[i].holds(reinterpret_cast<std::uintptr_t>(object)))
      return table.sites[i].label;
  return nullptr;
}

void report_policy() noexcept {
  const std::size_t count = known.load(std::memory_order_acquire);  // [L]
  for (std::size_t i = 0; i < count;) {
    const site& s = table.sites[i];
    std::uint32_t locks = 0;  // a name may stand for several sites
    for (; i < count && std::strcmp(table.sites[i].label, s.label) == 0 &&
           table.sites[i].setting == s.setting;
         ++i)
      locks += table.sites[i].locks;
    char number[12];
    say_number(number, locks);
    const algorithm& lock = *chosen_locks[s.setting >> chosen_lock_shift & (most_chosen_locks - 1)];
    const char* const elides = (s.setting & always_elide) != 0  ? "; elide always"
                               : (s.setting & never_elide) != 0 ? "; elide off"
                                                                : "";
    const char* const prefers = (s.setting & prefer_writers) != 0   ? "prefer writers"
                                : (s.setting & prefer_readers) != 0 ? "prefer readers"
                                                                    : nullptr;
    const unsigned barrier = s.setting >> barrier_wait_shift & barrier_wait_mask;
    if (barrier != 0)
      say({"syncopate: policy: ", s.label, ": barriers: ", number, ", each waits by ",
           barrier_waits[barrier - 1]});
    else if (prefers != nullptr)
      say({"syncopate: policy: ", s.label, ": locks: ", number, ", each ", prefers, elides});
    else
      say({"syncopate: policy: ", s.label, ": locks: ", number, ", each ", lock.name.data(),
           lock.wait.empty() ? "" : ":", lock.wait.data(), elides});
  }
}

}  // namespace syncopate::shim
