// words.h -- engine operations on 32- and 64-bit words, for the model objects. Not
// instrumented: each call here is one event of the machine.
#pragma once

#include <cstdint>
#include <cstdio>

#include "model/front/pthread/on_engine.h"

namespace syncopate::instrument::model {

using engine::place;
using order = std::memory_order;

template <class T>
class word {
 public:
  word(T& object, place where) : at_(instrument::at(&object)), where_(where) {}

  T load(order o) const {
    return static_cast<T>(on_engine([&] { return engine::load(at_, sizeof(T), o, where_); }));
  }
  void store(T value, order o) const {
    on_engine([&] { engine::store(at_, sizeof(T), value, o, where_); });
  }
  T add(T operand, order o) const {
    return static_cast<T>(on_engine([&] {
      return engine::modify(at_, sizeof(T), engine::operation::add, operand, o, where_);
    }));
  }
  T exchange(T value, order o) const {
    return static_cast<T>(on_engine([&] {
      return engine::modify(at_, sizeof(T), engine::operation::exchange, value, o, where_);
    }));
  }
  bool replace(T expected, T desired, order success) const {
    engine::word seen = expected;
    return on_engine([&] {
      return engine::compare_exchange(at_, sizeof(T), seen, desired, success, order::relaxed, false,
                                      where_);
    });
  }
  // Waits until done(value); false when the limit has passed. `value` is what was found.
  template <class Predicate>
  bool await(order o, Predicate done, const machine::deadline* until, T& value) const {
    const engine::predicate call = [](void* context, std::uint64_t seen) {
      return (*static_cast<Predicate*>(context))(static_cast<T>(seen));
    };
    std::uint64_t bits = 0;
    const bool satisfied = on_engine([&] {
      return engine::await(at_, sizeof(T), o, -1, call, &done, to_ticks(until), bits, where_);
    });
    value = static_cast<T>(bits);
    return satisfied;
  }

 private:
  engine::address at_;
  place where_;
};

inline unsigned self() {
  return on_engine([] { return engine::current(); });
}

// A misuse that no correct program commits: ends the run.
[[noreturn]] inline void misuse(const char* what, const void* object, place where) {
  char message[160];
  std::snprintf(message, sizeof message, "%s (object %p, thread %u)", what, object, self());
  on_engine([&] { engine::finish(engine::end::failed_check, 1, message, where); });
  __builtin_unreachable();
}

}  // namespace syncopate::instrument::model
