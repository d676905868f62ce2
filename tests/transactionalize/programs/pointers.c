/* Locks behind pointers: through void*, a chain of calls, members of two structures with the same
   name, and one pointer that may mean either of two. */
#include "threads.h"

enum { LOCKS = 4 };

static pthread_mutex_t item_locks[LOCKS], other_locks[LOCKS];
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static long items[LOCKS], others[LOCKS], plains, either;

struct holder {
  void* held;
};
struct stranger {
  void* held; /* never a lock */
};

static void* try_one(long item) {
  pthread_mutex_t* lock = &item_locks[item % LOCKS];
  if (pthread_mutex_trylock(lock) == 0) {
    return lock;
  }
  return NULL;
}

static void* try_again(long item) {
  void* got = try_one(item);
  return got ? got : try_one(item);
}

static void give_back(void* lock) { pthread_mutex_unlock((pthread_mutex_t*)lock); }

static void through_a_member(long item) {
  struct holder h;
  struct stranger s;
  s.held = malloc(1);
  h.held = try_again(item);
  if (h.held != NULL) {
    ++items[item % LOCKS];
    give_back(h.held);
  }
  free(s.held);
}

static void change_other(long item) {
  pthread_mutex_t* const mine = other_locks + item % LOCKS;
  pthread_mutex_lock(mine);
  ++others[item % LOCKS];
  pthread_mutex_unlock(mine);
}

static void change_either(int which) {
  pthread_mutex_t* one = which ? &first : &second;
  pthread_mutex_lock(one);
  if (one == &first) ++either;
  pthread_mutex_unlock(one);
}

static void change_first(void) {
  pthread_mutex_lock(&first);
  ++either;
  pthread_mutex_unlock(&first);
}

static void* body(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    through_a_member(i);
    change_other(i);
    change_either(i % 2);
    change_first();
    pthread_mutex_lock(&plain);
    ++plains;
    pthread_mutex_unlock(&plain);
  }
  return unused;
}

int main(void) {
  for (int i = 0; i < LOCKS; ++i) {
    pthread_mutex_init(&item_locks[i], NULL);
    pthread_mutex_init(&other_locks[i], NULL);
  }
  run_threads(body);
  long sum = 0;
  for (int i = 0; i < LOCKS; ++i) sum += others[i];
  printf("%ld %ld %ld %d\n", sum, plains, either, items[0] > 0);
  return 0;
}
