// Transaction-aware condition variables and semaphores with a time limit: who times out leaves the
// queue, and takes no signal with it.
// Stock: fails
#include "check.h"

#include <syncopate/tm/condition.h>
#include <syncopate/tm/transaction.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

timespec in_milliseconds(long n) {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += n % 1000 * 1'000'000;
  t.tv_sec += n / 1000 + t.tv_nsec / 1'000'000'000;
  t.tv_nsec %= 1'000'000'000;
  return t;
}
constexpr long soon = 5, never = 100'000;

tm_cond changed = TM_COND_INITIALIZER;
long waiting;

bool times_out(long milliseconds) {
  const timespec until = in_milliseconds(milliseconds);
  int timed_out = -1;
  __transaction_atomic {
    ++waiting;
    tm_cond_wait_until(&changed, &until, &timed_out);
  }
  CHECK(timed_out == 0 || timed_out == 1);
  return timed_out == 1;
}

void wait_for(long n) {
  for (long now = 0; now != n;) {
    __transaction_atomic { now = waiting; }
    std::this_thread::yield();
  }
}

// One that times out between two that do not: the queue stays whole, whichever place it had.
void check_queue() {
  CHECK(times_out(soon) && times_out(-soon));
  CHECK(changed.first == nullptr && changed.last == nullptr);
  waiting = 0;
  for (int place = 0; place < 3; ++place) {
    std::vector<std::thread> all;
    std::atomic<int> woken{0}, timed_out{0};
    for (int i = 0; i < 3; ++i) {
      all.emplace_back([&, i] { ++(times_out(i == place ? soon : never) ? timed_out : woken); });
      wait_for(i + 1);  // so that they are in the queue in this order
    }
    while (timed_out != 1) std::this_thread::yield();
    CHECK(woken == 0);
    tm_cond_signal(&changed);
    while (woken != 1) std::this_thread::yield();
    tm_cond_signal(&changed);
    for (auto& t : all) t.join();
    CHECK(woken == 2 && timed_out == 1);
    CHECK(changed.first == nullptr && changed.last == nullptr);
    waiting = 0;
  }
}

// Signals race with the end of the time: each wakes somebody, or nobody was there.
tm_semaphore tokens = TM_SEMAPHORE_INITIALIZER(0);

void check_race() {
  constexpr int tokens_in_all = 300;
  std::atomic<int> taken_in_all{0}, failures{0};
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i)
    all.emplace_back([&] {
      while (taken_in_all < tokens_in_all) {
        const timespec until = in_milliseconds(1);
        int taken = -1;
        tm_semaphore_wait_until(&tokens, &until, &taken);
        CHECK(taken == 0 || taken == 1);
        ++(taken == 1 ? taken_in_all : failures);
      }
    });
  for (int i = 0; i < tokens_in_all; ++i) {
    __transaction_atomic { tm_semaphore_post(&tokens); }
    if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (auto& t : all) t.join();
  CHECK(taken_in_all == tokens_in_all && tokens.count == 0);
  CHECK(tokens.posted.first == nullptr && tokens.posted.last == nullptr);
}

// In a transaction: after its commit.
void check_semaphore_inside() {
  int taken = -1;
  const timespec until = in_milliseconds(soon);
  __transaction_atomic { tm_semaphore_wait_until(&tokens, &until, &taken); }
  CHECK(taken == 0);
  const timespec later = in_milliseconds(never);
  __transaction_atomic {
    tm_semaphore_post(&tokens);
    tm_semaphore_wait_until(&tokens, &later, &taken);
  }
  CHECK(taken == 1 && tokens.count == 0);
}

}  // namespace

int main() {
  check_queue();
  check_race();
  check_semaphore_inside();
}
