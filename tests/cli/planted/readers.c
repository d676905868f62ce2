// Look-ups, which only read, exclude each other; one section in a thousand writes.
#include "planted.h"
enum { KEYS = 12000 };
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
uint64_t keys[KEYS], values[KEYS];
static volatile uint64_t found;
__attribute__((noinline)) static uint64_t find(uint64_t key) {
  for (int i = 0; i < KEYS; i++)
    if (keys[i] == key) return values[i];
  return 0;
}
__attribute__((noinline)) static uint64_t look_up(uint64_t key) {
  pthread_mutex_lock(&map_lock);
  uint64_t value = find(key);
  pthread_mutex_unlock(&map_lock);
  return value;
}
__attribute__((noinline)) static void change(uint64_t key, uint64_t value) {
  pthread_mutex_lock(&map_lock);
  values[key % KEYS] = value;
  pthread_mutex_unlock(&map_lock);
}
static void* worker(void* x) {
  uint64_t sum = 0;
  for (int i = 0; i < 20000; i++) {
    sum += look_up(11800 + i % 200);
    if (i % 1000 == 0) change(i, i);
    work(200);
  }
  found = sum;
  return x;
}
int main(void) {
  for (int i = 0; i < KEYS; i++) keys[i] = i;
  run_threads(4, worker);
}
