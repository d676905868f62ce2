// algorithms.cpp -- the table behind algorithms.h, made from locks/all.h.

#include "preload/choice/algorithms.h"

#include <syncopate/locks/all.h>

#include <type_traits>

#include "preload/choice/mutex_object.h"
#include "preload/choice/offered.h"

namespace syncopate::shim {
namespace {

// Locks that stand in mutexes as another one are elided, by the policy of their name.
template <class Lock>
constexpr const elide::retry_policy* elision_of(const lock_entry<Lock>& entry) {
  if (std::is_same_v<mutex_form<Lock>, Lock> || Lock::traits.transacts == false) return nullptr;
  return elide::find_policy(entry.name);
}

struct rows {
  // Whether unmodified programs may have it; on a modeled machine they may have each one that fits.
#if defined(SYNCOPATE_EVERY_LOCK)
  template <class Lock>
  static constexpr bool has = Lock::traits.excludes&& fits<Lock>;
#else
  template <class Lock>
  static constexpr bool has = is_for_unmodified_programs<Lock>;
#endif

  template <class Listed>
  static constexpr algorithm make(const lock_entry<Listed>& entry) noexcept {
    using Lock = mutex_form<Listed>;
    static_assert(alignof(Lock) <= 8);
    return {erase<Lock>(entry),
            // Of those not for unmodified programs, and of no others here, this is no loss.
            Lock::traits.transacts || !Lock::traits.preload, keeps_polling<Lock>,
            std::is_same_v<Lock, inlined_lock>, elision_of(entry)};
  }
};

constexpr auto all = make_lock_table<rows>();

}  // namespace

const algorithm* find_algorithm(std::string_view specification) noexcept {
  return find_lock(all, specification);
}

}  // namespace syncopate::shim
