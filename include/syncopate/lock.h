// lock.h -- what a lock, a reader-writer lock and a barrier are: the contract of their catalogues.
//
// What a concept cannot say: a lock excludes, and its critical sections happen before one another;
// unlocking needs a holder, the caller where the lock's text says so; after the store that releases
// it, a lock is touched no more. tests/conformance and tests/check look at that for all of them.
// In the child of a fork, who has forked holds what it held. But where others waited for a lock,
// only auto, futex, tatas, what is made of these, and auto_rwlock come free there: the others would
// be passed to a thread that the child has not (tests/conformance/fork_test.cpp).
#pragma once

#include <syncopate/barriers/traits.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine/types.h>

#include <concepts>
#include <cstdint>

namespace syncopate {

// A free one is made without arguments, and stays where it is.
template <class L>
concept Lock = std::default_initializable<L> && !std::copy_constructible<L> &&
               requires(L & lock, const L& seen) {
  { L::traits } -> std::same_as<const lock_traits&>;
  { lock.lock() } -> std::same_as<void>;
  { lock.try_lock() } -> std::same_as<bool>;  // does not wait for a holder
  { lock.unlock() } -> std::same_as<void>;
  { seen.is_locked() } -> std::same_as<bool>;  // a hint; subscribes a transaction
  { seen.contended() } -> std::same_as<bool>;  // a hint, for the holder
  requires noexcept(lock.lock(), lock.try_lock(), lock.unlock());
  requires noexcept(seen.is_locked(), seen.contended());
  requires L::traits.glibc_word || !L::traits.keeps_owner;
  requires !L::traits.timed || requires(const machine::deadline& until) {
    { lock.lock_until(until) } -> std::same_as<bool>;  // whether it is held
  };
  requires !L::traits.remembers_contention || requires {
    { seen.has_been_contended() } -> std::same_as<bool>;
  };
};

// Writers as holders of a lock, readers beside one another.
template <class L>
concept RwLock =
    std::default_initializable<L> && !std::copy_constructible<L> && requires(L & lock) {
  { lock.lock() } -> std::same_as<void>;
  { lock.try_lock() } -> std::same_as<bool>;
  { lock.unlock() } -> std::same_as<void>;
  { lock.lock_shared() } -> std::same_as<void>;
  { lock.try_lock_shared() } -> std::same_as<bool>;
  { lock.unlock_shared() } -> std::same_as<void>;
};

// Made for a number of participants, each of which has its own number below that.
template <class B>
concept Barrier = std::constructible_from<B, std::uint32_t> && !std::copy_constructible<B> &&
                  requires(B & barrier, std::uint32_t participant) {
  { B::traits } -> std::same_as<const barrier_traits&>;
  { barrier.arrive_and_wait(participant) } -> std::same_as<void>;
  requires noexcept(barrier.arrive_and_wait(participant));
  requires B::traits.numbered || requires {
    { barrier.arrive_and_wait() } -> std::same_as<void>;
  };
  requires !B::traits.split || requires {
    { barrier.wait(barrier.arrive(participant), participant) } -> std::same_as<void>;
  };
  requires !B::traits.drop || requires {
    { barrier.arrive_and_drop(participant) } -> std::same_as<void>;
  };
};

}  // namespace syncopate
