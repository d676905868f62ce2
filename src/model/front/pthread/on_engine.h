// on_engine.h -- calls of the engine from this folder's code, which runs as part of the
// program.
#pragma once

#include "model/front/engine.h"
#include "model/front/scope.h"
#include "posix/times.h"

namespace syncopate::instrument {

template <class Call>
decltype(auto) on_engine(Call call) {
  const engine_scope inside;
  return call();
}

inline engine::address at(const volatile void* p) noexcept {
  return reinterpret_cast<engine::address>(p);
}

// Tells the machine of an access that code of this library is about to make for the program.
inline void touch(const volatile void* p, std::size_t bytes, engine::kind what,
                  engine::place where) {
  on_engine([&] { engine::access(at(p), bytes, what, where); });
}

// A deadline in the machine's ticks, for engine::await: never 0, which means none there.
inline std::uint64_t to_ticks(const machine::deadline* until) {
  if (until == nullptr) return 0;
  const engine_scope inside;
  const auto now = static_cast<__int128>(engine::nanoseconds(until->clock));
  const __int128 left =
      static_cast<__int128>(until->at.tv_sec) * 1'000'000'000 + until->at.tv_nsec - now;
  const std::uint64_t ticks = engine::ticks();
  if (left <= 0) return ticks != 0 ? ticks : 1;
  const __int128 more = (left * engine::ticks_per_second() + 999'999'999) / 1'000'000'000;
  constexpr __int128 farthest = INT64_MAX / 2;  // ticks are compared by signed difference
  return ticks + static_cast<std::uint64_t>(more < farthest ? more : farthest);
}

}  // namespace syncopate::instrument
