// test_keys.cpp -- every key for thread-specific data is the program's: the library takes none.
#include <limits.h>

#include <vector>

#include "thread.h"

int main() {
  check_begin();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const auto use_a_mutex = [&mutex] {
    CHECK_OK(pthread_mutex_lock(&mutex));
    CHECK_OK(pthread_mutex_unlock(&mutex));
  };
  run_threads(2, [&](int) { use_a_mutex(); });

  std::vector<pthread_key_t> keys(PTHREAD_KEYS_MAX);
  for (pthread_key_t& key : keys) CHECK_OK(pthread_key_create(&key, nullptr));
  run_threads(2, [&](int) {
    for (const pthread_key_t key : keys) CHECK_OK(pthread_setspecific(key, &mutex));
    use_a_mutex();
    for (const pthread_key_t key : keys) CHECK(pthread_getspecific(key) == &mutex);
  });
  for (const pthread_key_t key : keys) CHECK_OK(pthread_key_delete(key));
  return check_end();
}
