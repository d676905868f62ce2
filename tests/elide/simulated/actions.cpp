// on_commit and on_abort: actions run once, after the commit, in order, and not for attempts that
// were undone; handlers run after each abort.
#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/tatas_lock.h>

#include <mutex>
#include <optional>

#include "elision.h"

namespace {

using namespace elision;
namespace elide = syncopate::elide;
using lock_type = elide::elided_lock<syncopate::tatas_lock<>>;

void in_order_after_the_commit() {
  lock_type outer, inner;
  std::vector<int> ran;
  ran.reserve(8);
  const auto note = [&ran](int what) {
    elide::on_commit([&ran, what] {
      assert(!htm::active() && !section::active());
      ran.push_back(what);
    });
  };
  outer.lock();
  note(1);
  inner.lock();
  note(2);
  inner.unlock();
  assert(ran.empty() && section::active());  // only the outermost section has ended for good
  note(3);
  outer.unlock();
  assert((ran == std::vector{1, 2, 3}));
  note(4);  // outside: at once
  assert(ran.size() == 4);
}

void actions_have_sections_of_their_own() {
  static lock_type lock;
  static std::vector<int> ran;
  ran.reserve(4);
  lock.lock();
  elide::on_commit([] {
    const std::lock_guard hold(lock);
    elide::on_commit([] { ran.push_back(1); });
  });
  elide::on_commit([] { ran.push_back(2); });
  lock.unlock();
  assert((ran == std::vector{1, 2}));
}

void undone_with_the_transaction() {
  lock_type lock;
  counts all;
  counter count(all);
  int ran = 0;
  lock.lock();
  const bool elided = section::active();
  elide::on_commit([&ran] { ++ran; });
  section::needs_lock();  // comes back in lock(), then under it
  lock.unlock();
  assert(!elided && ran == 1 && all.aborted(abort_code::needs_lock) == 1);
}

void too_many_take_the_lock() {
  lock_type lock;
  counts all;
  counter count(all);
  int ran = 0;
  for (const int actions : {8, 9}) {
    ran = 0;
    lock.lock();
    for (int i = 0; i < actions; ++i) elide::on_commit([&ran] { ++ran; });
    assert(section::active() == (actions == 8));
    lock.unlock();
    assert(ran == actions);
  }
  assert(all.aborted(abort_code::actions_full) == 1);
}

// Each section runs its action once, however often it was tried.
void once_for_each_section() {
  lock_type lock;
  unsigned long shared = 0;
  std::vector<unsigned long> acted(4);
  const counts c = run(4, [&](unsigned me, counter& count) {
    for (int i = 0; i < 100; ++i) {
      lock.lock();
      const bool elided = section::active();
      ++shared;
      elide::on_commit([&acted, me] { ++acted[me]; });
      lock.unlock();
      count.ended(elided);
    }
  });
  c.print("contended");
  assert(shared == 400 && c.aborted(htm::cause::conflict) != 0);
  for (const unsigned long n : acted) assert(n == 100);
}

void handlers_nest() {
  lock_type lock;
  std::vector<int> told;
  told.reserve(8);
  const auto handler = [&told](int who) {
    return [&told, who](const section::status& why) {
      assert(!htm::active() && why.why == htm::cause::explicit_);
      told.push_back(who);
    };
  };
  elide::on_abort first(handler(1));
  {
    elide::on_abort second(handler(2));
    const std::lock_guard hold(lock);
    section::needs_lock();
  }
  const std::lock_guard hold(lock);
  section::needs_lock();
  assert((told == std::vector{2, 1, 1}));
}

// As in a container, which need not keep the order of scopes.
void handlers_end_in_any_order() {
  lock_type lock;
  std::vector<int> told;
  told.reserve(8);
  const auto handler = [&told](int who) {
    return [&told, who](const section::status&) { told.push_back(who); };
  };
  std::optional<elide::on_abort<decltype(handler(0))>> handlers[3];
  for (int i = 0; i < 3; ++i) handlers[i].emplace(handler(i));
  for (const int ends : {0, 2, 1}) {
    handlers[ends].reset();
    const std::lock_guard hold(lock);
    section::needs_lock();
  }
  assert((told == std::vector{2, 1, 1}));
}

constexpr check::scenario scenarios[] = {
    {"in_order_after_the_commit", in_order_after_the_commit},
    {"actions_have_sections_of_their_own", actions_have_sections_of_their_own},
    {"undone_with_the_transaction", undone_with_the_transaction},
    {"too_many_take_the_lock", too_many_take_the_lock},
    {"once_for_each_section", once_for_each_section},
    {"handlers_nest", handlers_nest},
    {"handlers_end_in_any_order", handlers_end_in_any_order},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
