// Catching in a transaction what was thrown there; and canceling or beginning again in the middle
// of a handler.
// Stock: fails
#include "check.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

long caught, tries;

[[gnu::transaction_safe, gnu::noinline]] void may_throw(long n) {
  if (n % 2 == 0) throw n;
}

void inside(int rounds) {
  for (long i = 0; i < rounds; ++i) {
    __transaction_atomic {
      ++tries;
      try {
        may_throw(i);
      } catch (long) {
        ++caught;
      }
    }
    CHECK(std::uncaught_exceptions() == 0);
  }
}

void cancel_in_handler() {
  long before = caught;
  __transaction_atomic {
    try {
      may_throw(0);
    } catch (long) {
      ++caught;
      if (true_now()) __transaction_cancel;
    }
  }
  CHECK(caught == before);
  CHECK(std::uncaught_exceptions() == 0);
  CHECK(std::current_exception() == nullptr);
}

// What was written to an exception is not written to what its memory has become since.
struct large {
  long values[64];
};
[[gnu::transaction_safe, gnu::noinline]] void throw_large() {
  large thrown{};
  for (long& value : thrown.values) value = 1;
  throw thrown;
}
constexpr int blocks = 64;
unsigned char* taken[blocks];
[[gnu::transaction_pure]] void take_memory() {
  for (unsigned char*& block : taken) {
    block = static_cast<unsigned char*>(std::malloc(sizeof(large) + 128));  // and its header
    std::memset(block, 'x', sizeof(large));
  }
}
long read_large(bool cancel) {
  long sum = 0;
  __transaction_atomic {
    long found = 0;
    try {
      throw_large();
    } catch (const large& e) {
      for (const long value : e.values) found += value;
    }
    take_memory();
    sum = found;
    if (cancel) __transaction_cancel;
  }
  return sum;
}
void memory_of_exceptions(bool cancel) {
  CHECK(read_large(cancel) == (cancel ? 0 : 64));
  for (unsigned char* block : taken) {
    for (std::size_t i = 0; i < sizeof(large); ++i) CHECK(block[i] == 'x');
    std::memset(block, 0, sizeof(large));  // or a log of old values would not be noticed
    std::free(block);
  }
}

}  // namespace

int main() {
  inside(100);
  CHECK(tries == 100 && caught == 50);
  for (int i = 0; i < 10; ++i) cancel_in_handler();
  memory_of_exceptions(false);
  memory_of_exceptions(true);
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(inside, 2000);
  for (auto& t : all) t.join();
  CHECK(tries == 6100 && caught == 3050);
}
