// leaving_early.cpp -- pthread_exit and cancellation: the stack unwinds, handlers run, the mutex of
// a canceled wait is held again; main may leave by pthread_exit while others go on.

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <thread>

#include <cxxabi.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "check.h"

namespace {

int unwound = 0;
struct counts_unwinding {
  ~counts_unwinding() { ++unwound; }
};

[[gnu::noinline]] void leave_from_below(int depth) {
  const counts_unwinding here;
  if (depth > 0) return leave_from_below(depth - 1);
  if (unwound == 0) pthread_exit(reinterpret_cast<void*>(77));
}

void exit_unwinds() {
  pthread_t thread;
  CHECK(pthread_create(
            &thread, nullptr,
            [](void*) -> void* {
              try {
                leave_from_below(3);
              } catch (const abi::__forced_unwind&) {
                ++unwound;
                throw;
              }
              return nullptr;
            },
            nullptr) == 0);
  void* result = nullptr;
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == reinterpret_cast<void*>(77));
  CHECK(unwound == 5);
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
bool waiting = false, handler_had_mutex = false;

void* wait_for_ever(void*) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  waiting = true;
  pthread_cleanup_push(
      [](void*) {
        handler_had_mutex = pthread_mutex_trylock(&mutex) != 0;
        pthread_mutex_unlock(&mutex);
      },
      nullptr);
  for (;;) pthread_cond_wait(&condition, &mutex);
  pthread_cleanup_pop(0);
  return nullptr;
}

void cancel_in_condition_wait() {
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, wait_for_ever, nullptr) == 0);
  for (bool seen = false; !seen;) {
    pthread_mutex_lock(&mutex);
    seen = waiting;
    pthread_mutex_unlock(&mutex);
    std::this_thread::yield();
  }
  CHECK(pthread_cancel(thread) == 0);
  void* result = nullptr;
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK(handler_had_mutex);
  CHECK(pthread_mutex_lock(&mutex) == 0);  // it was given back
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}

std::atomic<int> progress{0};

void* survive_while_disabled(void*) {
  int before = -1;
  CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before) == 0);
  CHECK(before == PTHREAD_CANCEL_ENABLE);
  progress.store(1);
  while (progress.load() < 2) std::this_thread::yield();
  pthread_testcancel();
  progress.store(3);
  CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before) == 0);
  CHECK(before == PTHREAD_CANCEL_DISABLE);
  pthread_testcancel();
  CHECK(false);
  return nullptr;
}

void cancel_waits_until_enabled() {
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, survive_while_disabled, nullptr) == 0);
  while (progress.load() < 1) std::this_thread::yield();
  CHECK(pthread_cancel(thread) == 0);
  progress.store(2);
  void* result = nullptr;
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK(progress.load() == 3);
}

void* write_for_ever(void*) {
  const int nowhere = open("/dev/null", O_WRONLY);
  CHECK(nowhere >= 0);
  for (;;) {
    CHECK(write(nowhere, "x", 1) == 1);
    progress.fetch_add(1);
    std::this_thread::yield();  // a call takes no time of the machine's
  }
}

void* sleep_for_ever(void*) {
  for (;;) {
    progress.fetch_add(1);
    usleep(1);
  }
}

// In a system call that does not block, or in a short sleep; deferred or at once.
void cancel_in_calls(void* (*routine)(void*)) {
  const int before = progress.load();
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, routine, nullptr) == 0);
  while (progress.load() == before) std::this_thread::yield();
  CHECK(pthread_cancel(thread) == 0);
  void* result = nullptr;
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
}

void* sleep_and_take_it_at_once(void*) {
  CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr) == 0);
  return sleep_for_ever(nullptr);
}

}  // namespace

int main() {
  exit_unwinds();
  cancel_in_condition_wait();
  cancel_waits_until_enabled();
  cancel_in_calls(write_for_ever);
  cancel_in_calls(sleep_for_ever);
  cancel_in_calls(sleep_and_take_it_at_once);
  // The process lives until its last thread ends: this one, whose exit status counts.
  static pthread_t main_thread;
  main_thread = pthread_self();
  pthread_t last;
  CHECK(pthread_create(
            &last, nullptr,
            [](void*) -> void* {
              void* result = nullptr;
              CHECK(pthread_join(main_thread, &result) == 0);
              CHECK(result == reinterpret_cast<void*>(5));
              return nullptr;
            },
            nullptr) == 0);
  pthread_exit(reinterpret_cast<void*>(5));
}
