// offered.h -- which locks unmodified programs may have.
#pragma once

#include "preload/mutex_object.h"

namespace syncopate::shim {

// Whether a lock has room inside the program's mutex.
template <class Lock>
inline constexpr bool fits = sizeof(Lock) <= mutex_object::room || Lock::traits.glibc_word;

template <class Lock>
inline constexpr bool is_for_unmodified_programs =
    Lock::traits.excludes&& Lock::traits.preload&& fits<Lock>;

}  // namespace syncopate::shim
