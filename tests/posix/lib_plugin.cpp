// lib_plugin.cpp -- a library opened at run time that uses every family of pthread objects.
//
// It has initial-exec thread-locals: opening it works only while static thread-local space is left.
#include <pthread.h>

namespace {

struct Guarded {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
};
Guarded guarded;
__thread long initial_exec_area[32] __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) void on_open() {
  pthread_mutex_lock(&guarded.mutex);
  pthread_mutex_unlock(&guarded.mutex);
}

}  // namespace

extern "C" {

pthread_mutex_t* plugin_mutex() { return &guarded.mutex; }
pthread_cond_t* plugin_cond() { return &guarded.cond; }

// Returns: the first error of a round over all families, 0 when all went well.
int plugin_round(volatile long* counter) {
  int error = pthread_mutex_lock(&guarded.mutex);
  if (error != 0) return error;
  *counter = *counter + 1;
  ++initial_exec_area[*counter % 32];
  error = pthread_cond_signal(&guarded.cond);
  if (error != 0) return error;
  error = pthread_mutex_unlock(&guarded.mutex);
  if (error != 0) return error;
  error = pthread_rwlock_wrlock(&guarded.rwlock);
  return error != 0 ? error : pthread_rwlock_unlock(&guarded.rwlock);
}
}
