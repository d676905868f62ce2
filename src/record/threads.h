// threads.h -- what the recorder keeps per thread, and the budgets that bound its cost.
#pragma once

#include "record/file.h"
#include "record/hold_watch.h"
#include "record/trails.h"
#include "record/unwind.h"

namespace syncopate::record {

// Time that a thread may spend on call stacks: an initial credit, then a share of its elapsed time.
class capture_budget {
 public:
  void start(std::uint64_t now, std::uint64_t credit) noexcept;
  [[nodiscard]] bool allows(std::uint64_t now) noexcept;
  // Of these only what may be work of ours counts: beyond that the thread had lost its processor,
  // or touched unwind tables for the first time.
  void spend(std::uint64_t ticks) noexcept;

 private:
  std::uint64_t refilled_ = 0;
  std::int64_t credit_ = 0, most_ = 0;
};

// How many events a thread may write: a burst, then a rate, and ever fewer as the record grows.
class event_budget {
 public:
  // Whether the next one may be written: the first that comes when there is room for one again.
  [[nodiscard]] bool allows(std::uint64_t now) noexcept;
  // Of a wait that begins. Where more begin than may be written, which ones is left to chance: the
  // first ones behind a pause would be all that a thread tells of what it does in turn.
  [[nodiscard]] bool allows_beginning(std::uint64_t now) noexcept;
  // Of a long wait that is over. Those that are short take nothing from it.
  [[nodiscard]] bool allows_long(std::uint64_t now) noexcept;

 private:
  [[nodiscard]] bool has_luck(std::uint32_t halvings) noexcept;
  [[nodiscard]] bool pays(std::uint64_t now) noexcept;

  std::uint64_t paid_until_ = 0;
  std::uint64_t changed_ = 0;  // ticks: when `thinning_` last did
  std::uint32_t written_ = 0, written_long_ = 0;
  std::uint32_t thinning_ = 0;  // of waits that begin, one in 2^this may be written
  std::uint32_t chance_ = 0;
};

// Which contended releases a thread measures: each lock's first ones, then about one in sixteen,
// which stands for those since the one before. By chance, or else two locks released in turn
// could share them unfairly. Locks whose addresses collide share their turns. One that comes long
// after the one before has no turn: it may end a long hold, for which others have waited as long,
// and stands for itself.
class release_turns {
 public:
  // Of a release of `object` now: how many it stands for; 0: it is not to be measured. `is_late`:
  // that it comes so long after the one before.
  std::uint32_t take(const void* object, std::uint64_t now, std::uint64_t late,
                     bool& is_late) noexcept {
    turn& t = turns_[reinterpret_cast<std::uintptr_t>(object) * 0x9e3779b97f4a7c15u >> 60];
    is_late = now - t.last >= late;
    t.last = now;
    if (is_late) return 1;
    ++t.count;
    if (t.left == 0) return take_now(t);
    --t.left;
    return 0;
  }

 private:
  struct turn {
    std::uint64_t last;         // ticks
    std::uint16_t left, count;  // until the next one is measured; since one was
    std::uint32_t measured;
  };
  std::uint32_t take_now(turn&) noexcept;

  turn turns_[16];
  std::uint32_t chance_;
};

// The futexes at which a thread has waited; of those whose addresses collide, the latest.
class waited_futexes {
 public:
  void add(const void* word) noexcept { at(word) = word; }
  [[nodiscard]] bool has(const void* word) noexcept { return at(word) == word; }

 private:
  const void*& at(const void* word) noexcept {
    return words_[reinterpret_cast<std::uintptr_t>(word) * 0x9e3779b97f4a7c15u >> 57];
  }
  const void* words_[128];
};

// Where a thread's waits on one (lock, kind) are counted; of kind `release`, its holds.
struct row_slot {
  std::uint32_t lock = 0, kind = 0;
  std::uint32_t used = 0;
  // Events left out since the last one written of their kind: of short waits (and holds), of long
  // ones. Nearly all long ones are written: each that stood for short ones, too, would be far too
  // heavy.
  std::uint32_t skipped[2] = {};
  wait_row* row = nullptr;
};

// A chunk that one thread fills, item by item.
struct own_chunk {
  chunk_header* chunk = nullptr;
  std::uint32_t capacity = 0;
  std::size_t next_bytes = 4096;  // of the next chunk: quadruples up to 64 KiB
};

// Acquisitions that a thread counts by itself, of one lock: recorder.h, counted_by_thread().
struct own_count {
  const void* object;
  std::uint32_t id;
  std::uint32_t untold;
  std::uint32_t life;  // objects.cpp, I5
};

// Failed trylocks of one lock, `trying_for` (tries.cpp).
struct vain_tries {
  std::uint64_t first, last;  // ticks
  std::uint32_t count;
  bool spins;  // they came in quick succession: `of` is under way
  wait of;
};

inline constexpr std::uint32_t first_row_slots = 16;

struct thread_state {
  std::uint32_t index;  // of `entry`
  thread_entry* entry;
  thread_state* next_idle;  // list of ended threads' states
  thread_state* older;      // list of all
  stack_bounds stack;
  capture_budget captures[3];   // by capture_reason
  std::uint64_t capture_ticks;  // not yet in the header's
  trails seen_stacks;
  event_budget wait_events, hold_events;
  hold_samples holds;
  std::uint32_t gap_chance;                // releases.cpp
  std::uint32_t signal_rows;               // of conditions that it has not waited for
  std::uint64_t kept_frames[stack_depth];  // keep_frames()
  unsigned frames_kept;                    // 0: none
  wait told;  // under way, told by a language's run-time library (told.h); start 0: none
  std::uintptr_t waits_at;  // frame of the latest wait_begin(); 0: its thread may do more meanwhile
  // The wait that a signal handler has interrupted, which waits itself; since 0: none.
  open_wait outer;
  std::uintptr_t outer_at;  // its `waits_at`
  wait pending;             // over, but not yet in its row
  bool is_pending;
  bool is_silent;     // made for a thread that has told nothing itself: silent_thread
  bool began_before;  // `told`: before the recording
  vain_tries tries;
  waited_futexes futexes;
  std::uint64_t waited;  // ticks in all waits that are over
  std::uint32_t waits;
  // The contended release under way, as hold_ends_now() has found it.
  struct {
    std::uint64_t since;     // ticks; 0: none
    std::uint64_t cpu_ns;    // the thread's processor time then; 0: not asked
    bool is_event, is_late;  // release_turns
    std::uint32_t weight;    // how many releases it stands for
  } release;
  release_turns turns;
  own_count counts[8];
  std::uint32_t usage_turn;            // events that could have asked the kernel (rows.h)
  std::uint32_t rows_used, rows_size;  // size: a power of two
  row_slot* rows;
  row_slot first_rows[first_row_slots];
  own_chunk row_chunk, event_chunk;
};

// This thread's state, made at its first use; nullptr when the record cannot hold another thread.
// Requires: inside an `entry`.
thread_state* this_thread() noexcept;

// The same, but nullptr also where the thread has told nothing and nobody made a state for it.
thread_state* known_thread() noexcept;

// Another thread of the process, that has told nothing itself, and the state that is made for it.
// That is its own from its first event on. Until this object's end, nobody else has it.
class silent_thread {
 public:
  // `make`: if there is none. Requires: inside an `entry`.
  silent_thread(std::uint32_t thread_id, bool make) noexcept;
  // nullptr: it has told something itself, or has no state.
  [[nodiscard]] thread_state* state() const noexcept { return state_; }

 private:
  holding lock_;
  thread_state* state_ = nullptr;
};

// How many of the record's threads have begun and not ended.
std::uint32_t running_threads() noexcept;

// The slot for (lock, kind); nullptr when the record cannot grow or the thread has too many.
row_slot* find_row(thread_state&, std::uint32_t lock, std::uint32_t kind) noexcept;
bool has_row(thread_state&, std::uint32_t lock, std::uint32_t kind) noexcept;

// Memory for one item in the thread's chunk, not yet published; nullptr when there is none.
template <class Item>
Item* next_item(own_chunk& own, chunk_kind kind, std::uint32_t owner) noexcept {
  if (own.chunk == nullptr || own.chunk->used == own.capacity) {
    chunk_header* fresh = grow(kind, own.next_bytes, owner);
    if (fresh == nullptr) return nullptr;
    own.chunk = fresh;
    own.capacity = static_cast<std::uint32_t>((fresh->bytes - sizeof *fresh) / sizeof(Item));
    if (own.next_bytes < (std::size_t{64} << 10)) own.next_bytes *= 4;
  }
  return reinterpret_cast<Item*>(own.chunk + 1) + own.chunk->used;
}
inline void publish_item(own_chunk& own) noexcept { publish(own.chunk->used, own.chunk->used + 1); }

// Of the threads that run, by index, what the kernel says of their time now; nullptr: no memory.
struct thread_times {
  std::uint64_t cpu_ns, delay_ns;
};
thread_times* read_thread_times() noexcept;
void free_thread_times(thread_times*) noexcept;
// Writes names and times of the threads that run; `before`: what was read before, of those that
// have ended since and could not say so.
void refresh_threads(const thread_times* before) noexcept;
// Processor time of all that have an entry: of those that run, when it was written last.
std::uint64_t recorded_cpu_ns() noexcept;
// How many its threads may use: those that run now, and those that have ended as they did; 0: not
// known.
std::uint32_t usable_processors() noexcept;
// Writes times of the threads that run into open_wait::seen_cpu_ns and seen_delay_ns, and into
// seen_after_ms that it was then.
void look_at_threads(std::uint32_t after_ms) noexcept;
// Tells what threads count by themselves.
void tell_all_counts() noexcept;
void forget_threads() noexcept;

// Writes the pending wait of this thread out (waits.cpp).
void flush(thread_state&) noexcept;
// Ends the wait that is under way, or was left: without what was waited for (waits.cpp).
void end_left_wait(thread_state&) noexcept;
// The same if the thread has jumped out of it, from a signal handler.
inline void end_wait_if_left(thread_state& t) noexcept {
  const open_wait& open = t.entry->open;
  while (open.since != 0 && open.end == 0 && t.waits_at != 0 && has_left(t.stack, t.waits_at))
    end_left_wait(t);
}
// Ends a wait by failed trylocks that is under way (tries.cpp).
void end_tries(thread_state&) noexcept;
// A wait for a lock begins while some are. Since when the thread has tried for that one, where it
// did nothing else until now: they are the beginning of the wait, and none in vain. Else they have
// ended; 0.
std::uint64_t tries_lead_to(thread_state&, std::uint32_t id) noexcept;

}  // namespace syncopate::record
