// once.cpp -- one-time initialization and the end of threads for the explored machine.

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
    word.await(std::memory_order_acquire, settled, nullptr, seen);
    if (seen == finished) return false;
  } while (!word.replace(untouched, running, std::memory_order_acquire));
  return true;
}

void once_end(std::uint32_t& control, bool done, place where) {
  model::word<std::uint32_t>(control, where)
      .store(done ? finished : untouched, std::memory_order_release);
}

bool wait_posted(std::uint32_t& posted, limit until, place where) {
  test_cancel();
  const auto is_posted = [](std::uint32_t value) { return value != 0; };
  std::uint32_t seen;
  return model::word<std::uint32_t>(posted, where)
      .await(std::memory_order_acquire, is_posted, until, seen);
}

void post(std::uint32_t& posted, place where) {
  model::word<std::uint32_t>(posted, where).store(1, std::memory_order_release);
}

}  // namespace syncopate::instrument::objects
