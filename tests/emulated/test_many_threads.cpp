// test_many_threads.cpp -- more threads than can be in transactions at once; threads that come and
// go.
#include <atomic>
#include <mutex>

#include <threads.h>

#include "elided.h"

namespace {

constexpr int at_once = 39;  // slots of src/model/emulated/memory/shadow.h

void more_threads_than_slots() {
  elided lock(true);
  static long counter;
  std::atomic<int> commits{0};
  run_threads(120, [&](unsigned) {
    for (int i = 0; i < 20; ++i) {
      lock.lock();
      if (htm::active()) commits.fetch_add(0);
      counter = counter + 1;
      lock.unlock();
    }
  });
  CHECK(counter == 120 * 20);
}

// All at the same time: those beyond the slots are refused, and say so as an interrupt does.
void all_at_once() {
  constexpr int threads = 60;
  unseen ready, tried, inside, refused, left;
  run_threads(threads, [&](unsigned) {
    ready.add(1);  // else the start of later threads would doom earlier ones, and wait for them
    ready.await(threads);
    const htm::status s = htm::begin();
    if (s.started()) {
      inside.add(1);
      tried.add(1);
      tried.await_spinning(threads);
      htm::commit();
    } else {
      CHECK(s.why == htm::cause::other && !s.may_retry);
      refused.add(1);
      tried.add(1);
    }
    left.add(1);  // as above: the end of a thread, too
    left.await(threads);
  });
  CHECK(inside.get() == at_once && refused.get() == threads - at_once);
  CHECK(attempt([] {}).started());
}

int c11_thread(void* argument) {
  auto* const word = static_cast<long*>(argument);
  return retry([=] { *word = *word + 1; }) ? 7 : 0;
}

void threads_of_c() {
  static long word;
  for (int i = 0; i < 50; ++i) {
    thrd_t thread;
    int result = 0;
    CHECK(thrd_create(&thread, c11_thread, &word) == thrd_success);
    CHECK(thrd_join(thread, &result) == thrd_success && result == 7);
  }
  CHECK(word == 50);
}

struct at_exit {
  ~at_exit() {
    if (word != nullptr) CHECK(retry([this] { *word = *word + 1; }));
  }
  long* word = nullptr;
};
thread_local at_exit last;

// Destructors of a thread's variables run transactions as well.
void until_the_end() {
  static long word;
  for (int i = 0; i < 50; ++i) std::thread([] { last.word = &word; }).join();
  CHECK(word == 50);
}

}  // namespace

int main() {
  more_threads_than_slots();
  all_at_once();
  threads_of_c();
  until_the_end();
}
