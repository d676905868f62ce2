// Threads that end by pthread_exit, which unwinds their stacks with the help of a library.
// Expect: 0 passed:
#include <pthread.h>
#include <cassert>

int main() {
  const auto body = [](void* result) -> void* { pthread_exit(result); };
  int results[2] = {};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], nullptr, body, &results[i]);
  for (int i = 0; i < 2; ++i) {
    void* result = nullptr;
    pthread_join(threads[i], &result);
    assert(result == &results[i]);
  }
}
