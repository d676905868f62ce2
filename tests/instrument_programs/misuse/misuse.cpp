// misuse.cpp -- one misuse of a pthread object, named by the argument. The explored machine's
// objects must say what is wrong with it; nothing else does.

#include <cstdio>
#include <cstring>
#include <thread>

#include <pthread.h>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

struct {
  const char* name;
  void (*run)();
} const cases[] = {
    {"unlock_free", [] { pthread_mutex_unlock(&mutex); }},
    {"unlock_by_other",
     [] {
       std::thread([] { pthread_mutex_lock(&mutex); }).join();
       pthread_mutex_unlock(&mutex);
     }},
    {"lock_twice",
     [] {
       pthread_mutex_lock(&mutex);
       pthread_mutex_lock(&mutex);
     }},
    {"destroy_held",
     [] {
       pthread_mutex_lock(&mutex);
       pthread_mutex_destroy(&mutex);
     }},
    {"lock_destroyed",
     [] {
       pthread_mutex_destroy(&mutex);
       pthread_mutex_lock(&mutex);
     }},
    {"wait_without_mutex", [] { pthread_cond_wait(&condition, &mutex); }},
    {"signal_destroyed",
     [] {
       pthread_cond_destroy(&condition);
       pthread_cond_signal(&condition);
     }},
    {"rwlock_unlock_free", [] { pthread_rwlock_unlock(&rwlock); }},
    {"rwlock_destroy_held",
     [] {
       pthread_rwlock_rdlock(&rwlock);
       pthread_rwlock_destroy(&rwlock);
     }},
    {"barrier_destroy_waiting",
     [] {
       static pthread_barrier_t barrier;
       pthread_barrier_init(&barrier, nullptr, 2);
       std::thread([] { pthread_barrier_wait(&barrier); }).detach();
       for (int i = 0; i < 100; ++i) std::this_thread::yield();
       pthread_barrier_destroy(&barrier);
     }},
    {"spin_unlock_free",
     [] {
       pthread_spinlock_t lock;
       pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
       pthread_spin_unlock(&lock);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& one : cases) {
    if (argc != 2 || std::strcmp(argv[1], one.name) != 0) continue;
    one.run();
    std::fprintf(stderr, "%s went unnoticed\n", one.name);
    return 0;
  }
  std::fprintf(stderr, "usage: misuse CASE\n");
  return 0;
}
