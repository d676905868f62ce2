// team.cpp -- see team.h.
//
// Memory order (each tag stands at its site below)
//   [K]  relaxed: counts, and what follows from them for how a thread waits, or what a record says.
//   [L]  release RMW that puts a team into the list of all, acquire exchange that takes the list:
//        its fields are as the former owner left them. A failed one's value is tried next.
//   [E]  release store, acquire load: who finds the key made may use it.
//   [G]  relaxed: between regions, the master's alone.
//   [A]  relaxed: stored within a region, read by its master when the runtime has ended it.
//   [P]  relaxed: the phase is marked by this thread, or by another, whose mark [M] shows behind
//        the barrier.
//   [M]  release store of the mark, acquire load by who waits or has passed the barrier: what was
//        done before the mark happens-before who helps.
//   [O]  relaxed RMW: one thread makes the key; others see that it is made by [E].

#include "openmp/teams/team.h"

#include <cstdlib>
#include <new>
#include <type_traits>

#include <pthread.h>

#include "openmp/config.h"
#include "openmp/tasks/phase.h"
#include "openmp/teams/arrivals.h"
#include "openmp/teams/places.h"
#include "openmp/teams/run_ahead.h"
#include "openmp/teams/task_waits.h"
#include "openmp/teams/team_wait.h"
#include "openmp/teams/yield.h"
#include "record/recorder.h"

namespace syncopate::openmp {

thread_local constinit frame* current = nullptr;

namespace {

// Unused teams: a list for each thread that starts regions, and one for all, to which a thread's
// list goes when it ends.
thread_local constinit team* mine [[gnu::tls_model("initial-exec")]] = nullptr;
constinit std::atomic<team*> ownerless{nullptr};
constinit pthread_key_t end_of_thread;
constinit std::atomic<int> key_state{0};  // 0 none, 1 being made, or not to be had, 2 made

// Of the region that the thread starts or ends, and that is recorded.
thread_local record::wait region_wait [[gnu::tls_model("initial-exec")]];

// Of a region. Of GCC's each has a function of its own, while one call may start several that are
// alike but for it: then it is that function's first byte.
const void* place_of_region(family of, const void* caller, void (*function)()) noexcept {
  return of == family::gnu ? reinterpret_cast<const void*>(function)
                           : place_of_call(caller, function);
}

// No thread of a region passes that many barriers more than its master before it is cancelled.
constexpr std::uint32_t phases_apart = 1u << 16;

// Inside teams of ours: what masters write at each region, apart from what waiters read.
struct alignas(128) tally {
  std::atomic<std::int32_t> threads{0};
};
constinit tally begun;

// See oversubscribed(). Read at each wait, so it is written only when it changes.
struct alignas(128) flag {
  std::atomic<bool> set{false};
};
constinit flag crowded;

void count_threads(std::int32_t more) noexcept {
  const std::int32_t now = begun.threads.fetch_add(more, std::memory_order_relaxed) + more;  // [K]
  const bool more_than_processors = now > static_cast<std::int32_t>(machine::processors());
  if (now > 0 && crowded.set.load(std::memory_order_relaxed) != more_than_processors)  // [K]
    crowded.set.store(more_than_processors, std::memory_order_relaxed);                // [K]
}

// The thread has been in a wait of its team's, ours or the runtime's.
void go_on() noexcept {
  if (oversubscribed()) waits::be_seen();
}

// Whether a runtime was asked. It has bound the first thread, maybe, before anything of ours ran;
// who goes by that thread's processors alone never spins (OMP_PROC_BIND).
constinit std::atomic<bool> processors_known{false};

[[gnu::noinline, gnu::cold]] void ask_processors(const runtime& of) noexcept {
  if (of.real.omp_get_num_procs != nullptr) machine::learn_processors(of.real.omp_get_num_procs());
  processors_known.store(true, std::memory_order_relaxed);  // [K]
}

// Threads of the master's region that are in no other: it may itself be in one.
std::int32_t newcomers(const frame& f) noexcept {
  return static_cast<std::int32_t>(f.threads) - (f.outer != nullptr ? 1 : 0);
}

void give_up_list(void*) noexcept {
  team* first = mine;
  mine = nullptr;
  while (first != nullptr) {
    team* const rest = first->next;
    first->next = ownerless.load(std::memory_order_relaxed);                                // [L]
    while (!ownerless.compare_exchange_weak(first->next, first, std::memory_order_release,  // [L]
                                            std::memory_order_relaxed)) {                   // [L]
    }
    first = rest;
  }
}

void watch_end_of_thread() noexcept {
  int none = 0;
  if (key_state.compare_exchange_strong(none, 1, std::memory_order_relaxed)) {  // [O]
    // Without one, because the program has all keys, the lists of threads that end are lost.
    if (::pthread_key_create(&end_of_thread, give_up_list) == 0)
      key_state.store(2, std::memory_order_release);  // [E]
  }
  if (key_state.load(std::memory_order_acquire) == 2)  // [E]
    ::pthread_setspecific(end_of_thread, &end_of_thread);
}

team* take_team() noexcept {
  team* t = mine;
  if (t != nullptr) {
    mine = t->next;
    return t;
  }
  watch_end_of_thread();
  // All of the common list at once: one element could not be taken without the risk that it comes
  // back in between.
  t = ownerless.exchange(nullptr, std::memory_order_acquire);  // [L]
  if (t != nullptr) {
    mine = t->next;
    return t;
  }
  return new team;
}

void put_team(team* t) noexcept {
  if (t->next != mine) t->next = mine;
  mine = t;
}

void make_barrier(team& t, std::uint32_t count) noexcept {
  if (t.participants == count) return;
  if (t.participants != 0) config.barrier->end(t.barrier);
  t.participants = count;
  t.arrivals.store(0, std::memory_order_relaxed);                                 // [G]
  for (auto& each : t.called_at) each.store(nullptr, std::memory_order_relaxed);  // [G]
  if (count != 0) config.barrier->make(t.barrier, count);
  employ(t);
}

// A line that is not written stays with those who read it.
template <class T>
void update(T& what, std::type_identity_t<T> value) noexcept {
  if (what != value) what = value;
}

void note_processor(team& t, std::uint32_t id) noexcept {
  if (id >= team::watched) return;
  // A store only when it changed: the line is read by all.
  const auto here = static_cast<std::uint16_t>(machine::processor() + 1);
  if (t.processor[id].load(std::memory_order_relaxed) != here)  // [K]
    t.processor[id].store(here, std::memory_order_relaxed);     // [K]
}

}  // namespace

void begin_region_wait(std::uint32_t place) noexcept {
  region_wait = record::wait_begin(record::wait_kind::barrier, place, 0);
}

void end_region_wait() noexcept { record::wait_end_now(region_wait); }

bool oversubscribed() noexcept { return crowded.set.load(std::memory_order_relaxed); }  // [K]

region::region(const runtime& of, unsigned asked, const work& what, const void* caller) noexcept {
  if (__builtin_expect(!processors_known.load(std::memory_order_relaxed), 0))
    ask_processors(of);  // [K]
  std::uint32_t place = 0;
  const void* where = nullptr;
  if (__builtin_expect(record::enabled, 0) && caller != nullptr) {
    const place_type type = of.kind != family::gnu ? region_of_other
                            : config.keep          ? region_that_may_be_kept
                                                   : region_of_gnu;
    where = place_of_region(of.kind, caller, what.function);
    place = record::identify(record::object_kind::barrier, type, where, nullptr);
    begin_region_wait(place);
  }
  if (config.barrier == nullptr) {
    own_.of = &of;
    own_.what = what;
    own_.recorded = place;
    if (place == 0) return;
    own_.recorded_end = end_of_region(where);
    own_.counted = take_team();
    begin_counting(*own_.counted);
    return;
  }
  team& t = *take_team();
  if (asked == 0) asked = static_cast<unsigned>(of.real.omp_get_max_threads());
  // What the runtime gives is known only when it has begun, but most likely what it gave last.
  const std::uint32_t expected = t.asked == asked ? t.got : asked;
  update(t.asked, asked);
  if (expected > 1) make_barrier(t, expected);
  order_ = &t.order;
  update(order_->of, &of);
  update(order_->in, &t);
  update(order_->what.function, what.function);
  update(order_->what.data, what.data);
  update(order_->what.count, what.count);
  update(order_->participants, t.participants);
  update(order_->first_phase, t.phase);
  update(order_->recorded, place);
  update(order_->meets, place != 0 || (of.tasks && makes_tasks(what.function)));
  if (__builtin_expect(place != 0, 0)) {
    update(order_->recorded_end, end_of_region(where));
    clear_times(t);
  }
}

region::~region() {
  if (__builtin_expect(order_->recorded != 0, 0)) end_region_wait();
  if (order_->counted != nullptr) put_team(order_->counted);
  if (order_->in == nullptr) return;
  team& t = *order_->in;
  if (__builtin_expect(t.abandoned.load(std::memory_order_relaxed), 0)) {  // [A]
    make_barrier(t, 0);
    t.phase += phases_apart;
    t.abandoned.store(false, std::memory_order_relaxed);  // [A]
  }
  put_team(&t);
  go_on();
}

void region_order::enter(frame& f) const noexcept {
  runtime_wait_ended();
  f.of = of;
  f.id = static_cast<std::uint32_t>(of->real.omp_get_thread_num());
  f.level = of->real.omp_get_level();
  f.outer = current;
  current = &f;
  if (__builtin_expect(recorded != 0, 0) && f.id == 0) end_region_wait();
  begin_phase(f);
  f.counted = counted;
  if (in == nullptr) return;
  if (f.id == 0) {
    f.threads = static_cast<std::uint32_t>(of->real.omp_get_num_threads());
    update(in->got, f.threads);
    if (f.threads > 1) count_threads(newcomers(f));
  }
  go_on();
  f.phase = first_phase;
  if (participants < 2 || (f.id == 0 && participants != f.threads)) return;
  // The others ask for f.threads when they first need it: its answer lies where the master
  // has just written, a cache miss between its start of the region and their work.
  f.in = in;
  if (!config.barrier->own_wait) note_processor(*in, f.id);
}

namespace {

bool is_ours(frame& f) noexcept { return f.in != nullptr && (f.threads != 0 || settle(f)); }

// The tasks of the last phase (tasks.h, R2).
void end_tasks(frame& f, bool meets) noexcept {
  if (!meets) {
    if (f.in->task_phase.load(std::memory_order_relaxed) == f.phase + 1) finish_tasks(f);  // [P]
  } else if (pass_barrier(f, nullptr)) {
    end_marked_phase(f, nullptr);
  }
}

}  // namespace

void meet_at_end(frame& f, std::uint32_t region, std::uint32_t of_others) noexcept {
  begin_region_wait(f.id == 0 ? region : of_others);
  const bool has_some = pass_barrier(f, nullptr);
  stop_running_ahead();
  if (has_some) {
    region_wait.id = tasks_of_region(f);
    end_region_wait();
    // Those of a region that is cancelled are dropped, at its end.
    if (f.of->tasks || !f.in->abandoned.load(std::memory_order_relaxed))  // [A]
      end_marked_phase(f, nullptr);
    if (f.id == 0) begin_region_wait(region);
  } else if (f.id != 0) {
    end_region_wait();
  }
}

// All threads meet before the runtime ends the region: so it is seen how long each waits for the
// others, and what it runs of tasks meanwhile is not taken for waiting. Where barriers are the
// runtime's they meet at one, unless the region may be cancelled: then nobody has to come there.
void region_order::leave_recorded(frame& f) const noexcept {
  const entry_points& real = of->real;
  const auto threads = static_cast<std::uint32_t>(real.omp_get_num_threads());
  team* const t = in != nullptr ? in : counted;
  if (t != nullptr) count_leaving(f, *t, recorded, threads);
  if (!is_ours(f)) {
    if (threads > 1 && real.GOMP_barrier != nullptr && real.omp_get_cancellation != nullptr &&
        real.omp_get_cancellation() == 0) {
      const task_wait for_others(recorded_end);
      real.GOMP_barrier();
    }
    if (f.id == 0) begin_region_wait(recorded);
    return;
  }
  meet_at_end(f, recorded, recorded_end);
}

void region_order::leave(frame& f) const noexcept {
  stop_running_ahead();
  if (__builtin_expect(recorded != 0, 0)) leave_recorded(f);
  else if (of->tasks && is_ours(f)) end_tasks(f, meets);
  stop_running_ahead();  // at the barrier that ends the tasks; behind us is the runtime
  current = f.outer;
  if (f.id != 0 || in == nullptr) return;
  update(in->phase, f.phase);
  if (f.threads > 1) count_threads(-newcomers(f));
}

bool settle(frame& f) noexcept {
  f.threads = static_cast<std::uint32_t>(f.of->real.omp_get_num_threads());
  if (f.threads != f.in->participants) f.in = nullptr;
  return f.in != nullptr;
}

bool pass_barrier(frame& f, const void* caller) noexcept {
  team& t = *f.in;
  ++f.phase;
  if (!config.barrier->own_wait) note_processor(t, f.id);
  if (__builtin_expect(!record::enabled || caller == nullptr, 1)) {
    config.barrier->arrive_and_wait(t.barrier, f);
  } else {
    const arrival here = arrive(f, t, place_of_call(caller, f.runs));
    record::wait w = record::wait_begin(here.kind, here.place, 0);
    config.barrier->arrive_and_wait(t.barrier, f);
    if (waits::speculation::active()) return false;  // the wait is not over
    if (config.barrier->runs_ahead) record_runs(w.id);
    record::wait_end_now(w);
    f.own.begin();
  }
  if (!config.barrier->own_wait) go_on();
  return __builtin_expect(t.task_phase.load(std::memory_order_acquire) == f.phase, 0);  // [M]
}

void begin_phase(frame& f) noexcept {
  if (__builtin_expect(record::enabled, 0)) f.own.begin();
}

void mark_phase() noexcept {
  frame* const f = current;
  if (f == nullptr || f->in_runtime) return;
  if (f->in == nullptr) return note_tasks(*f);
  if (f->threads == 0 && live_frame(f->of) == nullptr && f->in == nullptr) return;
  team& t = *f->in;
  const std::uint32_t phase = f->phase + 1;
  if (t.task_phase.load(std::memory_order_relaxed) == phase) return;  // [P]
  t.task_phase.store(phase, std::memory_order_release);               // [M]
  wake_sleepers(t);
  config.barrier->call_away(t.barrier);
  if (t.kept != nullptr) wake_kept(*t.kept);
}

void abandon_team() noexcept {
  const frame* const f = current;
  if (f != nullptr && f->counted != nullptr) stop_counting(*f);
  if (f != nullptr && f->in != nullptr)
    f->in->abandoned.store(true, std::memory_order_relaxed);  // [A]
}

}  // namespace syncopate::openmp
