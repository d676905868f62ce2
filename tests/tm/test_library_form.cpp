// tm::atomically, tm::var: the library form, next to compiled transactions on the same data.
// Options: -fno-gnu-tm
// Stock: fails
#include "check.h"

#include <syncopate/tm/atomically.h>

#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

namespace stm = syncopate::tm;

namespace {

struct wide {
  long a, b, c;
};
stm::var<long> x, y;
stm::var<unsigned char> small[16];
stm::var<wide> big;
stm::var<int> tokens;
int actions;
int alive;  // exceptions

void add(unsigned number) {
  dice roll(number);
  for (int i = 0; i < 3000; ++i) {
    const unsigned which = roll(16);
    bool equal = true;
    const bool committed = stm::atomically([&](stm::tx& t) {
      const wide w = big.get(t);
      equal = x.get(t) == y.get(t) && w.a == x.get(t) && w.c == w.a;
      x.set(t, x.get(t) + 1);
      small[which].set(t, static_cast<unsigned char>(small[which].get(t) + 1));
      y.set(t, y.get(t) + 1);
      big.set(t, {w.a + 1, 0, w.c + 1});
      if (which == 3) t.cancel();
    });
    CHECK(equal);
    CHECK(committed == (which != 3));
  }
}

// One produces, one sleeps until there is something.
void produce() {
  for (int i = 0; i < 200; ++i)
    stm::atomically([](stm::tx& t) { tokens.set(t, tokens.get(t) + 1); });
}
void consume() {
  for (int i = 0; i < 200; ++i)
    stm::atomically([](stm::tx& t) {
      if (tokens.get(t) == 0) t.retry();
      tokens.set(t, tokens.get(t) - 1);
    });
}

struct counted {
  counted() { ++alive; }
  counted(const counted& other) = delete;
  ~counted() { --alive; }
};
// A transaction that does this within two handlers, one of an exception that was thrown on.
template <class What>
bool in_handlers(What what) {
  return stm::atomically([&](stm::tx& t) {
    try {
      try {
        throw counted();
      } catch (...) {
        throw;
      }
    } catch (const counted&) {
      try {
        throw counted();
      } catch (const counted&) {
        what(t);
      }
    }
  });
}

}  // namespace

int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(add, i);
  for (auto& t : all) t.join();
  CHECK(small[3].unsafe_get() == 0 && x.unsafe_get() == y.unsafe_get());

  std::thread consumer(consume), producer(produce);
  producer.join(), consumer.join();
  CHECK(tokens.unsafe_get() == 0);

  const long before = x.unsafe_get();
  bool caught = false;
  try {
    stm::atomically([](stm::tx& t) {
      t.on_commit([](void*) { ++actions; }, nullptr);
      x.set(t, x.get(t) + 1);
      throw std::runtime_error("out");
    });
  } catch (const std::runtime_error&) {
    caught = true;
  }
  CHECK(caught && x.unsafe_get() == before + 1 && actions == 1);

  // Handlers that are left by rolling back end: the thread is in those before, the exceptions are
  // no more.
  try {
    throw 1;
  } catch (int) {
    const std::exception_ptr outer = std::current_exception();
    const auto cancel = [](stm::tx& t) { t.cancel(); };
    CHECK(!in_handlers(cancel));
    CHECK(std::current_exception() == outer && alive == 0);
    CHECK(in_handlers([&](stm::tx&) {
      const std::exception_ptr inner = std::current_exception();
      CHECK(!in_handlers(cancel));
      CHECK(std::current_exception() == inner && alive == 2);
    }));
    CHECK(std::current_exception() == outer && alive == 0);
    std::thread later(produce);
    CHECK(in_handlers([](stm::tx& t) {
      if (tokens.get(t) < 200) t.retry();
    }));
    later.join();
    CHECK(std::current_exception() == outer && alive == 0 && std::uncaught_exceptions() == 0);
  }
}
