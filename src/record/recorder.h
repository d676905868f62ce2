// recorder.h -- what a shim tells the recorder. The recorder knows nothing of any ABI.
//
// Life of one recorded wait on a lock:
//
//     wait w = wait_begin(kind, id, holder_tid);   before waiting (a sampled call stack is captured
//                                                  here, where the thread has time)
//     ... wait, acquire ...
//     wait_end(w);                                 a few stores into thread-local memory
//     ended = hold_ends(object, contended);        before the release
//     ... release ...
//     released(object, id, contended, ended);      after the release, where `ended` is not 0:
//                                                  pending waits are written out, and a contended
//                                                  holder's stack is sampled
//
// Behind a short wait, only some holds and releases are measured; then the wait is written out when
// the thread begins its next one.
//
// Nothing here allocates, locks, throws, touches errno, or writes to a standard stream. All calls
// are safe before start() and after the recorder stopped (they do nothing).
//
// Memory order (each tag stands at its site below)
//   [H]  acquire load of the header (file.cpp): what it says is there.
//   [G]  relaxed: only whether there is a file; or behind an entry, which has asked with [H].
//   [C]  compiler barrier: for signals of this thread.
//   [O]  relaxed: the thread reads what it alone has written.
//   [T]  release store: who reads that the lock is held, reads with acquire (told.cpp), and has
//        read nothing that came later.
//   [E]  release RMW: the times of the end are in the file before the flag that says that they are.
//   [R]  relaxed: the flag is taken back, and stands for itself.
#pragma once

#include <atomic>
#include <cstdint>

#include <syncopate/machine.h>
#include <syncopate/machine/fast_tls.h>

#include "record/format.h"
#include "record/usage.h"

namespace syncopate::record {

// Set once by start(); read by every shim's fast path.
extern constinit bool enabled;

// Begins recording into `path` (created with O_EXCL; if it exists, path.PID, path.PID.1, ...).
// Each file of it has these flags (file_flag). Returns false, and says why in one line on standard
// error, when the file cannot be made.
bool start(const char* path, const char* lock_name, const char* wait_name,
           std::uint32_t flags = 0) noexcept;

// Writes what live objects still hold back and marks the file finished. At exit. Does nothing in a
// child that has the process's memory (vfork), or of whose making it was not told.
void finish() noexcept;

// Around a call of exec: writes all that a process which ends by it could not, and marks the file
// so (replaced); where the call has failed, the recording goes on. Where finish() does nothing,
// these do nothing, too. Async-signal-safe.
void about_to_exec() noexcept;
void exec_has_failed() noexcept;

// In the child of a fork: leaves the parent's file alone and starts one of its own.
void after_fork_in_child() noexcept;

// Called in each thread that the recorder comes to know by its first event: its end is to be told
// then, by thread_end(). Set before there are such threads.
using thread_hook = void() noexcept;
extern constinit thread_hook* thread_is_new;

// A thread begins (in the new thread; `creator_stack` as returned by capture_creator() in the
// parent) and ends. Threads never announced are registered at their first event.
std::uint32_t capture_creator() noexcept;
void thread_begin(std::uint32_t creator_stack) noexcept;
void thread_end() noexcept;

// Identity. `slot` is 32 bits inside the object, zero at first, that belong to the recorder (an id,
// or what an init call left for the first use); nullptr for objects without room, which are then
// found by address. object_created() and object_destroyed() set it anew, recording or not.
// `caller`: return address of the init call, used when the budget for whole stacks is used up.
void object_created(object_kind, int type, const void* object, std::uint32_t* slot,
                    const void* caller = nullptr) noexcept;
void object_destroyed(object_kind, const void* object, std::uint32_t* slot,
                      std::uint32_t acquisitions) noexcept;
std::uint32_t identify(object_kind, int type, const void* object, std::uint32_t* slot) noexcept;
// Whether an id that was kept, in the object or elsewhere, is this object's: a fork's child has ids
// of its own, and finds its parent's in its memory.
bool is_of(std::uint32_t id, const void* object) noexcept;

// Uncontended acquisitions are counted in the object, by its holder, without a shared line:
//     if (is_sampled(++count)) counted(...);
// so that `counted` sees acquisitions 1, 17, 33, ... 4097, 4353, ...: it registers the object at
// the first, adds those since the one before, and starts one sampled hold-time measurement, which
// stands for as many. `count_at` is where the count lives, read again at finish() for the
// remainder; slot and count must lie within 256 bytes of the object's address for that. `n`: the
// count that was sampled, where others hold the object too and may have counted on.
inline constexpr std::uint32_t count_period = 256;
inline constexpr std::uint32_t first_period = 16, first_ones = 4096;  // the first ones closer
constexpr bool is_sampled(std::uint32_t n) noexcept {
  return (n & (count_period - 1)) == 1 || (n <= first_ones && (n & (first_period - 1)) == 1);
}
// How many acquisitions the sampled one `n` stands for.
constexpr std::uint32_t stands_for(std::uint32_t n) noexcept {
  if (n <= 1) return 1;
  return n <= first_ones + 1 ? first_period : count_period;
}
// How many there were since the last sampled one, when there were `n`. Requires: n > 0.
constexpr std::uint32_t since_sampled(std::uint32_t n) noexcept {
  return (n - 1) % (n <= first_ones ? first_period : count_period);
}
void counted(object_kind, int type, const void* object, std::uint32_t* slot,
             const std::uint32_t* count_at, std::uint32_t n = 0) noexcept;

// Of a lock that several threads hold at once, the count in the object is a line that all of them
// write. So once such a lock has proved busy, each thread counts it by itself and tells every
// count_period acquisitions: then this one is counted, and true.
bool counted_by_thread(const void* object) noexcept;

// Of a lock without room for a count, each thread counts what it takes by itself, too. To be called
// by the holder, after wait_end() if it has waited.
void taken(object_kind, int type, const void* object) noexcept;

// The calling thread holds a reader-writer lock for reading, or no longer does. Inline, since
// readers come and go far more often than anybody waits: nearly always the first place is the one.
// read_held: the places in the thread's entry; null before its first event.
extern thread_local constinit std::uint64_t* read_held SYNCOPATE_FAST_TLS;
void read_begins_elsewhere(std::uint64_t object) noexcept;
void read_ends_elsewhere(std::uint64_t object) noexcept;
inline void change_read_held(std::uint64_t from, std::uint64_t to,
                             void (*elsewhere)(std::uint64_t) noexcept) noexcept {
  std::uint64_t* const first = read_held;
  if (__builtin_expect(first == nullptr || __atomic_load_n(first, __ATOMIC_RELAXED) != from,
                       0))  // [O]
    return elsewhere(from | to);
  __atomic_store_n(first, to, __ATOMIC_RELEASE);  // [T]
}
inline void read_begins(const void* object) noexcept {
  change_read_held(0, reinterpret_cast<std::uintptr_t>(object), read_begins_elsewhere);
}
inline void read_ends(const void* object) noexcept {
  change_read_held(reinterpret_cast<std::uintptr_t>(object), 0, read_ends_elsewhere);
}

// Whether the calling thread may be measuring its hold of `object`: counted() begins that (and
// wait_end(): that one stands for nothing in sums, since who waited is not like the others), and
// released() ends it: a release must call that then. Never false where it is measured. With one
// hold under way, as nearly always, true of its object alone; with several, of all whose addresses
// agree with theirs in the bits in which these agree with each other (hold_watch.cpp sets both).
struct measured_holds {
  std::uintptr_t agreed = ~std::uintptr_t{0};  // bits; none under way: all, and `bits` 0
  std::uintptr_t bits = 0;
};
extern thread_local constinit measured_holds measured SYNCOPATE_FAST_TLS;
inline bool may_be_measured(const void* object) noexcept {
  return (reinterpret_cast<std::uintptr_t>(object) & measured.agreed) == measured.bits;
}

// The time between two sections that is being measured in this thread: since the release of
// `object` where its hold was sampled for sums, until the thread wants it again. A lock call says
// so before it tries.
struct section_gap {
  const void* object = nullptr;
  std::uint64_t since = 0, waited = 0;  // ticks; in other waits, of the thread's life
  std::uint32_t id = 0, weight = 0, waits = 0;
  usage used;  // of the thread's life
};
extern thread_local constinit section_gap current_gap SYNCOPATE_FAST_TLS;
void gap_ends() noexcept;
inline void next_section(const void* object) noexcept {
  if (__builtin_expect(current_gap.object == object, 0)) gap_ends();
}

struct wait {
  std::uint64_t start = 0, end = 0;
  std::uint32_t id = 0, holder = 0, stack = 0;
  std::uint16_t weight = 0;  // 0: not sampled as an event (its row is still exact)
  wait_kind kind = wait_kind::mutex;
  usage used;  // at its start, then from start to end; zeros where nobody asked
};
// Where a wait happens: the return address of the program's call, whether it ends at some time by
// itself, whether the lock's memory says who holds it (format.h, has_owner), and whether it began
// before the recording.
struct waiting_call {
  const void* caller = nullptr;
  bool timed = false;
  bool has_owner = false;
  bool began_before = false;
};
// The record says from now on that the thread waits (open_wait), until wait_end() or
// wait_end_now().
wait wait_begin(wait_kind, std::uint32_t id, std::uint32_t holder, waiting_call = {}) noexcept;
// For locks: keeps `w` in thread-local memory until released() or the next wait_begin(), and starts
// a sample of the hold behind a long wait, or one that becomes an event.
void wait_end(wait& w, const void* object) noexcept;
// For waits that end without holding anything (conditions, barriers, futexes, timeouts): writes
// now.
void wait_end_now(wait& w) noexcept;
// The same of a wait for a lock that the thread did not get.
void wait_in_vain(wait& w) noexcept;
// The call did not wait: it was refused, or had the lock already. Nothing is counted.
void wait_refused(wait& w) noexcept;

// Ticks that the calling thread has spent in recorded waits that are over.
std::uint64_t waited_so_far() noexcept;
// How long the calling thread was at work before it came to that barrier of OpenMP, or end of a
// region; and of the last one, how long the others have waited for it there, in all, since it was
// at work for longer than they.
void was_at_work(std::uint32_t id, std::uint64_t ticks) noexcept;
void had_more_work(std::uint32_t id, std::uint64_t ticks) noexcept;
// The calling thread was the last to leave a region of OpenMP; how long the others have waited for
// it there, in ticks and in all.
void left_last(std::uint32_t id, std::uint64_t waited) noexcept;

// The calling thread is about to wake one, or all, of those that wait for a condition variable.
void signaled(std::uint32_t id) noexcept;

// What waiting for a futex of the program's own is, by how its waiters were woken so far.
wait_kind kind_of_futex(std::uint32_t id) noexcept;
// A thread waits for it because its word has this value.
void count_wait(std::uint32_t id, std::uint32_t value) noexcept;
// The calling thread was woken at `word`, or has woken somebody there: `one`, or as many as there
// are; `began`: before it did that (ticks).
void futex_waited(const void* word) noexcept;
void futex_woken(const void* word, bool one, std::uint64_t began) noexcept;
// The same of a semaphore that processes share, in whose memory nothing can be kept: the calling
// thread took it, or has posted it, while others waited or not.
void shared_semaphore_taken(const void* semaphore) noexcept;
void shared_semaphore_posted(const void* semaphore, bool contended, std::uint64_t began) noexcept;
// Whether this process's posts of it come mostly from threads that take it, too.
bool is_used_as_lock(std::uint32_t id) noexcept;

// A trylock failed. Where that happens again and again in quick succession, the thread waits: from
// the first attempt until got_at_last(), which whoever takes `trying_for` calls, with the lock
// held; or else, and where that comes late (tries.cpp), until the last attempt.
void tried_in_vain(std::uint32_t id, const void* object, std::uint32_t holder,
                   const void* caller) noexcept;
void got_at_last(const void* object) noexcept;
extern thread_local constinit const void* trying_for SYNCOPATE_FAST_TLS;

// A section that was tried as a transaction has ended, or has fallen back on its lock: what became
// of its transactions. Requires: the calling thread is in no transaction.
struct elision_counts {
  std::uint32_t committed, fell_back;                             // sections
  std::uint32_t conflict, capacity, lock_held, explicit_, other;  // transactions that aborted
};
void elided(std::uint32_t id, const elision_counts&) noexcept;

// What became of a wait's runs ahead of the lock or barrier (wait/speculate.h), or of a trial if
// they pay.
struct speculation_counts {
  std::uint32_t runs, whole, conflict, capacity, other;  // `whole` and causes: of the runs
  std::uint32_t left_out;                                // since they do not pay, or may not be
  std::uint32_t lines;                                   // touched by all runs
  std::uint32_t trials, gain;                            // profit_control::gain(), of one trial
};
void speculated(std::uint32_t id, const speculation_counts&) noexcept;
// One run has ended so.
void count_run(speculation_counts& of, const machine::htm::status& how) noexcept;

// Before a release: the time at which the hold ends; 0 when released() need not be called: nothing
// is to be measured. The release itself is not part of it: waking a waiter may take longer than the
// section did.
std::uint64_t hold_ends_now(const void* object, bool contended) noexcept;
inline std::uint64_t hold_ends(const void* object, bool contended) noexcept {
  return contended || may_be_measured(object) ? hold_ends_now(object, contended) : 0;
}

// After a release by this thread. Requires: the caller no longer holds the lock. Uses `object` as a
// number only. `ended`: what hold_ends() said; 0: now.
void released(const void* object, std::uint32_t id, bool contended,
              std::uint64_t ended = 0) noexcept;
// The same of a lock that does not tell whether others wait: its hold alone is written.
void released_unseen(const void* object, std::uint32_t id, std::uint64_t ended) noexcept;

}  // namespace syncopate::record
