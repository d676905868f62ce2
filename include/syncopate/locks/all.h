// all.h -- the catalogue of locks: the pthread library, the conformance tests, the benchmarks,
// `syncopate list` and the README's table iterate over this list. A lock that is not here does not
// exist, but for those that serve one place, and stand there for this reason:
//   products/openmp/locks/asymmetric_lock.h       `asymmetric` of OpenMP programs: its sleepers are
//                                                 counted in a table of that library
//   src/record/internal.h: tiny_lock              must not hang a program whose holder vanished,
//                                                 so lock() may fail
//   src/model/emulated/threads/real_mutex.h       the C library's, where pthread's names stand for
//                                                 the watched program's mutexes
//   src/model/emulated/memory/conflict.h: line_lock  a bit in the marks that a line has anyway
//   include/syncopate/tm/word_lock.h              in C, taken and given back by transactions
//   products/preload/spin/spinlock.cpp            pthread_spin_t's four bytes, as glibc uses them
//   src/model/front/pthread/algorithm/spin.cpp    likewise, in simulated and emulated programs
//   src/model/front/pthread/model/spin.cpp        likewise, in one step of the explored machine
// tests/unit/test_lock_catalogue.py looks for others.
#pragma once

#include <syncopate/elide/elided_lock.h>
#include <syncopate/lock.h>
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/clh_lock.h>
#include <syncopate/locks/cna_lock.h>
#include <syncopate/locks/combined_lock.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/locks/hmcs_lock.h>
#include <syncopate/locks/htm_lock.h>
#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/null_lock.h>
#include <syncopate/locks/one_spinner_lock.h>
#include <syncopate/locks/priority_lock.h>
#include <syncopate/locks/reciprocating_lock.h>
#include <syncopate/locks/speculating_lock.h>
#include <syncopate/locks/speculative_tatas_lock.h>
#include <syncopate/locks/speculative_ticket_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/locks/ticket_lock.h>
#include <syncopate/locks/traits.h>
#include <syncopate/wait/all.h>

#include <string_view>
#include <type_traits>

namespace syncopate {

// One (algorithm, waiting strategy) pair. `wait` is "" where the algorithm brings its own waiting.
template <Lock Type>
struct lock_entry {
  using type = Type;
  std::string_view name;    // as in SYNCOPATE_LOCK=name:wait
  std::string_view header;  // the file that is the algorithm, in locks/ unless it says otherwise
  std::string_view wait;
  bool is_default;  // the strategy that `name` alone stands for
};

// Whether "name" or "name:wait" stands for an entry (or for what is made of it, lock_table.h).
template <class Entry>
constexpr bool is_called(const Entry& entry, std::string_view text) noexcept {
  if (!text.starts_with(entry.name)) return false;
  text.remove_prefix(entry.name.size());
  if (text.empty()) return entry.is_default;
  if (entry.wait.empty() || text.front() != ':') return false;
  text.remove_prefix(1);
  return text == entry.wait;
}

// What the papers call some of them: any_lock and the workloads take these names, too.
struct lock_alias {
  std::string_view name, stands_for;
};
inline constexpr lock_alias paper_names[] = {{"tatas-aahtm", "speculative_tatas"},
                                             {"tatas-pri-aahtm", "priority"},
                                             {"ticket-aahtm", "speculative_ticket"},
                                             {"htm-1", "htm_1"},
                                             {"htm-10", "htm_10"},
                                             {"htm-10-fb-aahtm", "htm_10_fb_aahtm"}};

// Calls visit(lock_entry<Lock>) for every pair, in the order that listings show.
template <class Visit>
constexpr void for_each_lock(Visit&& visit) {
  const auto own = [&]<class Lock>(std::type_identity<Lock>, std::string_view name,
                                   std::string_view header) {
    visit(lock_entry<Lock>{name, header, "", true});
  };
  const auto with_waits = [&]<template <class> class Lock>(std::string_view name,
                                                           std::string_view header, auto&& one) {
    one.template operator()<Lock, waits::spin_then_park>(name, header, true);
    one.template operator()<Lock, waits::adaptive>(name, header, false);
    one.template operator()<Lock, waits::park>(name, header, false);
    one.template operator()<Lock, waits::yield>(name, header, false);
    one.template operator()<Lock, waits::spin>(name, header, false);
  };
  const auto one = [&]<template <class> class Lock, class Wait>(
                       std::string_view name, std::string_view header, bool is_default) {
    visit(lock_entry<Lock<Wait>>{name, header, Wait::name, is_default});
  };
  const auto ahead = [&]<template <class> class Lock>(std::string_view name,
                                                      std::string_view header) {
    visit(lock_entry<speculating_lock<Lock<waits::spin_then_park>>>{name, header, "speculate",
                                                                    false});
  };
  own(std::type_identity<auto_lock>{}, "auto", "auto_lock.h");
  own(std::type_identity<futex_lock>{}, "futex", "futex_lock.h");
  with_waits.template operator()<tatas_lock>("tatas", "tatas_lock.h", one);
  ahead.template operator()<tatas_lock>("tatas", "tatas_lock.h");
  with_waits.template operator()<ticket_lock>("ticket", "ticket_lock.h", one);
  ahead.template operator()<ticket_lock>("ticket", "ticket_lock.h");
  // Waiting by a monitor is for waiters that watch a word of their own.
  with_waits.template operator()<mcs_lock>("mcs", "mcs_lock.h", one);
  one.template operator()<mcs_lock, waits::monitor>("mcs", "mcs_lock.h", false);
  ahead.template operator()<mcs_lock>("mcs", "mcs_lock.h");
  with_waits.template operator()<clh_lock>("clh", "clh_lock.h", one);
  one.template operator()<clh_lock, waits::monitor>("clh", "clh_lock.h", false);
  one.template operator()<one_spinner_lock, waits::monitor>("one_spinner", "one_spinner_lock.h",
                                                            true);
  one.template operator()<one_spinner_lock, waits::yield>("one_spinner", "one_spinner_lock.h",
                                                          false);
  one.template operator()<one_spinner_lock, waits::spin>("one_spinner", "one_spinner_lock.h",
                                                         false);
  one.template operator()<one_spinner_lock, waits::adaptive>("one_spinner", "one_spinner_lock.h",
                                                             false);
  one.template operator()<one_spinner_lock, waits::park>("one_spinner", "one_spinner_lock.h",
                                                         false);
  with_waits.template operator()<combined_lock>("combined", "combined_lock.h", one);
  one.template operator()<combined_lock, waits::monitor>("combined", "combined_lock.h", false);
  one.template operator()<cna_lock, waits::spin_then_park>("cna", "cna_lock.h", true);
  one.template operator()<cna_lock, waits::spin>("cna", "cna_lock.h", false);
  one.template operator()<hmcs_lock, waits::spin_then_park>("hmcs", "hmcs_lock.h", true);
  one.template operator()<hmcs_lock, waits::spin>("hmcs", "hmcs_lock.h", false);
  one.template operator()<reciprocating_lock, waits::spin_then_park>("reciprocating",
                                                                     "reciprocating_lock.h", true);
  one.template operator()<reciprocating_lock, waits::spin>("reciprocating", "reciprocating_lock.h",
                                                           false);
  own(std::type_identity<speculative_tatas_lock>{}, "speculative_tatas",
      "speculative_tatas_lock.h");
  own(std::type_identity<speculative_ticket_lock>{}, "speculative_ticket",
      "speculative_ticket_lock.h");
  own(std::type_identity<priority_lock>{}, "priority", "priority_lock.h");
  using spinning = tatas_lock<waits::spin>;
  using sleeping = tatas_lock<waits::spin_then_park>;
  own(std::type_identity<htm_lock<1, spinning, sleeping>>{}, "htm_1", "htm_lock.h");
  own(std::type_identity<htm_lock<10, spinning, sleeping>>{}, "htm_10", "htm_lock.h");
  own(std::type_identity<elide::elided_lock<auto_lock, elide::policies::adaptive>>{}, "elided_auto",
      "elide/elided_lock.h");
  own(std::type_identity<htm_lock<10, speculative_tatas_lock, speculative_tatas_lock::in_mutex>>{},
      "htm_10_fb_aahtm", "htm_lock.h");
  own(std::type_identity<null_lock>{}, "null", "null_lock.h");
}

}  // namespace syncopate
