// contract.h -- what every machine has, as a concept: the names of machine.h that
// machine/current.h brings, with what they take and return.
//
// The names are functions, not members of a type: the concept asks them of the machine that this
// compilation has chosen. `Word` is what is waited for in wait_until().
#pragma once

#include <syncopate/machine/current.h>

#include <atomic>
#include <concepts>
#include <cstdint>

namespace syncopate::machine {

template <class Word>
concept Machine = requires(const std::atomic<Word>& word, std::memory_order order,
                           bool (*done)(Word), const deadline& until, const void* address,
                           std::uint32_t number, std::uint64_t ticks_then) {
  requires std::same_as<decltype(is_modeled), const bool>;

  { relax() } -> std::same_as<void>;
  { spin(number) } -> std::same_as<void>;
  { polls(number) } -> std::same_as<std::uint32_t>;
  { prefetch(address) } -> std::same_as<void>;
  { prefetch_to_write(address) } -> std::same_as<void>;
  { demote(address) } -> std::same_as<void>;
  { yield() } -> std::same_as<void>;

  { wait_until(word, order, done) } -> std::same_as<Word>;
  { wait_until(word, order, done, ticks_then) } -> std::same_as<bool>;
  { park(address, number) } -> std::same_as<park_result>;
  { park(address, number, &until) } -> std::same_as<park_result>;
  { wake(address, 1) } -> std::same_as<int>;
  { remaining(until) } -> std::same_as<std::int64_t>;

  { ticks() } -> std::same_as<std::uint64_t>;
  { ticks_per_second() } -> std::same_as<std::uint64_t>;
  { now() } -> std::same_as<std::uint64_t>;

  { processor() } -> std::same_as<unsigned>;
  { processors() } -> std::same_as<unsigned>;
  { processor_hint() } -> std::same_as<std::uint32_t>;
  { learn_processors(1) } -> std::same_as<void>;
  { may_spin() } -> std::same_as<bool>;
  { self() } -> std::same_as<int>;
  { known_self() } -> std::same_as<int>;
  { thread_index() } -> std::same_as<unsigned>;
  { node() } -> std::same_as<unsigned>;
  { node_count() } -> std::same_as<unsigned>;
  { now_and_then(number) } -> std::same_as<bool>;
  { fork_generation() } -> std::same_as<std::uint32_t>;
  { forked_from() } -> std::same_as<int>;

  { htm::usable() } -> std::same_as<bool>;
  { htm::commits() } -> std::same_as<bool>;
  { htm::begin(htm::mode::normal) } -> std::same_as<htm::status>;
  { htm::active() } -> std::same_as<bool>;
  { htm::commit() } -> std::same_as<void>;
  { htm::abort<1>() } -> std::same_as<void>;
  { htm::fell_back() } -> std::same_as<void>;
};

static_assert(Machine<std::uint32_t> && Machine<std::uint64_t> && Machine<const void*> &&
              Machine<bool>);

}  // namespace syncopate::machine
