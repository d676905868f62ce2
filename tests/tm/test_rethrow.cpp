// Throwing on, in a transaction, what was caught there: to a handler of the same transaction, out
// of an inner one, out of the outermost one, and into a handler that cancels. And what was caught
// before the transaction.
// Stock: fails
#include "check.h"

#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

struct error {
  long value;
};

struct results {
  long inner = 0, outer = 0, value = 0;
};

[[gnu::transaction_safe, gnu::noinline]] void fail(long value) { throw error{value}; }

// Catches it, counts, and throws it on.
[[gnu::transaction_safe, gnu::noinline]] void pass_on(results& r, long value) {
  try {
    fail(value);
  } catch (const error&) {
    ++r.inner;
    throw;
  }
}

void is_clean() {
  CHECK(std::uncaught_exceptions() == 0);
  CHECK(std::current_exception() == nullptr);
}

results shared;

void to_a_handler_inside(long value) {
  long seen = 0;
  __transaction_atomic {
    try {
      pass_on(shared, value);
    } catch (const error& e) {
      ++shared.outer;
      seen = e.value;
    }
  }
  CHECK(seen == value);
  is_clean();
}

// The transaction commits, and the handler is behind it.
void out_of_the_transaction(long value) {
  long seen = 0;
  try {
    __transaction_atomic { pass_on(shared, value); }
  } catch (const error& e) {
    seen = e.value;
  }
  CHECK(seen == value);
  is_clean();
}

[[gnu::transaction_safe, gnu::noinline]] void inner_transaction(long value) {
  __transaction_atomic { pass_on(shared, value); }
}
void out_of_an_inner_transaction(long value) {
  long seen = 0;
  __transaction_atomic {
    try {
      inner_transaction(value);
    } catch (const error& e) {
      seen = e.value;
    }
  }
  CHECK(seen == value);
  is_clean();
}

// What is thrown on has to be given back with the rest.
void into_a_handler_that_cancels(long value) {
  results own;
  __transaction_atomic {
    try {
      pass_on(own, value);
    } catch (const error&) {
      ++own.outer;
      if (true_now()) __transaction_cancel;
    }
  }
  CHECK(own.inner == 0 && own.outer == 0);
  is_clean();
}

// Another exception is thrown and caught while the first is being handled, then that is thrown on.
[[gnu::transaction_safe, gnu::noinline]] long twice(long value) {
  long seen = 0;
  try {
    try {
      fail(value);
    } catch (const error&) {
      try {
        fail(value + 1);
      } catch (const error& e) {
        seen += e.value;
      }
      throw;
    }
  } catch (const error& e) {
    seen += e.value;
  }
  return seen;
}
void beside_another_exception(long value) {
  long seen = 0;
  __transaction_atomic { seen = twice(value); }
  CHECK(seen == 2 * value + 1);
  is_clean();
}

// From a handler around the transaction: what it throws on is older, and stays when that begins
// again.
struct counted {
  explicit counted(long n) : value(n), check(static_cast<long*>(std::malloc(sizeof n))) {
    *check = n;
  }
  counted(const counted&) = delete;
  ~counted() {
    CHECK(*check == value);
    *check = -1;
    std::free(check);
  }
  long value;
  long* check;
};
long around;
void out_of_a_handler_around(long value) {
  long seen = 0;
  try {
    throw counted(value);
  } catch (const counted& e) {
    try {
      __transaction_atomic {
        ++around;
        if (value % 2 == 0) throw;
      }
    } catch (const counted& again) {
      CHECK(&again == &e);
      seen = again.value;
    }
    CHECK(e.value == value && *e.check == value && std::uncaught_exceptions() == 0);
  }
  CHECK(seen == (value % 2 == 0 ? value : 0));
  is_clean();
}

constexpr int rounds = 300;
void work() {
  for (long i = 1; i <= rounds; ++i) {
    for (long k = 0; k < 20; ++k) out_of_a_handler_around(i + k);
    to_a_handler_inside(i);
    out_of_the_transaction(i);
    out_of_an_inner_transaction(i);
    into_a_handler_that_cancels(i);
    beside_another_exception(i);
  }
}

}  // namespace

int main() {
  work();
  constexpr int threads = 3;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work);
  for (auto& t : all) t.join();
  CHECK(shared.inner == 3 * rounds * (threads + 1));
  CHECK(shared.outer == rounds * (threads + 1));
  CHECK(around == 20 * rounds * (threads + 1));
}
