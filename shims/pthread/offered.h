// offered.h -- which locks unmodified programs may have.
#pragma once

#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/futex_lock.h>

#include <type_traits>

#include "pthread/mutex_object.h"

namespace syncopate::shim {

// Whether a lock has room inside the program's mutex.
template <class Lock>
inline constexpr bool fits = sizeof(Lock) <= mutex_object::room
                             || std::is_same_v<Lock, auto_lock> || std::is_same_v<Lock, futex_lock>;

template <class Lock>
inline constexpr bool is_for_unmodified_programs =
    Lock::traits.excludes&& Lock::traits.preload&& fits<Lock>;

}  // namespace syncopate::shim
