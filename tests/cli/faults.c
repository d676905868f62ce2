// A thread that touches pages of a file while it has a lock that another one waits for; none of
// them is in memory. Prints how often a page had to be read, in how many holds, and for how long.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { page = 4096, holds = 400, pages = 8 };

static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool has_ended;
static atomic_long sum;
static long rounds;

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}

static long pages_read(void) {
  struct rusage used;
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_majflt;
}

static void* wait_for_it(void* none) {
  while (!has_ended) {
    pthread_mutex_lock(&map_lock);
    sum += ++rounds;
    pthread_mutex_unlock(&map_lock);
    usleep(300);
  }
  return none;
}

int main(int count, char** arguments) {
  const int file = count == 2 ? open(arguments[1], O_RDONLY) : -1;
  const long size = lseek(file, 0, SEEK_END);
  if (size < holds * pages * page || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) return 2;
  const char* const map = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
  if (map == MAP_FAILED || madvise((void*)map, size, MADV_RANDOM) != 0) return 2;
  pthread_t waiter;
  pthread_create(&waiter, NULL, wait_for_it, NULL);
  long in = 0, took = 0;
  for (int hold = 0; hold != holds; ++hold) {
    pthread_mutex_lock(&map_lock);
    const long begun = now(), before = pages_read();
    for (int i = 0; i != pages; ++i) sum += map[(long)(i * holds + hold) * page];
    in += pages_read() != before;
    took += now() - begun;
    pthread_mutex_unlock(&map_lock);
    usleep(100);
  }
  has_ended = 1;
  pthread_join(waiter, NULL);
  printf("%ld %ld %ld\n", pages_read(), in, took);
}
