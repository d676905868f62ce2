// Two loops that wait for each other's plain variables, and count their turns: no turn is like the
// one before. Each lets the other go on, which writes what it reads: a race.
// Expect: 1 failed: data race
#include <pthread.h>

volatile int done[2];
unsigned turns[2];

template <int Me>
void* waits(void*) {
  while (done[1 - Me] == 0) ++turns[Me];
  done[Me] = 1;
  return nullptr;
}

int main() {
  pthread_t first, second;
  if (pthread_create(&first, nullptr, waits<0>, nullptr) != 0) return 1;
  done[0] = 1;
  if (pthread_create(&second, nullptr, waits<1>, nullptr) != 0) return 1;
  pthread_join(first, nullptr);
  pthread_join(second, nullptr);
}
