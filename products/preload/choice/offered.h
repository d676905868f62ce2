// offered.h -- which locks unmodified programs may have.
#pragma once

#include "preload/choice/mutex_object.h"

namespace syncopate::shim {

namespace detail {
template <class Lock>
struct mutex_form {
  using type = Lock;
};
template <class Lock>
requires requires { typename Lock::in_mutex; }
struct mutex_form<Lock> {
  using type = typename Lock::in_mutex;
};
}  // namespace detail

// What a program's mutex has in it when its user names this lock: what the lock says, else itself.
// The simulated machine has the locks as they are: what is against them here does not hold there.
#if defined(SYNCOPATE_EVERY_LOCK)
template <class Lock>
using mutex_form = Lock;
#else
template <class Lock>
using mutex_form = typename detail::mutex_form<Lock>::type;
#endif

// Whether a lock has room inside the program's mutex.
template <class Lock>
inline constexpr bool fits = sizeof(mutex_form<Lock>) <= mutex_object::room
                             || Lock::traits.glibc_word;

template <class Lock>
inline constexpr bool is_for_unmodified_programs =
    Lock::traits.excludes&& Lock::traits.preload&& fits<Lock>;

}  // namespace syncopate::shim
