// many_threads.cpp -- 200 threads, first all at once, then one after the other; their results,
// names and handles.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <pthread.h>

#include "check.h"

namespace {

constexpr int count = 200;
std::atomic<int> started{0};

void* add_one(void* argument) {
  started.fetch_add(1);
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(argument) + 1);
}

void* wait_for_all(void* argument) {
  started.fetch_add(1);
  while (started.load() < count) std::this_thread::yield();
  return argument;
}

void join_and_check(pthread_t thread, std::uintptr_t expected) {
  void* result = nullptr;
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(result) == expected);
}

// The stack that a thread is told of is the one it runs on, as large as was asked for.
void* told_of(void* asked) {
  volatile char local = 0;
  pthread_attr_t mine;
  CHECK(pthread_getattr_np(pthread_self(), &mine) == 0);
  void* low = nullptr;
  std::size_t bytes = 0;
  CHECK(pthread_attr_getstack(&mine, &low, &bytes) == 0);
  CHECK(bytes >= *static_cast<std::size_t*>(asked));
  CHECK(&local > static_cast<char*>(low) && &local < static_cast<char*>(low) + bytes);
  pthread_attr_destroy(&mine);
  return nullptr;
}

void check_stack(std::size_t asked) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, asked) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, &attributes, told_of, &asked) == 0);
  pthread_attr_destroy(&attributes);
  join_and_check(thread, 0);
}

}  // namespace

int main() {
  std::vector<pthread_t> threads(count);
  for (std::uintptr_t i = 0; i < count; ++i)
    CHECK(pthread_create(&threads[i], nullptr, wait_for_all, reinterpret_cast<void*>(i)) == 0);
  CHECK(std::set<pthread_t>(threads.begin(), threads.end()).size() == count);
  for (std::uintptr_t i = 0; i < count; ++i) join_and_check(threads[i], i);
  CHECK(started.load() == count);

  for (std::uintptr_t i = 0; i < count; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, nullptr, add_one, reinterpret_cast<void*>(i)) == 0);
    join_and_check(thread, i + 1);
  }

  CHECK(pthread_setname_np(pthread_self(), "a name of 15 by") == 0);
  CHECK(pthread_setname_np(pthread_self(), "a name of 16 byt") != 0);
  std::thread([] {
    char name[16];
    CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    CHECK(std::strcmp(name, "a name of 15 by") == 0);  // inherited
  }).join();

  check_stack(std::size_t{1} << 20);
  check_stack(std::size_t{256} << 20);
}
