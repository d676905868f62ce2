// test_mutex_unlock_free.cpp -- unlocking a normal mutex that nobody holds: POSIX leaves it
// undefined, glibc returns 0 and the mutex stays usable, and error paths of real programs do it.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

void usable(pthread_mutex_t* mutex) {
  CHECK_OK(pthread_mutex_lock(mutex));
  CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(mutex); }), EBUSY);
  CHECK_OK(pthread_mutex_unlock(mutex));
}

void unlock_when_free(const MutexKind& kind) {
  pthread_mutex_t mutex;
  make_mutex(&mutex, kind, Making::attributes);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  usable(&mutex);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  CHECK_OK(pthread_mutex_unlock(&mutex));
  usable(&mutex);
  usable(&mutex);
}

}  // namespace

int main() {
  check_begin();
  for (const MutexKind& kind : mutex_kinds)
    if (kind.type == PTHREAD_MUTEX_NORMAL || kind.type == PTHREAD_MUTEX_ADAPTIVE_NP)
      unlock_when_free(kind);
  return check_end();
}
