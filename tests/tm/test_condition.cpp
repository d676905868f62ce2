// Transaction-aware condition variables and semaphores: nothing is lost, nothing comes twice, and a
// transaction that rolls back has neither waited nor signaled.
#include "check.h"

#include <syncopate/tm/condition.h>
#include <syncopate/tm/transaction.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

// ---- a bounded buffer -------------------------------------------------------------------------

constexpr int producers = 2, consumers = 3, items = 600, capacity = 4;
int buffer[capacity], length;
bool ended;
tm_cond not_empty = TM_COND_INITIALIZER, not_full = TM_COND_INITIALIZER;
std::atomic<long> consumed{0}, sum{0};

void put(int value) {
  for (bool done = false; !done;) {
    __transaction_atomic {
      if (length < capacity) {
        buffer[length++] = value;
        tm_cond_signal(&not_empty);
        done = true;
      } else {
        tm_cond_wait(&not_full);
      }
    }
  }
}

// Returns zero at the end.
int take() {
  int value = -1;
  while (value < 0) {
    __transaction_atomic {
      if (length > 0) {
        value = buffer[--length];
        tm_cond_signal(&not_full);
      } else if (ended) {
        value = 0;
      } else {
        tm_cond_wait(&not_empty);
      }
    }
  }
  return value;
}

void check_buffer() {
  std::vector<std::thread> putting, taking;
  for (int c = 0; c < consumers; ++c)
    taking.emplace_back([] {
      for (int value; (value = take()) != 0;) ++consumed, sum += value;
    });
  for (int p = 0; p < producers; ++p)
    putting.emplace_back([] {
      for (int i = 1; i <= items; ++i) put(i);
    });
  for (auto& t : putting) t.join();
  __transaction_atomic {
    ended = true;
    tm_cond_broadcast(&not_empty);
  }
  for (auto& t : taking) t.join();
  CHECK(consumed == producers * items && sum == producers * items * (items + 1L) / 2);
  CHECK(not_empty.first == nullptr && not_empty.last == nullptr);
}

// ---- the order of waking, and what a roll-back takes back ---------------------------------------

tm_cond turn = TM_COND_INITIALIZER;
long waiting, first_half;
std::atomic<int> woken{0};

long waiting_now() {
  long now = 0;
  __transaction_atomic { now = waiting; }
  return now;
}

void check_order() {
  std::vector<std::thread> all;
  std::vector<int> order(3, -1);
  for (int i = 0; i < 3; ++i) {
    all.emplace_back([i, &order] {
      __transaction_atomic {
        ++first_half;  // is committed before the sleep
        ++waiting;
        tm_cond_wait(&turn);
      }
      order[woken] = i;
      ++woken;
    });
    while (waiting_now() != i + 1) std::this_thread::yield();
  }
  CHECK(first_half == 3);
  __transaction_atomic {
    tm_cond_broadcast(&turn);
    if (true_now()) __transaction_cancel;
  }
  __transaction_atomic {
    tm_cond_wait(&turn);  // or it would sleep for ever
    if (true_now()) __transaction_cancel;
  }
  CHECK(woken == 0);
  for (int i = 0; i < 3; ++i) {
    tm_cond_signal(&turn);
    while (woken != i + 1) std::this_thread::yield();
    CHECK(order[i] == i);
  }
  for (auto& t : all) t.join();
  tm_cond_signal(&turn);  // nobody waits
}

// ---- semaphores ---------------------------------------------------------------------------------

tm_semaphore work = TM_SEMAPHORE_INITIALIZER(2), finished = TM_SEMAPHORE_INITIALIZER(0);
long done_work;

void check_semaphores() {
  __transaction_atomic {
    tm_semaphore_post(&work);
    if (true_now()) __transaction_cancel;
  }
  CHECK(work.count == 2);
  int both = 0;
  __transaction_atomic { both = tm_semaphore_try_wait(&work) + tm_semaphore_try_wait(&work); }
  CHECK(both == 2 && tm_semaphore_try_wait(&work) == 0);

  // A maintenance thread, woken for each piece of work, as the paper's.
  std::thread maintenance([] {
    for (int i = 0; i < items; ++i) {
      tm_semaphore_wait(&work);
      __transaction_atomic { ++done_work; }
      tm_semaphore_post(&finished);
    }
  });
  for (int i = 0; i < items; ++i) {
    __transaction_atomic { tm_semaphore_post(&work); }
    if (i % 3 == 0) tm_semaphore_wait(&finished);
  }
  maintenance.join();
  CHECK(done_work == items && work.count == 0);
  CHECK(finished.count == items - items / 3);
}

}  // namespace

int main() {
  check_buffer();
  check_order();
  check_semaphores();
}
