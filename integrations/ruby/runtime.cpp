// runtime.cpp -- the component's lock in Ruby: transactions over Ruby's own GVL.
//
// SYNCOPATE_GIL=MODE      how the lock works (docs/gil.md); gil, no transactions, unless set
// SYNCOPATE_RUBY_FORCE=1  for tests: transactions are tried also where none ever commits, and by a
//                         thread that is alone
#include "gvl.h"

#include <syncopate/elide/gil.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

namespace elide = syncopate::elide;

bool is_forced() noexcept {
  const char* const text = std::getenv("SYNCOPATE_RUBY_FORCE");
  return text != nullptr && *text == '1';
}

// Has no state: the lock is where Ruby has it.
struct ruby_lock {
  void lock() noexcept { rb_gvl_take(); }
  bool try_lock() noexcept { return rb_gvl_try_take(); }
  void unlock() noexcept { rb_gvl_give_back(); }
};

struct ruby_backend : elide::gil_machine_backend {
  [[nodiscard]] static bool usable() noexcept {
    return is_forced() || elide::gil_machine_backend::usable();
  }
};

using ruby_gil = elide::gil<ruby_lock, ruby_backend, syncopate::auto_lock>;

}  // namespace

#define SYNCOPATE_GIL_TYPE ruby_gil
#define SYNCOPATE_GIL_UNLESS_SET "gil"
#include <syncopate/elide/gil_c_interface.h>

namespace {

std::atomic<unsigned> attached{0};  // threads whose numbers are not among the totals yet

// With it attached, no thread is ever alone.
elide::gil_thread companion;

bool begin() noexcept {
  ruby_gil& lock = elide::c_interface::lock();
  if (lock.elides() && is_forced()) lock.attach(companion);
  return lock.elides();
}

}  // namespace

bool syncopate_ruby_elides(void) {
  static const bool elides = begin();
  return elides;
}

void syncopate_ruby_begin_thread(void) {
  if (ruby_gil::state_of(syncopate_gil_self) != elide::gil_state::detached) return;
  if (syncopate_gil_attach() == 0) attached.fetch_add(1, std::memory_order_relaxed);
}

void syncopate_ruby_end_thread(void) {
  if (syncopate_gil_detach() == 0) attached.fetch_sub(1, std::memory_order_relaxed);
}

void syncopate_ruby_end(void) {
  if (!ruby_gil::inside(syncopate_gil_self)) return;
  syncopate_gil_leave();
  syncopate_ruby_end_thread();
  // A thread counts as ended for Ruby a moment before it hands in its numbers; in a forked child
  // some never do.
  for (int turn = 0; turn < 200 && attached.load(std::memory_order_relaxed) != 0; ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  syncopate_gil_report();
}
