// awaited_word.cpp -- a word that is waited for by sleeping on it, as glibc's. Instrumented.
//
// Memory order (each tag stands at its site below)
//   [O]  release store that publishes, acquire load or RMW by who finds that: what was done before
//        happens-before.

#include <syncopate/machine.h>

#include <climits>

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"

namespace syncopate::instrument::objects {
namespace {

std::atomic<std::uint32_t>& as_atomic(std::uint32_t& word) {
  return reinterpret_cast<std::atomic<std::uint32_t>&>(word);
}

}  // namespace

std::uint32_t await_change(awaited_word w, std::uint32_t value) {
  std::atomic<std::uint32_t>& word = as_atomic(w.word);
  for (;;) {
    const std::uint32_t seen = word.load(std::memory_order_acquire);  // [O]
    if (seen != value) return seen;
    machine::park(word, value);
  }
}

std::uint32_t await_change(awaited_word w, std::uint32_t value, limit until) {
  std::atomic<std::uint32_t>& word = as_atomic(w.word);
  machine::park_result woken{};
  for (;;) {
    const std::uint32_t seen = word.load(std::memory_order_acquire);  // [O]
    if (seen != value || woken == machine::park_result::timed_out) return seen;
    cancelable_sleep_begin(&word);
    // machine::park(), in the name of the program's call.
    woken = on_engine([&] { return engine::park(at(&w.word), value, until, ~0u, w.where); });
    cancelable_sleep_end();
  }
}

bool replace(awaited_word w, std::uint32_t expected, std::uint32_t desired) {
  return as_atomic(w.word).compare_exchange_strong(expected, desired,
                                                   std::memory_order_acquire);  // [O]
}

void publish(awaited_word w, std::uint32_t value) {
  as_atomic(w.word).store(value, std::memory_order_release);  // [O]
  machine::wake(&w.word, INT_MAX);
}

}  // namespace syncopate::instrument::objects
