// mutex_kinds.h -- every way to make a mutex of every kind, for tables over all of them.
#ifndef SYNCOPATE_TESTS_POSIX_MUTEX_KINDS_H
#define SYNCOPATE_TESTS_POSIX_MUTEX_KINDS_H

#include "check.h"

struct MutexKind {
  const char* name;
  int type;
  pthread_mutex_t initial;  // the static initializer
};

inline const MutexKind mutex_kinds[] = {
    {"normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_INITIALIZER},
    {"recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP},
    {"errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP},
    {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP},
};

enum class Making { static_initializer, attributes };
inline const Making makings[] = {Making::static_initializer, Making::attributes};

// Copying an unused statically initialized mutex is what `= PTHREAD_MUTEX_INITIALIZER` does.
inline void make_mutex(pthread_mutex_t* mutex, const MutexKind& kind, Making making) {
  if (making == Making::static_initializer) {
    memcpy(static_cast<void*>(mutex), &kind.initial, sizeof *mutex);
    return;
  }
  pthread_mutexattr_t attributes;
  CHECK_OK(pthread_mutexattr_init(&attributes));
  CHECK_OK(pthread_mutexattr_settype(&attributes, kind.type));
  CHECK_OK(pthread_mutex_init(mutex, &attributes));
  CHECK_OK(pthread_mutexattr_destroy(&attributes));
}

#endif
