// Standard exceptions, whose constructors, destructors and what() GCC's library has for
// transactions: their messages arrive, thrown out of the transaction, caught in it, made while
// others are, and in transactions that begin again.
// Stock: fails
#include "check.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr const char* text = "a message that is too long for any short string";
const std::string as_string = text;
long total, tries;
volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

// Arguments that allocate, and that throw and catch, while the exception has its place already.
[[gnu::transaction_safe, gnu::noinline]] const char* allocating() {
  char* const block = static_cast<char*>(std::malloc(100));
  block[0] = 'x';
  std::free(block);
  return text;
}
[[gnu::transaction_safe, gnu::noinline]] void fail(int how) {
  if (how != 0) throw std::range_error(text);
}
[[gnu::transaction_safe, gnu::noinline]] const char* throwing(int how) {
  try {
    fail(how);
  } catch (const std::range_error&) {
    return text;
  }
  return "nothing was thrown";
}

// GCC 12 fails on functions that do nothing but throw.
[[gnu::transaction_safe, gnu::noinline]] void make(int kind) {
  ++tries;
  if (kind == 0) throw std::logic_error(text);
  if (kind == 1) throw std::out_of_range(text);
  if (kind == 2) throw std::runtime_error(as_string);
  if (kind == 3) throw std::overflow_error(allocating());
  if (kind == 4) throw std::invalid_argument(throwing(kind));
  ++total;
}

bool is_text(const std::exception& e) { return std::strcmp(e.what(), text) == 0; }

void out_of_it(int kind) {
  bool arrived = kind == 5;
  try {
    __transaction_atomic { make(kind); }
  } catch (const std::logic_error& e) {
    arrived = is_text(e) && kind != 2 && kind != 3;
  } catch (const std::runtime_error& e) {
    arrived = is_text(e) && (kind == 2 || kind == 3);
  }
  CHECK(arrived);
}

[[gnu::transaction_safe, gnu::noinline]] long length(const char* of) {
  long n = 0;
  while (of[n] != 0) ++n;
  return n;
}

// what() by its name: GCC's library does not enter clones in the table by which virtual functions
// are found.
void inside(int kind) {
  long found = 0;
  __transaction_atomic {
    try {
      make(kind);
    } catch (const std::logic_error& e) {
      found = length(e.std::logic_error::what());
    } catch (const std::runtime_error& e) {
      found = length(e.std::runtime_error::what());
    }
  }
  CHECK(found == (kind == 5 ? 0 : static_cast<long>(std::strlen(text))));
}

// What the constructor allocated goes once: with the transaction, not with the handler.
void canceled(int kind) {
  __transaction_atomic {
    try {
      make(kind);
    } catch (const std::exception&) {
    }
    if (true_now()) __transaction_cancel;
  }
  CHECK(std::uncaught_exceptions() == 0);
}

// A destructor is plain code, and runs when the transaction has committed.
long destroyed;
struct counting {
  std::size_t size = 0;
  char* block = nullptr;
  [[gnu::transaction_safe]] explicit counting(std::size_t n)
      : size(n), block(static_cast<char*>(std::malloc(n))) {
    for (std::size_t i = 0; i < n; ++i) block[i] = 'c';
  }
  counting(const counting&) = delete;
  ~counting() {
    CHECK(block[0] == 'c' && block[size - 1] == 'c');
    std::free(block);
    ++destroyed;
  }
};
[[gnu::transaction_safe, gnu::noinline]] void make_counting(std::size_t size) {
  if (size != 0) throw counting(size);
}
void destructors() {
  for (std::size_t i = 1; i <= 100; ++i) {
    std::size_t found = 0;
    __transaction_atomic {
      try {
        make_counting(i);
      } catch (const counting& e) {
        found = e.size;
      }
      if (i % 4 == 0) __transaction_cancel;
    }
    CHECK(found == (i % 4 == 0 ? 0 : i));
  }
  CHECK(destroyed == 75);
}

void work() {
  for (int i = 0; i < 240; ++i) {
    out_of_it(i % 6);
    inside(i % 6);
    canceled(i % 6);
  }
}

}  // namespace

int main() {
  destructors();
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(work);
  for (auto& t : all) t.join();
  CHECK(total == 240 && tries == 1440);
}
