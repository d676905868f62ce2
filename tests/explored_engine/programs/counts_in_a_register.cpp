// A loop that reads one plain variable again and again, and counts its turns where nobody sees it:
// it ends.
// Expect: 0 passed: 1 executions
#include <pthread.h>

volatile int over;

void* looks(void*) {
  for (int i = 0; i < 9'000'000 && over == 0; ++i) {
  }
  return nullptr;
}

int main() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, looks, nullptr) != 0) return 1;
  return pthread_join(thread, nullptr);
}
