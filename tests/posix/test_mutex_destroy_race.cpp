// test_mutex_destroy_race.cpp -- the last thread out destroys the mutex and unmaps its memory at
// once.
//
// POSIX: a mutex may be destroyed immediately after it is unlocked. An unlock that touches the
// object after the store that released it dies here with SIGSEGV, or disturbs the memory's next
// user.
#include "thread.h"

namespace {

struct Object {
  pthread_mutex_t mutex;
  int references;
};

Object* make(int references) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  auto* object = static_cast<Object*>(memory);
  CHECK_OK(pthread_mutex_init(&object->mutex, nullptr));
  object->references = references;
  return object;
}

void release(Object* object) {
  if (pthread_mutex_lock(&object->mutex) != 0) abort();
  const bool last = --object->references == 0;
  if (pthread_mutex_unlock(&object->mutex) != 0) abort();
  if (!last) return;
  // The other thread may still be inside its unlock, but not with the mutex's memory.
  CHECK_OK(pthread_mutex_destroy(&object->mutex));
  CHECK_EQ(munmap(object, 4096), 0);
}

constexpr int rounds = 3000;
constexpr int sharers = 3;
Object* objects[rounds];
int created = 0;

}  // namespace

int main() {
  check_begin();
  Thread maker([] {
    for (int i = 0; i < rounds; ++i) {
      objects[i] = make(sharers);
      __atomic_store_n(&created, i + 1, __ATOMIC_RELEASE);
    }
  });
  run_threads(sharers, [](int) {
    for (int i = 0; i < rounds; ++i) {
      while (get_int(&created) <= i) sched_yield();
      release(objects[i]);
    }
  });
  maker.join();
  CHECK_EQ(created, rounds);
  return check_end();
}
