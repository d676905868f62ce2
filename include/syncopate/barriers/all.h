// all.h -- every barrier of the library. Tests and benchmarks iterate over this list.
#pragma once

#include <syncopate/barriers/auto_barrier.h>
#include <syncopate/barriers/central_barrier.h>
#include <syncopate/barriers/combining_tree_barrier.h>
#include <syncopate/barriers/dissemination_barrier.h>
#include <syncopate/barriers/futex_barrier.h>
#include <syncopate/barriers/speculating_barrier.h>
#include <syncopate/barriers/traits.h>
#include <syncopate/barriers/two_level_barrier.h>
#include <syncopate/lock.h>
#include <syncopate/wait/all.h>

#include <string_view>
#include <type_traits>

namespace syncopate {

// One (algorithm, waiting strategy) pair. `wait` is "" where the algorithm brings its own waiting.
template <Barrier Type>
struct barrier_entry {
  using type = Type;
  std::string_view name;    // "name" or "name:wait" names a barrier at run time
  std::string_view header;  // the file that is the algorithm
  std::string_view wait;
  bool is_default;  // the strategy that `name` alone stands for
};

// The barriers without a completion function, as templates of one parameter.
namespace detail {
template <class Wait>
using central = central_barrier<Wait>;
template <class Wait>
using combining_tree = combining_tree_barrier<Wait>;
template <class Wait>
using two_level = two_level_barrier<Wait>;
template <class Wait>
using speculating = speculating_barrier<Wait>;
}  // namespace detail

// Calls visit(barrier_entry<Barrier>) for every pair, in the order that listings show.
template <class Visit>
constexpr void for_each_barrier(Visit&& visit) {
  const auto own = [&]<class Barrier>(std::type_identity<Barrier>, std::string_view name,
                                      std::string_view header) {
    visit(barrier_entry<Barrier>{name, header, "", true});
  };
  const auto one = [&]<class Barrier>(std::type_identity<Barrier>, std::string_view name,
                                      std::string_view header, bool is_default) {
    visit(barrier_entry<Barrier>{name, header, Barrier::wait_strategy::name, is_default});
  };
  // The first strategy is the default.
  const auto with_waits = [&]<template <class> class Barrier, class First, class... Others>(
                              std::string_view name, std::string_view header) {
    one(std::type_identity<Barrier<First>>{}, name, header, true);
    (one(std::type_identity<Barrier<Others>>{}, name, header, false), ...);
  };
  using namespace waits;
  own(std::type_identity<auto_barrier>{}, "auto", "auto_barrier.h");
  own(std::type_identity<futex_barrier<0>>{}, "futex", "futex_barrier.h");
  own(std::type_identity<futex_barrier<1000>>{}, "poll_then_futex", "futex_barrier.h");
  with_waits.template operator()<detail::central, spin_then_park, team_adaptive, park, yield,
                                 monitor, spin>("central", "central_barrier.h");
  with_waits.template operator()<detail::combining_tree, team_adaptive, spin_then_park, park, yield,
                                 monitor, spin>("combining_tree", "combining_tree_barrier.h");
  with_waits.template operator()<dissemination_barrier, yield, team_adaptive, spin_then_park, park,
                                 monitor, spin>("dissemination", "dissemination_barrier.h");
  with_waits.template operator()<detail::two_level, monitor, team_adaptive, spin_then_park, park,
                                 yield, spin>("two_level", "two_level_barrier.h");
  with_waits.template operator()<detail::speculating, team_adaptive, spin_then_park, park, yield,
                                 monitor, spin>("speculating", "speculating_barrier.h");
}

}  // namespace syncopate
