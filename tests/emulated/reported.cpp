// reported.cpp -- transactions whose report is known: report.sh looks for it.
#include <cstring>

#include <pthread.h>

#include "check.h"

struct pair {
  long left, right;
};
alignas(64) pair fought_over;
alignas(64) char lines[64 * 600];

[[gnu::noinline]] void committed() {
  for (int i = 0; i < 10; ++i) attempt([] { lines[64] = lines[128]; });
}
[[gnu::noinline]] void too_large() {
  attempt([] { std::memset(lines, 1, sizeof lines); });
  htm::fell_back();
}
[[gnu::noinline]] void gives_up() {
  attempt([] { htm::abort<77>(); });
}
[[gnu::noinline]] void prints() {
  attempt([] { std::puts("never"); });
}
[[gnu::noinline]] void loses() {
  unseen inside, done;
  std::thread winner([&] {
    inside.await(1);
    attempt([] { fought_over.right = 1; });
    done.set(1);
  });
  const htm::status s = htm::begin();
  if (s.started()) {
    fought_over.left = 2;
    inside.set(1);
    stay_until(done);
    htm::commit();
  }
  winner.join();
  CHECK(s.why == htm::cause::conflict);
}

// Under a mutex that the library elides: named by the place that locks it.
[[gnu::noinline]] void counts_under_a_mutex() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  alignas(64) static long counted = 0;
  for (int i = 0; i < 5; ++i) {
    pthread_mutex_lock(&mutex);
    ++counted;
    pthread_mutex_unlock(&mutex);
  }
  CHECK(counted == 5);
}

int main() {
  counts_under_a_mutex();
  committed();
  too_large();
  gives_up();
  prints();
  loses();
}
