// once.cpp -- one-time initialization and the end of threads for the explored machine.
//
// Memory order (each tag stands at its site below)
//   [O]  release store when it is done, acquire by who waits for that: what was done
//        happens-before.

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/model/words.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

enum once_state : std::uint32_t { untouched = 0, running = 1, finished = 2 };

}  // namespace

bool once_begin(std::uint32_t& control, place where) {
  const model::word<std::uint32_t> word(control, where);
  std::uint32_t seen;
  do {
    const auto settled = [](std::uint32_t value) { return value != running; };
    word.await(std::memory_order_acquire, settled, nullptr, seen);  // [O]
    if (seen == finished) return false;
  } while (!word.replace(untouched, running, std::memory_order_acquire));  // [O]
  return true;
}

void once_end(std::uint32_t& control, bool done, place where) {
  model::word<std::uint32_t>(control, where)
      .store(done ? finished : untouched, std::memory_order_release);  // [O]
}

bool wait_posted(std::uint32_t& posted, limit until, place where) {
  test_cancel();
  const auto is_posted = [](std::uint32_t value) { return value != 0; };
  std::uint32_t seen;
  return model::word<std::uint32_t>(posted, where)
      .await(std::memory_order_acquire, is_posted, until, seen);  // [O]
}

void post(std::uint32_t& posted, place where) {
  model::word<std::uint32_t>(posted, where).store(1, std::memory_order_release);  // [O]
}

}  // namespace syncopate::instrument::objects
