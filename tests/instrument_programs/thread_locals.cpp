// thread_locals.cpp -- thread_local variables are each thread's own; their destructors run before
// those of pthread keys, in reverse order of construction.

#include <cerrno>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#include "check.h"

namespace {

std::mutex mutex;
std::string order;

void note(char c) {
  const std::scoped_lock lock(mutex);
  order += c;
}

struct noting {
  char name;
  explicit noting(char n) : name(n) {}
  ~noting() { note(name); }
};

thread_local int counter = 7;
pthread_key_t key;

// The first call plants the value again, as POSIX allows: destructors run in rounds.
void key_destructor(void* value) {
  CHECK(pthread_getspecific(key) == nullptr);
  const auto round = reinterpret_cast<std::uintptr_t>(value);
  note(static_cast<char>('0' + round));
  if (round == 1) CHECK(pthread_setspecific(key, reinterpret_cast<void*>(round + 1)) == 0);
}

void destructors_in_order() {
  std::thread([] {
    CHECK(pthread_setspecific(key, reinterpret_cast<void*>(1)) == 0);
    static thread_local noting a('a');
    static thread_local noting b('b');
    (void)a, (void)b;
    note('r');
  }).join();
  CHECK(order == "rba12");
}

void own_copies() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      CHECK(counter == 7);
      CHECK(pthread_getspecific(key) == nullptr);
      errno = 100 + t;
      for (int i = 0; i < 10; ++i) {
        counter += t;
        std::this_thread::yield();
      }
      CHECK(counter == 7 + 10 * t);
      CHECK(errno == 100 + t);
    });
  for (std::thread& t : threads) t.join();
  CHECK(counter == 7);
}

}  // namespace

int main() {
  CHECK(pthread_key_create(&key, key_destructor) == 0);
  destructors_in_order();
  own_copies();
  CHECK(pthread_key_delete(key) == 0);
}
