// runtime.cpp -- the component's lock in Ruby: transactions over Ruby's own GVL.
//
// SYNCOPATE_GIL=MODE      how the lock works (docs/gil.md); gil, no transactions, unless set
// SYNCOPATE_RUBY_FORCE=1  for tests: transactions are tried also where none ever commits, and by a
//                         thread that is alone
// SYNCOPATE_RUBY_REMOVE=LIST  which conflicts of transactions are removed (gvl.h): all, none, or
//                         names with commas between; all unless set
#include "gvl.h"

#include <syncopate/elide/gil.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <thread>

extern "C" [[gnu::weak]] bool syncopate_htm_called_back() noexcept;  // the emulated machine's

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
  // Transactions go on when who began them has returned. The emulated machine sees nothing of what
  // foreign code (qsort_r, libyaml) does after a call back into Ruby: none begins there.
  [[nodiscard]] static syncopate::machine::htm::status begin() noexcept {
    if (syncopate_htm_called_back != nullptr && syncopate_htm_called_back()) return {};
    return elide::gil_machine_backend::begin();
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

constexpr std::string_view removals[] = {"objects",   "counts",  "malloc",    "transient", "calls",
                                         "variables", "vm_lock", "collector", "lines"};
constexpr unsigned all_removals = (1u << std::size(removals)) - 1;

unsigned removal_named(std::string_view name) noexcept {
  if (name == "all") return all_removals;
  for (unsigned i = 0; i < std::size(removals); ++i)
    if (name == removals[i]) return 1u << i;
  if (name != "none")
    std::fprintf(stderr, "syncopate: SYNCOPATE_RUBY_REMOVE: no conflict is named '%.*s'\n",
                 static_cast<int>(name.size()), name.data());
  return 0;
}

unsigned removals_from_environment() noexcept {
  const char* const text = std::getenv("SYNCOPATE_RUBY_REMOVE");
  if (text == nullptr || *text == '\0') return all_removals;
  unsigned found = 0;
  std::string_view rest = text;
  for (std::size_t comma = 0; comma != rest.npos;) {
    comma = rest.find(',');
    found |= removal_named(rest.substr(0, comma));
    if (comma != rest.npos) rest.remove_prefix(comma + 1);
  }
  return found;
}

bool begin() noexcept {
  ruby_gil& lock = elide::c_interface::lock();
  if (!lock.elides()) return false;
  if (is_forced()) lock.attach(companion);
  syncopate_ruby_removed[0] = removals_from_environment();
  return true;
}

}  // namespace

alignas(256) unsigned syncopate_ruby_removed[64] = {};

bool syncopate_ruby_elides(void) {
  static const bool elides = begin();
  return elides;
}

void syncopate_ruby_begin_thread(void) {
  if (ruby_gil::state_of(syncopate_gil_self) != elide::gil_state::detached) return;
  (void)syncopate_ruby_elides();  // I4
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
