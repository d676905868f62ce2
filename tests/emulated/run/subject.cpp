// subject.cpp -- four locks by two threads: which of them were elided, the record says.
//
//   subject            both threads at once
//   subject alone      one after the other
//   subject contended  the same, but before that named_lock is contended once
#include <cstdio>
#include <string_view>
#include <thread>

#include <pthread.h>

#include "../contended.h"

struct table {
  pthread_mutex_t lock;
  long sum = 0;
};

pthread_mutex_t named_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t named_rwlock = PTHREAD_RWLOCK_INITIALIZER;
long named_sum = 0, read_sum = 0;

[[gnu::noinline]] table* make_table() {
  auto* const made = new table;
  pthread_mutex_init(&made->lock, nullptr);
  return made;
}
[[gnu::noinline]] table* make_other() {
  auto* const made = new table;
  pthread_mutex_init(&made->lock, nullptr);
  return made;
}

[[gnu::noinline]] void add(table* to) {
  pthread_mutex_lock(&to->lock);
  ++to->sum;
  pthread_mutex_unlock(&to->lock);
}

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "contended") contend_once(named_lock);
  table* const first = make_table();
  table* const second = make_other();
  constexpr int rounds = 2000;
  const auto work = [&] {
    for (int i = 0; i < rounds; ++i) {
      add(first);
      add(second);
      pthread_mutex_lock(&named_lock);
      ++named_sum;
      pthread_mutex_unlock(&named_lock);
      pthread_rwlock_rdlock(&named_rwlock);
      const long seen = read_sum;
      pthread_rwlock_unlock(&named_rwlock);
      pthread_rwlock_wrlock(&named_rwlock);
      read_sum += seen >= 0 ? 1 : 0;
      pthread_rwlock_unlock(&named_rwlock);
    }
  };
  if (!how.empty()) work();
  std::thread other(work);
  if (how.empty()) work();
  other.join();
  const long expected = 2 * rounds;
  if (first->sum != expected || second->sum != expected || named_sum != expected ||
      read_sum != expected)
    return 1;
  std::puts("ok");
}
