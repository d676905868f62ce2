// A second half of a transaction after a wait, and waiting on a semaphore asked for in a
// transaction: both run transactions as commit actions.
// Stock: fails
#include "check.h"

#include <syncopate/tm/condition.h>

#include <thread>

namespace {

constexpr int rounds = 300;
tm_cond answered = TM_COND_INITIALIZER;
tm_semaphore asked = TM_SEMAPHORE_INITIALIZER(0);
long question, answer, checked;

// The second half: runs when the answer is there, and in a transaction of its own.
void compare(void* expected) {
  __transaction_atomic {
    if (answer == 2 * *static_cast<long*>(expected)) ++checked;
  }
}

void ask() {
  for (long i = 1; i <= rounds; ++i) {
    __transaction_atomic {
      question = i;
      tm_semaphore_post(&asked);
      tm_cond_wait_then(&answered, compare, &i);
    }
  }
}

void reply() {
  for (int i = 0; i < rounds; ++i) {
    __transaction_atomic { tm_semaphore_wait(&asked); }  // takes one behind the brace
    __transaction_atomic {
      answer = 2 * question;
      tm_cond_signal(&answered);
    }
  }
}

}  // namespace

int main() {
  std::thread asking(ask), replying(reply);
  asking.join(), replying.join();
  CHECK(checked == rounds && asked.count == 0 && question == rounds);
}
