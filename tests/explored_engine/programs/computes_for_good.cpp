// A thread that counts for ever, and orders nothing: the others are explored, and then it is named.
// Expect: 3 bounded: .*limit: a computation without an end
#include <pthread.h>

volatile int going = 1;
unsigned turns;

void* count(void*) {
  while (going) ++turns;
  return nullptr;
}

int main() {
  pthread_t thread;
  return pthread_create(&thread, nullptr, count, nullptr);
}
