// A thread that touches memory of which the kernel has given no page yet, while it has a lock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { page = 4096, pages = 64, holds = 200 };

static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static char* known;

static void touch(char* memory) {
  for (int i = 0; i != pages; ++i) ((volatile char*)memory)[i * page] = 1;
}

int main(void) {
  known = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  touch(known);
  for (int hold = 0; hold != holds; ++hold) {
    pthread_mutex_lock(&arena_lock);
    char* const memory =
        mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, pages * page, MADV_NOHUGEPAGE) > 0) abort();
    touch(memory);
    pthread_mutex_unlock(&arena_lock);
    munmap(memory, pages * page);
    pthread_mutex_lock(&seen_lock);
    for (int again = 0; again != 20; ++again) touch(known);
    pthread_mutex_unlock(&seen_lock);
  }
}
