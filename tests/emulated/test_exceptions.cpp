// test_exceptions.cpp -- exceptions thrown and caught in transactions, and through their begin.
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

namespace {

long word = 0;

[[gnu::noinline]] void thrower(int depth) {
  std::string local = "a local that is destroyed on the way";
  if (depth == 0) throw std::runtime_error("thrown");
  word = word + 1;
  thrower(depth - 1);
}

int caught_inside() {
  int caught = 0;
  CHECK(attempt([&] {
          try {
            thrower(5);
          } catch (const std::runtime_error& error) {
            caught = error.what()[0] == 't' ? 1 : 2;
          }
        }).started());
  return caught;
}

void aborted_in_handler() {
  word = 0;
  const htm::status s = attempt([&] {
    try {
      thrower(3);
    } catch (const std::exception&) {
      word = 100;
      htm::abort<4>();
    }
  });
  CHECK(s.code == 4 && word == 0);
  CHECK(std::current_exception() == nullptr && std::uncaught_exceptions() == 0);
}

struct commits_at_end {
  ~commits_at_end() {
    if (htm::active()) htm::commit();
  }
};

// Leaves the transaction's scope by an exception, whose unwinding commits.
void committed_by_unwinding() {
  word = 0;
  bool caught = false;
  try {
    const commits_at_end guard;
    if (htm::begin().started()) thrower(2);
  } catch (const std::runtime_error&) {
    caught = !htm::active();
  }
  CHECK(caught && word == 2);
}

// A handler outside is running: the transaction's exceptions come on top and go.
void within_a_handler() {
  try {
    throw std::logic_error("outer");
  } catch (const std::logic_error&) {
    const htm::status s = attempt([&] {
      try {
        thrower(1);
      } catch (...) {
        htm::abort<5>();
      }
    });
    CHECK(s.code == 5);
    try {
      throw;
    } catch (const std::logic_error& same) {
      CHECK(std::string(same.what()) == "outer");
    }
  }
}

void thrown_by_the_library() {
  const std::vector<int> empty;
  bool caught = false;
  CHECK(attempt([&] {
          try {
            word = empty.at(3);
          } catch (const std::out_of_range&) {
            caught = true;
          }
        }).started() ||
        !caught);
}

}  // namespace

int main() {
  for (int i = 0; i < 50; ++i) {
    CHECK(caught_inside() == 1);
    aborted_in_handler();
    committed_by_unwinding();
    within_a_handler();
    thrown_by_the_library();
  }
}
