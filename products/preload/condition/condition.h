// condition.h -- what the other objects of this library (C11) need of condition variables.
#pragma once

#include <pthread.h>

namespace syncopate::shim {

// As pthread_cond_timedwait; at == nullptr: as pthread_cond_wait. `caller`: where the program's
// call returns to.
int wait_for_condition(pthread_cond_t* c, pthread_mutex_t* m, const timespec* at,
                       const void* caller);

}  // namespace syncopate::shim
