// Canceling: outermost and inner transactions, what was written before and after, locals, blocks.
// Stock: fails
#include "check.h"

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

[[gnu::noinline]] long* hide(long* p) {
  asm volatile("" : "+r"(p));
  return p;
}

long a, b, c;

// Everything is put back, whatever ran in between; locals keep what they were.
void outermost() {
  a = 1, b = 2;
  long local = 5;
  long* const escaped = hide(&local);
  __transaction_atomic {
    ++a;
    b = a + 10;
    *escaped = 77;
    if (true_now()) __transaction_cancel;
  }
  CHECK(a == 1 && b == 2 && local == 5);
}

void inner_alone() {
  a = b = c = 0;
  __transaction_atomic {
    a = 1;
    __transaction_atomic {
      b = 1;
      if (true_now()) __transaction_cancel;
    }
    c = a;
  }
  CHECK(a == 1 && b == 0 && c == 1);
}

[[gnu::noinline, gnu::transaction_safe]] void bump(long* p, bool cancel) {
  __transaction_atomic {
    ++*p;
    if (cancel) __transaction_cancel;
  }
}

void inner_in_function() {
  a = 10;
  __transaction_atomic {
    bump(&a, false);
    bump(&a, true);
    bump(&a, false);
  }
  CHECK(a == 12);
}

void three_deep() {
  a = b = c = 0;
  __transaction_atomic {
    ++a;
    __transaction_atomic {
      ++b;
      bump(&c, true);
      bump(&b, false);
      if (true_now()) __transaction_cancel;
    }
    ++a;
    __transaction_atomic {
      b += 5;
      if (!true_now()) __transaction_cancel;
    }
  }
  CHECK(a == 2 && b == 5 && c == 0);
}

// The inner one's blocks go with it, the outer one's stay.
void blocks() {
  long *kept = nullptr, *gone = nullptr;
  __transaction_atomic {
    kept = static_cast<long*>(std::malloc(64));
    *kept = 4;
    __transaction_atomic {
      gone = static_cast<long*>(std::malloc(64));
      *gone = *kept + 1;
      ++*kept;
      if (true_now()) __transaction_cancel;
    }
  }
  CHECK(kept != nullptr && *kept == 4);
  CHECK(gone == nullptr);
  // Freed in a transaction that is canceled: still there.
  __transaction_atomic {
    std::free(kept);
    if (true_now()) __transaction_cancel;
  }
  CHECK(*kept == 4);
  std::free(kept);
}

void many() {
  static long words[3000];
  for (int i = 0; i < 3000; ++i) words[i] = i;
  __transaction_atomic {
    for (int i = 0; i < 3000; ++i) words[i] = -i;
    if (true_now()) __transaction_cancel;
  }
  for (int i = 0; i < 3000; ++i) CHECK(words[i] == i);
}

}  // namespace

int main() {
  for (int round = 0; round < 3; ++round)
    outermost(), inner_alone(), inner_in_function(), three_deep(), blocks(), many();
}
