// transaction.h: waiting in a transaction, waking from one, actions, from compiled transactions.
// Stock: fails
#include "check.h"

#include <syncopate/tm/transaction.h>

#include <thread>

namespace {

constexpr int items = 500;
int queue[4], length, sum;
sem_t done;
// Volatile: the compiler may take it that a transaction that was canceled has changed nothing.
volatile int aborted, committed;
void count(void* what) {
  *static_cast<volatile int*>(what) = *static_cast<volatile int*>(what) + 1;
}
[[gnu::noinline]] void* plain(volatile int* what) { return const_cast<int*>(what); }

void put() {
  for (int i = 1; i <= items; ++i) {
    __transaction_atomic {
      if (length == 4) SYNCOPATE_TM_RETRY();
      queue[length++] = i;
    }
  }
}
void take() {
  for (int i = 1; i <= items; ++i) {
    int value = 0;
    __transaction_atomic {
      if (length == 0) SYNCOPATE_TM_RETRY();
      value = queue[--length];
    }
    sum += value;
  }
  __transaction_atomic {
    length = -1;
    syncopate_tm_sem_post(&done);
  }
}

}  // namespace

int main() {
  CHECK(sem_init(&done, 0, 0) == 0);
  CHECK(!syncopate_tm_in_transaction());
  std::thread taker(take), putter(put);
  CHECK(sem_wait(&done) == 0);
  taker.join(), putter.join();
  CHECK(sum == items * (items + 1) / 2 && length == -1);

  int inside = 0;
  void* const on_abort = plain(&aborted);
  void* const on_commit = plain(&committed);
  __transaction_atomic {
    length = 0;
    inside = syncopate_tm_in_transaction();
    syncopate_tm_on_commit(count, on_commit);
    syncopate_tm_on_abort(count, on_abort);
    if (length == 1) __transaction_cancel;
  }
  CHECK(inside && committed == 1 && aborted == 0);
  __transaction_atomic {
    syncopate_tm_on_commit(count, on_commit);
    syncopate_tm_on_abort(count, on_abort);
    __transaction_cancel;
  }
  CHECK(committed == 1 && aborted == 1);
}
