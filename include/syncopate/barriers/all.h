// all.h -- L2: every barrier of the library. Tests and benchmarks iterate over this list.
#pragma once

#include <syncopate/barriers/central_barrier.h>
#include <syncopate/barriers/dissemination_barrier.h>
#include <syncopate/barriers/futex_barrier.h>
#include <syncopate/barriers/traits.h>
#include <syncopate/barriers/two_level_barrier.h>
#include <syncopate/wait/all.h>

#include <string_view>
#include <type_traits>

namespace syncopate {

// One (algorithm, waiting strategy) pair. `wait` is "" where the algorithm brings its own waiting.
template <class Barrier>
struct barrier_entry {
  using type = Barrier;
  std::string_view name;    // "name" or "name:wait" names a barrier at run time
  std::string_view header;  // the file that is the algorithm
  std::string_view wait;
  bool is_default;  // the strategy that `name` alone stands for
};

// Calls visit(barrier_entry<Barrier>) for every pair, in the order that listings show.
template <class Visit>
constexpr void for_each_barrier(Visit&& visit) {
  const auto own = [&]<class Barrier>(std::type_identity<Barrier>, std::string_view name,
                                      std::string_view header) {
    visit(barrier_entry<Barrier>{name, header, "", true});
  };
  const auto one = [&]<template <class> class Barrier, class Wait>(
                       std::string_view name, std::string_view header, bool is_default) {
    visit(barrier_entry<Barrier<Wait>>{name, header, Wait::name, is_default});
  };
  own(std::type_identity<futex_barrier<0>>{}, "futex", "futex_barrier.h");
  own(std::type_identity<futex_barrier<1000>>{}, "poll_then_futex", "futex_barrier.h");
  one.template operator()<central_barrier, waits::spin_then_park>("central", "central_barrier.h",
                                                                  true);
  one.template operator()<central_barrier, waits::yield>("central", "central_barrier.h", false);
  one.template operator()<central_barrier, waits::spin>("central", "central_barrier.h", false);
  one.template operator()<central_barrier, waits::monitor>("central", "central_barrier.h", false);
  one.template operator()<dissemination_barrier, waits::yield>("dissemination",
                                                               "dissemination_barrier.h", true);
  one.template operator()<dissemination_barrier, waits::spin>("dissemination",
                                                              "dissemination_barrier.h", false);
  one.template operator()<two_level_barrier, waits::monitor>("two_level", "two_level_barrier.h",
                                                             true);
  one.template operator()<two_level_barrier, waits::yield>("two_level", "two_level_barrier.h",
                                                           false);
  one.template operator()<two_level_barrier, waits::spin>("two_level", "two_level_barrier.h",
                                                          false);
}

}  // namespace syncopate
