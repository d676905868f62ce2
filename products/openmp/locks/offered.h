// offered.h -- which locks OpenMP programs may have.
#pragma once

#include <syncopate/locks/one_spinner_lock.h>

#include "openmp/locks/locks.h"

namespace syncopate::openmp {

// Whether its threads give something back when they end, in a C++ destructor, which asks the C
// library for memory: not behind a pthread mutex, which the program's own malloc may lock. Here
// nobody locks in malloc (memory.cpp has what the destructor needs).
template <class Lock>
inline constexpr bool ends_with_thread = false;
template <class Wait>
inline constexpr bool ends_with_thread<one_spinner_lock<Wait>> = true;

template <class Lock>
inline constexpr bool fits_pool = sizeof(Lock) <= sizeof(pool_entry::object);

template <class Lock>
inline constexpr bool is_for_openmp =
    Lock::traits.excludes&& fits_pool<Lock> && !Lock::traits.transacts &&
    (Lock::traits.preload || ends_with_thread<Lock>);

}  // namespace syncopate::openmp
