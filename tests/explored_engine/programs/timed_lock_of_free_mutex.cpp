// A timed lock of a mutex that is free succeeds, however late it is.
// Expect: 0 passed:
#include <pthread.h>
#include <cassert>
#include <ctime>

int main() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  const int error = pthread_mutex_timedlock(&mutex, &until);
  assert(error == 0);
  pthread_mutex_unlock(&mutex);
}
