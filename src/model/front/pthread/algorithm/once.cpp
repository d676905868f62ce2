// once.cpp -- one-time initialization and the end of threads: words that are waited for by
// sleeping on them, as glibc's. Instrumented.
//
// Memory order (each tag stands at its site below)
//   [O]  release store when it is done, acquire load or RMW by who finds that: what was done
//        happens-before.

#include <syncopate/machine.h>

#include <climits>

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"

namespace syncopate::instrument::objects {
namespace {

enum once_state : std::uint32_t { untouched = 0, running = 1, finished = 2 };

std::atomic<std::uint32_t>& as_atomic(std::uint32_t& word) {
  return reinterpret_cast<std::atomic<std::uint32_t>&>(word);
}

}  // namespace

bool once_begin(std::uint32_t& control, place /*where*/) {
  std::atomic<std::uint32_t>& word = as_atomic(control);
  std::uint32_t seen = word.load(std::memory_order_acquire);  // [O]
  for (;;) {
    if (seen == finished) return false;
    if (seen == running) {
      machine::park(word, running);
      seen = word.load(std::memory_order_acquire);                                     // [O]
    } else if (word.compare_exchange_strong(seen, running, std::memory_order_acquire,  // [O]
                                            std::memory_order_acquire)) {              // [O]
      return true;
    }
  }
}

void once_end(std::uint32_t& control, bool done, place /*where*/) {
  as_atomic(control).store(done ? finished : untouched, std::memory_order_release);  // [O]
  machine::wake(&control, INT_MAX);
}

bool wait_posted(std::uint32_t& posted, limit until, place where) {
  std::atomic<std::uint32_t>& word = as_atomic(posted);
  while (word.load(std::memory_order_acquire) == 0) {  // [O]
    cancelable_sleep_begin(&word);
    // machine::park(), in the name of the program's call.
    const machine::park_result woken =
        on_engine([&] { return engine::park(at(&posted), 0, until, ~0u, where); });
    cancelable_sleep_end();
    if (woken == machine::park_result::timed_out)
      return word.load(std::memory_order_acquire) != 0;  // [O]
  }
  return true;
}

void post(std::uint32_t& posted, place /*where*/) {
  as_atomic(posted).store(1, std::memory_order_release);  // [O]
  machine::wake(&posted, INT_MAX);
}

}  // namespace syncopate::instrument::objects
