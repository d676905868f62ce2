// policy.h -- what the user wants of single locks (SYNCOPATE_SITES, written by `syncopate run
// --policy`): by the variable that a lock is, or by the function that creates or first uses it.
//
//   SYNCOPATE_SITES = item;item;...     an item is one of
//     m,PATH                       the program or library that the items behind it are about
//     v,START,END,SETTINGS,LABEL   a lock that lies in the variable [START, END)
//     c,START,END,SETTINGS,LABEL   one whose init call returns to [START, END)
//     u,START,END,SETTINGS,LABEL   one that no c item took: where its first use returns to
//     w,START,END                  a function that only leads to locks: its caller counts instead
//   START, END: link-time addresses, hexadecimal. LABEL: what to call the site. SETTINGS: joined by
//   '+', elide=always | elide=off | lock=NAME[:WAIT] (mutexes) | prefer=readers | prefer=writers
//   (reader-writer locks) | barrier=WAIT (chosen_barrier.h). Of one place the first item counts
//   that is for the object's kind; one with elide alone is for mutexes and reader-writer locks.
//
// A lock asks once: at its init call, or at its first use. The answer lies in the lock. All who
// meet there at the same time take the answer of the first, so no lock has two algorithms.
//
// Memory order (each tag stands at its site below)
//   [N]  relaxed: a count, for the end of the program.
#pragma once

#include <cstdint>

namespace syncopate::shim {

struct algorithm;

// Bits in the place of a lock that its owner gives us; all zero: not asked yet. Above them stands
// which of chosen_locks the lock has.
enum choice : std::uint16_t { asked = 4, never_elide = 8, always_elide = 16 };
inline constexpr unsigned chosen_lock_shift = 5;
// Further bits, of reader-writer locks: a mutex has no room for them, and no use.
inline constexpr std::uint16_t prefer_readers = 1u << 8, prefer_writers = 1u << 9;
// And of barriers: how they wait (chosen_barrier.h).
inline constexpr unsigned barrier_wait_shift = 10, barrier_wait_mask = 7;
inline constexpr unsigned most_chosen_locks = 8;  // the default among them

// Index 0 is what SYNCOPATE_LOCK says; set by ensure_configured().
extern constinit const algorithm* chosen_locks[most_chosen_locks];

// Whether there is a policy at all; set by ensure_configured(), so before any lock is taken.
extern constinit bool has_policy;
// Whether it has anything to say here: about algorithms, about preferences, or about elision where
// that counts: where sections elide, or somebody wants to know which locks each item finds.
bool is_policy_given(bool elision_counts) noexcept;

// Whether the policy names a lock of that kind.
bool policy_names(bool (*is_one)(const algorithm&)) noexcept;

// Reads the variable. Locks that ask before that keep the default. By the constructor: modules must
// be loaded; those that come later are not looked at.
void read_policy() noexcept;

// What a lock is to be: bits of choice, and how many locks its site had before; null: no site.
struct decision {
  std::uint16_t setting;
  std::uint32_t* locks;
  // The lock has taken the setting.
  void taken() const noexcept {
    if (locks != nullptr) __atomic_fetch_add(locks, 1, __ATOMIC_RELAXED);  // [N]
  }
};
// Who asks: only items count that say something of its kind.
enum class chooser : unsigned char { mutex, rwlock, barrier };
// For an object at `object`, `asked` among the bits. Requires: has_policy.
// `caller`: where the call returns to; null where that is unknown.
decision choose_at_first_use(chooser who, const void* object, const void* caller) noexcept;
// The same for its init call; no bit where the first use is to be waited for.
decision choose_at_init(chooser who, const void* object, const void* caller) noexcept;

// What the policy calls the variable that the object is or lies in; null where it names none.
const char* label_at(const void* object) noexcept;

// One line on standard error for each site: how many locks were found there, and what they have.
void report_policy() noexcept;

}  // namespace syncopate::shim
