// team.h -- the teams of threads that we know, and the place of each thread in its own.
//
// A team that a runtime starts by an entry point of ours has an object here, made by its master
// before the start; each of its threads has a frame on its stack while it runs the region. A thread
// of a team that was started in any other way has no frame, or one whose nesting level differs from
// what the runtime says (omp_get_level()); its barriers are the runtime's.
//
// Phases. A region is a sequence of phases, separated by barriers that we take over. All threads
// count them alike. Deferred tasks have to be run at the end of the phase in which they were made,
// and only the runtime can do that: so whoever makes one, first marks its phase. Nobody can leave
// a barrier of ours before the maker arrives, so all see the mark, and end the phase in the
// runtime's own barrier as well. Threads that wait already are called there by the mark, to help.
//
// Invariants
//   I1  task_phase == p only if p is, or was, a phase that a thread of the team was in when it
//       marked it. Phases are never numbered again, so that an old mark says nothing.
//   I2  Between two regions all participants of `barrier` are between the same two episodes.
//
// Memory order: task_phase is stored before its maker arrives at the barrier (which releases), and
// read after the barrier (which acquires). [W] A light fence between a store that ends a wait and
// the look at `sleepers`, and a heavy one between counting oneself there and the last look at what
// ends the wait: one of the two sees the other.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/wait/plan.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "openmp/runtime/runtime.h"
#include "openmp/teams/barriers.h"
#include "openmp/teams/own_time.h"

namespace syncopate::openmp {

struct frame;
struct task;
struct team;
struct team_tasks;
class kept_region;

// What a region runs, for whoever starts it.
struct work {
  void (*function)();
  void* data;
  std::int32_t count;
};

// What the threads of a region read of it. It stays from one region to the next, and the master
// writes only what is new: mostly nothing, and then the line stays with all of them. A line that is
// passed from the master to another thread costs a tenth of starting a team.
struct alignas(128) region_order {
  const runtime* of = nullptr;
  team* in = nullptr;       // null: its barriers are the runtime's
  team* counted = nullptr;  // while recording the runtime's: of that, what arrivals.h needs
  work what{};
  std::uint32_t participants = 0, first_phase = 0;
  // While recording: the place that starts it, and where others wait at its end.
  std::uint32_t recorded = 0, recorded_end = 0;
  // Ends with a barrier of ours: there will be tasks (tasks.h), or it is recorded.
  bool meets = false;

  // Runs body(work) as one thread of the region. To be called by each, in the started function.
  template <class Body>
  void run(Body&& body) noexcept;

 private:
  friend class kept_region;
  void enter(frame& f) const noexcept;
  void leave(frame& f) const noexcept;
  void leave_recorded(frame& f) const noexcept;
};

struct alignas(128) team {
  static constexpr std::size_t room = 1408;     // bytes for a barrier
  static constexpr std::uint32_t watched = 32;  // threads whose processor is noted

  std::atomic<std::uint32_t> task_phase{0};
  std::uint32_t participants = 0;    // what `barrier` is made for; 0: nothing is made
  std::uint32_t phase = 0;           // of all threads, at the end of the last region; the master's
  std::uint32_t asked = 0, got = 0;  // threads expected by the last region, and what it had
  std::atomic<bool> abandoned{false};  // see abandon_team()
  // Counted while recording: all arrivals, to tell who is the last.
  std::atomic<std::uint32_t> arrivals{0};
  void* copied = nullptr;                   // copyprivate: what the single thread offers
  team* next = nullptr;                     // in a list of unused ones
  kept_region* kept = nullptr;              // whose team it is (kept_region.h)
  std::atomic<team_tasks*> tasks{nullptr};  // made with the first task

  alignas(64) std::atomic<std::uint32_t> sleepers{0};
  std::atomic<std::uint32_t> event{0};  // what sleepers sleep on

  alignas(64) std::atomic<std::uint16_t> processor[watched]{};  // plus 1; where each last arrived
  // While recording: where the first to arrive at the barrier calls it, of two that follow each
  // other. One barrier of the source may be several calls in its code.
  std::atomic<const void*> called_at[2]{};
  // While recording: threads that have left the region; how long they were at work before that, and
  // before each of two barriers that follow each other.
  std::atomic<std::uint32_t> left{0};
  own_times leaving, meeting[2];

  region_order order;

  alignas(128) std::uint64_t reducing[8]{};  // the lock of reductions (kmpc_reduce.cpp)

  alignas(128) unsigned char barrier[room];
};

// How the reduction that a thread is in is done (kmpc_reduce.cpp).
enum class reduction : std::uint8_t { by_runtime, locked, atomic };

// Where a thread is. Lives on its stack.
struct frame {
  team* in = nullptr;       // null: not ours
  team* counted = nullptr;  // as in region_order
  const runtime* of = nullptr;
  frame* outer = nullptr;
  void (*runs)() = nullptr;           // the region's function
  std::uint32_t threads = 0, id = 0;  // threads 0: not asked yet (live_frame)
  std::uint32_t phase = 0;            // barriers passed
  int level = 0;
  bool in_runtime = false;  // inside the runtime's own barrier
  bool had_turn = false;    // since it was asked last (turn.h)
  bool ending = false;      // past a barrier, running what is left of its phase's tasks (tasks.h)
  task* doing = nullptr;    // of our tasks; null: not asked yet
  reduction reducing = reduction::by_runtime;
  std::uint32_t met = 0;  // recorded barriers passed
  own_time own;           // while recording
};

extern thread_local constinit frame* current [[gnu::tls_model("initial-exec")]];

template <class Body>
void region_order::run(Body&& body) noexcept {
  frame mine;
  enter(mine);
  mine.runs = what.function;
  body(what);
  leave(mine);
}

// Asks how many threads the region has. Returns whether its barriers are ours, which they are with
// as many as were expected; the answer is the same in all of them.
bool settle(frame& f) noexcept;

// The caller's frame, if its innermost region is one of ours, started through that runtime.
inline frame* live_frame(const runtime* of) noexcept {
  frame* const f = current;
  if (f == nullptr || f->in == nullptr || f->of != of || f->in_runtime) return nullptr;
  if (f->level != of->real.omp_get_level()) return nullptr;
  return __builtin_expect(f->threads != 0, 1) || settle(*f) ? f : nullptr;
}

// One region, made by its master before the runtime starts the team, and gone when all its threads
// have ended.
class region {
 public:
  // `asked` threads are wanted; 0: as many as the runtime gives. `caller`: where the program starts
  // it, for the record of what its start and end take; null: they are not recorded.
  region(const runtime& of, unsigned asked, const work& what, const void* caller) noexcept;
  ~region();
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  // What the runtime is to hand to each thread.
  [[nodiscard]] region_order* order() noexcept { return order_; }

 private:
  region_order own_;  // where there is no team of ours
  region_order* order_ = &own_;
};

// Passes the barrier of the caller's team. True when the phase has tasks: then the runtime's
// barrier is next, to be called between in_runtime = true and false, or the end of ours (phase.h).
// `caller`: null where there is none to record. The caller may run ahead then (run_ahead.h): to be
// stopped before anything but the program.
[[nodiscard]] bool pass_barrier(frame& f, const void* caller) noexcept;

// Recording: a wait at the start or end of a region begins, or ends, in the thread that starts it.
void begin_region_wait(std::uint32_t place) noexcept;
void end_region_wait() noexcept;
// The threads of a region that is recorded meet at its end, and run what tasks it has left. Who has
// started it waits for it to end, from then on.
void meet_at_end(frame& f, std::uint32_t region, std::uint32_t of_others) noexcept;
// The thread goes on into its next phase behind more than our barrier. For the record.
void begin_phase(frame& f) noexcept;

// A task may be deferred, or something else begin, that only the runtime's barrier ends.
void mark_phase() noexcept;

// Lets who waits between two regions of that one look whether the phase has tasks.
void wake_kept(kept_region& k) noexcept;

// The region is cancelled: its threads may have passed different numbers of barriers.
void abandon_team() noexcept;

// Whether more threads are in our teams than there are processors. Where none is in a team, as it
// was last: the threads of that region are still there, and wait in the runtime for the next one.
[[nodiscard]] bool oversubscribed() noexcept;

// Hides the frames of a thread that runs a region which starts at nesting level 0 (target).
class hidden_frames {
 public:
  hidden_frames() noexcept : before_(current) { current = nullptr; }
  ~hidden_frames() { current = before_; }
  hidden_frames(const hidden_frames&) = delete;
  hidden_frames& operator=(const hidden_frames&) = delete;

 private:
  frame* const before_;
};

// The frame of a region of one thread, which is the runtime's. Its nesting level does not always
// tell it from the region around it: a target region that the runtime runs as a task, in whatever
// thread helps, starts at level 0 again.
class lone_frame {
 public:
  explicit lone_frame(const runtime& of) noexcept {
    mine_.of = &of;
    mine_.outer = current;
    current = &mine_;
  }
  ~lone_frame() { current = mine_.outer; }
  lone_frame(const lone_frame&) = delete;
  lone_frame& operator=(const lone_frame&) = delete;

 private:
  frame mine_;
};

}  // namespace syncopate::openmp
