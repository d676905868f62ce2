// steps.h -- what the models ask of the explored machine beside engine.h to do in one step: each is
// one event, on a word of an object.
#pragma once

#include <cstdint>
#include <type_traits>

#include "model/front/pthread/model/words.h"

namespace syncopate::instrument::model {

// What is to be written behind a value.
using successor = std::uint64_t (*)(void* context, std::uint64_t value);

// The machine's (src/model/explored).
// Waits until `satisfied` holds for the value, and changes it then; false when the limit, in
// ticks, has passed (0: none). `value` is what was found.
bool take(engine::address at, unsigned bytes, order, engine::predicate satisfied, successor,
          void* context, std::uint64_t until, std::uint64_t& value, place where);
// Changes the value, whatever it is; returns what was found.
std::uint64_t modify(engine::address at, unsigned bytes, order, successor, void* context,
                     place where);

// A gathering: see machine.h there. dismiss() waits until all who have arrived have left.
void begin_gathering(engine::address at);
std::uint64_t arrive(engine::address at, unsigned group, bool asks, place where);
bool leave(engine::address at, std::uint64_t number, unsigned group, place where);
std::uint64_t arrived(engine::address at);
void dismiss(engine::address at, place where);

// A reader-writer lock: waits until it may be had; gives it back. False: nothing was done, since
// order_readers() has been called in this search: by whoever looks at such a lock without waiting
// for it, and may see how many readers there are. Then each step is one on a word.
bool share(engine::address at, bool exclusive, place where);
bool unshare(engine::address at, bool exclusive, place where);
void order_readers();

// A queue of sleepers, which engine::wake() wakes. The thread may be woken as soon as it is in the
// queue. It has to sleep, or to leave the queue; that is false if it is not there any more.
void enqueue(engine::address at, bool timed, place where);
bool leave_queue();
machine::park_result sleep_enqueued(engine::address at, const machine::deadline* until,
                                    place where);

template <class T>
std::uint64_t bits_of(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}

// The same for rules: objects with `bool may_enter(T) const` and `T entered(T) const`.
template <class T, class Rule>
bool take(T& word, const Rule& rule, const machine::deadline* until, place where) {
  const engine::predicate may = [](void* context, std::uint64_t value) {
    return static_cast<const Rule*>(context)->may_enter(static_cast<T>(value));
  };
  const successor next = [](void* context, std::uint64_t value) -> std::uint64_t {
    return bits_of(static_cast<const Rule*>(context)->entered(static_cast<T>(value)));
  };
  std::uint64_t seen = 0;
  const std::uint64_t ticks = to_ticks(until);
  return on_engine([&] {
    return take(at(&word), sizeof word, order::acquire, may, next, const_cast<Rule*>(&rule), ticks,
                seen, where);
  });
}

// Does not wait: false if the newest value is one from which the rule does not allow it.
template <class T, class Rule>
bool try_take(T& word, const Rule& rule, place where) {
  const successor next = [](void* context, std::uint64_t value) -> std::uint64_t {
    const auto& r = *static_cast<const Rule*>(context);
    const auto old = static_cast<T>(value);
    return bits_of(r.may_enter(old) ? r.entered(old) : old);
  };
  const auto found = static_cast<T>(on_engine([&] {
    return modify(at(&word), sizeof word, order::acquire, next, const_cast<Rule*>(&rule), where);
  }));
  return rule.may_enter(found);
}

}  // namespace syncopate::instrument::model
