// detached.cpp -- detached threads run on; joining them is an error; handles are told apart.

#include <atomic>
#include <cerrno>
#include <thread>

#include <pthread.h>

#include "check.h"

namespace {

std::atomic<int> finished{0};
std::atomic<bool> may_finish{false};

void* body(void*) {
  while (!may_finish.load()) std::this_thread::yield();
  finished.fetch_add(1);
  return nullptr;
}

}  // namespace

int main() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
  pthread_t born_detached, later_detached;
  CHECK(pthread_create(&born_detached, &attributes, body, nullptr) == 0);
  pthread_attr_destroy(&attributes);
  CHECK(pthread_create(&later_detached, nullptr, body, nullptr) == 0);
  CHECK(pthread_detach(later_detached) == 0);
  CHECK(pthread_detach(later_detached) == EINVAL);
  CHECK(pthread_join(born_detached, nullptr) == EINVAL);
  CHECK(pthread_join(later_detached, nullptr) == EINVAL);
  CHECK(pthread_join(pthread_self(), nullptr) == EDEADLK);
  CHECK(!pthread_equal(born_detached, later_detached));
  std::thread([] { finished.fetch_add(1); }).detach();
  may_finish.store(true);
  while (finished.load() < 3) std::this_thread::yield();

  // Detaching a thread that has ended frees it.
  std::atomic<bool> over{false};
  std::thread short_lived([&] { over.store(true); });
  while (!over.load()) std::this_thread::yield();
  short_lived.detach();
}
