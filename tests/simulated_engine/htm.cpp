// Transactions: what they return, what they leave behind, and what ends them.
// run: SYNCOPATE_MACHINE=test-4c
#include "transactions.h"

#include <atomic>
#include <map>
#include <memory>
#include <thread>

namespace {

alignas(64) long a = 1, b = 2;
alignas(64) std::atomic<int> flag{0};

// As in a lock: begins in a function that returns, with other frames where its own was.
[[gnu::noinline]] htm::status enter() { return htm::begin(); }
[[gnu::noinline]] void leave() { htm::commit(); }
[[gnu::noinline]] long deep(int n) {
  volatile long used[16];
  for (int i = 0; i < 16; ++i) used[i] = n + i;
  return n == 0 ? ++b : deep(n - 1) + used[3] * 0;
}

void show(const char* what, const htm::status& s) {
  std::printf("%-28s %-9s code %d, retry %d, nested %d; a %ld, b %ld\n", what, text(s), s.code,
              s.may_retry, s.nested, a, b);
}

void codes() {
  show("commit", attempt([] { a = 5, b = 6; }));
  show("abort(7)", attempt([] {
         a = 50;
         htm::abort<7>();
       }));
  htm::status s = enter();
  if (s.started()) {
    a = 51;
    deep(20);
    htm::abort<8>();
  }
  show("begun in a callee", s);
  s = enter();
  if (s.started()) {
    a = deep(20);
    leave();
  }
  show("ended in a callee", s);
  htm::abort<1>();  // nothing, outside
  show("inside?", {htm::active() ? htm::cause::other : htm::cause::started, 0, false, false});
}

void nesting() {
  show("nested abort(9)", attempt([] {
         a = 60;
         (void)attempt([] {
           a = 61;
           htm::abort<9>();
         });
       }));
  show("nested commit", attempt([] {
         (void)attempt([] { a = 70; });
         b = a + htm::active();
       }));
}

void escapes() {
  show("relax", attempt([] { a = 0, syncopate::machine::relax(); }));
  show("yield", attempt([] { a = 0, syncopate::machine::yield(); }));
  show("a system call", attempt([] { a = 0, syncopate::machine::wake(&a, 1); }));
  show("a wait that lasts", attempt([] {
         a = 0;
         syncopate::machine::wait_until(flag, std::memory_order_acquire,
                                        [](int f) { return f != 0; });
       }));
  show("a wait that does not", attempt([] {
         syncopate::machine::wait_until(flag, std::memory_order_acquire,
                                        [](int f) { return f == 0; });
         a = 80;
       }));
}

void containers() {
  std::map<int, int> map;
  for (int i = 0; i < 20; ++i) map[i] = i;
  const auto insert = [&] {
    for (int i = 20; i < 24; ++i) map[i] = i;
    map.erase(5);
    map.erase(11);
  };
  const auto is_as_before = [&] {
    if (map.size() != 20) return false;
    int next = 0;
    for (const auto& [key, value] : map)
      if (key != next++ || value != key) return false;
    return true;
  };
  htm::status s = attempt([&] {
    insert();
    htm::abort<1>();
  });
  std::printf("std::map, %s: %s\n", text(s), is_as_before() ? "as before" : "changed");
  s = attempt(insert);
  std::printf("std::map, %s: %zu elements\n", text(s), map.size());
  s = attempt([&] {
    const auto kept = std::make_unique<long[]>(8);
    kept[3] = 4;
    a = kept[3];
  });
  show("malloc and free inside", s);
}

// Writes of others to the stack of a thread in a transaction are not undone with it.
void shared_stack() {
  long contended = 0;
  alignas(64) long untouched = 0;
  alignas(64) std::atomic<int> stage{0};
  std::thread other([&] {
    syncopate::machine::wait_until(stage, std::memory_order_acquire, [](int s) { return s == 1; });
    untouched = 41;
    for (int i = 0; i <= 20; ++i) contended = 100 + i;
    untouched = 42;
  });
  stage = 1;
  const htm::status s = attempt([&] {
    contended = 7;
    volatile long& here = contended;
    for (int i = 0; i < 100'000; ++i) here = here + 1;
  });
  other.join();
  std::printf("shared stack: %s; contended %ld, untouched %ld\n", text(s), contended, untouched);
}

}  // namespace

int main() {
  codes();
  nesting();
  escapes();
  containers();
  shared_stack();
}
