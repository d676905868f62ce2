// awaited_word.cpp -- a word that is waited for on the explored machine, one event a call.
//
// Memory order (each tag stands at its site below)
//   [O]  release store that publishes, acquire by who finds that: what was done before
//        happens-before.

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/model/words.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

std::uint32_t await(const model::word<std::uint32_t>& word, std::uint32_t value, limit until) {
  const auto is_another = [value](std::uint32_t now) { return now != value; };
  std::uint32_t seen;
  word.await(std::memory_order_acquire, is_another, until, seen);  // [O]
  return seen;
}

}  // namespace

std::uint32_t await_change(awaited_word w, std::uint32_t value) {
  return await({w.word, w.where}, value, nullptr);
}

std::uint32_t await_change(awaited_word w, std::uint32_t value, limit until) {
  test_cancel();
  return await({w.word, w.where}, value, until);
}

bool replace(awaited_word w, std::uint32_t expected, std::uint32_t desired) {
  return model::word<std::uint32_t>(w.word, w.where)
      .replace(expected, desired, std::memory_order_acquire);  // [O]
}

void publish(awaited_word w, std::uint32_t value) {
  model::word<std::uint32_t>(w.word, w.where).store(value, std::memory_order_release);  // [O]
}

}  // namespace syncopate::instrument::objects
