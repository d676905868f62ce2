// algorithms.cpp -- the table behind algorithms.h, made from locks/all.h.

#include "preload/choice/algorithms.h"

#include <syncopate/locks/all.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "preload/choice/mutex_object.h"
#include "preload/choice/offered.h"

namespace syncopate::shim {
namespace {

template <class Lock>
Lock& as(void* object) noexcept {
  return *static_cast<Lock*>(object);
}

// Locks that stand in mutexes as another one are elided, by the policy of their name.
template <class Lock>
constexpr const elide::retry_policy* elision_of(const lock_entry<Lock>& entry) {
  if (std::is_same_v<mutex_form<Lock>, Lock> || Lock::traits.transacts == false) return nullptr;
  return elide::find_policy(entry.name);
}

template <class Listed>
constexpr algorithm make(const lock_entry<Listed>& entry) {
  using Lock = mutex_form<Listed>;
  static_assert(alignof(Lock) <= 8);
  algorithm a{};
  a.name = entry.name.data();
  a.wait = entry.wait.data();
  a.is_default = entry.is_default;
  a.glibc_word = Lock::traits.glibc_word;
  a.keeps_owner = Lock::traits.keeps_owner;
  // Of those that are not for unmodified programs, and of no others here, this is no loss.
  a.shuns_owner = Lock::traits.transacts || !Lock::traits.preload;
  a.runs_ahead = Lock::traits.runs_ahead;
  a.elision = elision_of(entry);
  a.remembers_contention = Lock::traits.remembers_contention;
  a.keeps_polling = keeps_polling<Lock>;
  a.is_inlined = std::is_same_v<Lock, inlined_lock>;
  a.lock = [](void* object) { as<Lock>(object).lock(); };
  a.try_lock = [](void* object) { return as<Lock>(object).try_lock(); };
  a.unlock = [](void* object) { as<Lock>(object).unlock(); };
  a.contended = [](const void* object) { return static_cast<const Lock*>(object)->contended(); };
  a.is_locked = [](const void* object) { return static_cast<const Lock*>(object)->is_locked(); };
  if constexpr (Lock::traits.timed)
    a.lock_until = [](void* object, const machine::deadline& until) {
      return as<Lock>(object).lock_until(until);
    };
  return a;
}

// Whether unmodified programs may have it; on a modeled machine they may have every one that fits.
#if defined(SYNCOPATE_EVERY_LOCK)
template <class Lock>
inline constexpr bool offered = Lock::traits.excludes&& fits<Lock>;
#else
template <class Lock>
inline constexpr bool offered = is_for_unmodified_programs<Lock>;
#endif

constexpr std::size_t count = [] {
  std::size_t n = 0;
  for_each_lock([&]<class Lock>(lock_entry<Lock>) { n += offered<Lock> ? 1 : 0; });
  return n;
}();

struct table {
  algorithm entries[count];
};

constexpr table all = [] {
  table t{};
  std::size_t n = 0;
  for_each_lock([&]<class Lock>(lock_entry<Lock> entry) {
    if constexpr (offered<Lock>) t.entries[n++] = make(entry);
  });
  return t;
}();

}  // namespace

const algorithm* find_algorithm(const char* specification) noexcept {
  const char* const colon = std::strchr(specification, ':');
  const std::size_t length = colon != nullptr ? static_cast<std::size_t>(colon - specification)
                                              : std::strlen(specification);
  for (const algorithm& a : all.entries)
    if (std::strlen(a.name) == length && std::memcmp(a.name, specification, length) == 0 &&
        (colon == nullptr ? a.is_default : std::strcmp(a.wait, colon + 1) == 0))
      return &a;
  return nullptr;
}

}  // namespace syncopate::shim
