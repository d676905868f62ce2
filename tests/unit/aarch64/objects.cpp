// objects.cpp -- only compiled: what the preload library keeps inside of the C library's objects
// has room in those of aarch64, at the places where glibc looks.
#include "preload/choice/mutex_object.h"
#include "preload/condition/condition_object.h"
#include "preload/rwlock/rwlock_lock.h"

using syncopate::shim::mutex_object;
static_assert(sizeof(mutex_object) <= sizeof(pthread_mutex_t));
