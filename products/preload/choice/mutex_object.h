// mutex_object.h -- where our state lives inside glibc's 40-byte pthread_mutex_t.
//
//   offset  glibc        algorithms with glibc's word (auto, futex)   other algorithms
//    0      __lock       lock word, glibc's protocol                  acquisitions (recording)
//    4      __count      recursion depth                              recursion depth
//    8      __owner      holder's kernel thread id                    the same
//   12      __nusers     1 while held                                 the same
//   16      __kind       kind, as glibc keeps it; in its upper half   the same
//                        what elision has learned of the mutex, below that a policy's choice
//   20      __spins ...  auto's budget and processor                  record id
//   24      __list       auto's successor and stamp                   the algorithm's own 16 bytes
//   32      __list       record id
//   36      __list       acquisitions (recording)
//
// All-zero bytes (a static initializer) are a free mutex in every column. Robust, priority and
// process-shared mutexes use none of this: every call on them goes to glibc.
//
// Memory order (each tag stands at its site below)
//   [P]  acq_rel RMW that keeps a choice -- synchronizes with [A].
//   [A]  acquire load of the choice: who sees the index of an algorithm sees that algorithm in
//        chosen_locks.
//   [X]  relaxed: a value to try from; [P] decides.
#pragma once

#include <syncopate/elide/learning.h>
#include <syncopate/locks/auto_lock.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <pthread.h>

#include "preload/choice/policy.h"

namespace syncopate::shim {

struct mutex_object {
  static constexpr std::size_t room = 16;  // bytes for an algorithm without glibc's word

  // __kind's bits: the type in 0-1, then what makes glibc responsible.
  enum : unsigned {
    type_mask = 3,
    robust = 16,
    priority_inherit = 32,
    priority_protect = 64,
    process_shared = 128,
    glibc_only = robust | priority_inherit | priority_protect | process_shared,
    kind_bits = type_mask | glibc_only,
  };

  static mutex_object& of(pthread_mutex_t* m) noexcept {
    return *reinterpret_cast<mutex_object*>(m);
  }

  [[nodiscard]] unsigned kind_flags() const noexcept {
    return static_cast<unsigned>(kind) & kind_bits;
  }
  [[nodiscard]] bool belongs_to_glibc() const noexcept {
    return (static_cast<unsigned>(kind) & glibc_only) != 0;
  }
  [[nodiscard]] int type() const noexcept {
    return static_cast<int>(static_cast<unsigned>(kind) & type_mask);
  }

  // Bits that glibc leaves alone; little-endian, as every machine that has transactions.
  elide::learning& learned() noexcept {
    return *reinterpret_cast<elide::learning*>(reinterpret_cast<char*>(&kind) + 2);
  }

  // Six bits between the two (policy.h); glibc's own flags lie below.
  static constexpr unsigned choice_shift = 8;
  [[nodiscard]] unsigned choice() const noexcept {
    // Acquire: who sees the index of an algorithm sees that algorithm in chosen_locks.
    const int now = __atomic_load_n(&kind, __ATOMIC_ACQUIRE);  // [A]
    return static_cast<unsigned>(now) >> choice_shift & 0xfcu;
  }
  // Index in chosen_locks; 0, the default, before the mutex was asked for.
  [[nodiscard]] unsigned chosen_lock() const noexcept { return choice() >> chosen_lock_shift; }
  [[nodiscard]] bool has_default_lock() const noexcept {
    return (choice() & ~(never_elide | always_elide)) == asked;
  }
  // By its creator, or by whoever uses it first: of several, the first one's choice stays.
  void keep_choice(const decision& chosen) noexcept {
    const auto bits = static_cast<int>((chosen.setting & 0xfcu) << choice_shift);
    int seen = __atomic_load_n(&kind, __ATOMIC_RELAXED);  // [X]
    do {
      if ((static_cast<unsigned>(seen) >> choice_shift & asked) != 0) return;
    } while (!__atomic_compare_exchange_n(&kind, &seen, seen | bits, true, __ATOMIC_ACQ_REL,  // [P]
                                          __ATOMIC_RELAXED));                                 // [X]
    chosen.taken();
  }

  auto_lock& as_auto() noexcept { return *reinterpret_cast<auto_lock*>(this); }
  void* state(bool glibc_word) noexcept { return glibc_word ? static_cast<void*>(this) : own; }
  std::uint32_t* record_slot(bool glibc_word) noexcept { return glibc_word ? &slot_b : &slot_a; }
  std::uint32_t* record_count(bool glibc_word) noexcept { return glibc_word ? &count_b : &word; }

  std::uint32_t word;
  std::uint32_t depth;
  int owner;
  std::uint32_t users;
  int kind;
  std::uint32_t slot_a;
  union {
    alignas(8) unsigned char own[room];
    struct {
      unsigned char successor_and_stamp[8];
      std::uint32_t slot_b;
      std::uint32_t count_b;
    };
  };
};

static_assert(sizeof(mutex_object) <= sizeof(pthread_mutex_t));  // larger on aarch64
static_assert(offsetof(mutex_object, word) == offsetof(pthread_mutex_t, __data.__lock));
static_assert(offsetof(mutex_object, depth) == offsetof(pthread_mutex_t, __data.__count));
static_assert(offsetof(mutex_object, owner) == offsetof(pthread_mutex_t, __data.__owner));
static_assert(offsetof(mutex_object, users) == offsetof(pthread_mutex_t, __data.__nusers));
static_assert(offsetof(mutex_object, kind) == offsetof(pthread_mutex_t, __data.__kind));
static_assert(auto_lock_layout::word == offsetof(mutex_object, word));
static_assert(auto_lock_layout::count == offsetof(mutex_object, depth));
static_assert(auto_lock_layout::owner == offsetof(mutex_object, owner));
static_assert(auto_lock_layout::users == offsetof(mutex_object, users));
static_assert(auto_lock_layout::kind == offsetof(mutex_object, kind));
static_assert(sizeof(auto_lock) <= offsetof(mutex_object, slot_b));

}  // namespace syncopate::shim
