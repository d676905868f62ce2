// misuse.cpp -- what misuse.h promises.

#include "preload/misuse/misuse.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/option.h"
#include "preload/misuse/lock_order.h"
#include "preload/thread/thread_watch.h"
#include "record/internal.h"

namespace syncopate::shim {
namespace {

constexpr std::int64_t patience_ns = 2'000'000'000;  // of a wait, before it is suspicious

std::uint64_t as_pc(const void* caller) noexcept {
  return reinterpret_cast<std::uintptr_t>(caller);
}
std::uint64_t id(int thread) noexcept { return static_cast<std::uint64_t>(thread); }

// One report for each kind of error and place, which is all the calls that lead there: the
// innermost may be a wrapper, as all of std::mutex is without optimization.
bool is_first(const char* kind, const call_site& at) noexcept {
  static constinit std::atomic<std::uint64_t> known[1024] = {};
  std::uint64_t key = reinterpret_cast<std::uintptr_t>(kind);
  for (const std::uint64_t pc : at.pc) key = (key ^ pc) * 0x9e3779b97f4a7c15u ^ key >> 29;
  key |= 1;
  for (std::uint64_t at = key * 0x9e3779b97f4a7c15u >> 54, tries = 0; tries < 16; ++tries) {
    std::uint64_t seen = 0;
    auto& place = known[(at + tries) % 1024];
    if (place.compare_exchange_strong(seen, key, std::memory_order_relaxed)) return true;  // [K]
    if (seen == key) return false;
  }
  return false;
}

// ---- order of locks -----------------------------------------------------------------------------

struct {
  record::tiny_lock changing;
  lock_order* graph = nullptr;
  std::atomic<std::uint32_t> generation{1};  // of what threads have told: forgotten locks end it
} constinit orders;

// `all`: a number for all that the thread holds.
bool has_told(thread_watch& me, const void* from, const void* to, std::uintptr_t all) noexcept {
  const std::uintptr_t mixed =
      reinterpret_cast<std::uintptr_t>(from) / 8 * 31 + reinterpret_cast<std::uintptr_t>(to) / 8;
  auto& place = me.told[mixed % thread_watch::most_pairs];
  const std::uint32_t generation = orders.generation.load(std::memory_order_relaxed);  // [G]
  if (place.from == from && place.to == to && place.all == all && place.generation == generation)
    return true;
  place = {from, to, all, generation};
  return false;
}

// What the thread holds besides; of more than there is room for what it took first.
void note_gates(lock_order::edge& of, const thread_watch& me) noexcept {
  unsigned found = 0;
  for (unsigned i = 0; i < me.held_count && found < lock_order::most_gates; ++i) {
    const void* const each = me.held[i].mutex.load(std::memory_order_relaxed);  // [X]
    if (each != nullptr && each != of.from) of.gates[found++] = each;
  }
}

void say_edge(const lock_order::edge& e) noexcept {
  guard_line({"  thread ", number(id(e.thread)), " asked for mutex ", address(e.to),
              " while it held ", address(e.from), " (locked at ", code(e.from_pc - 1), ")"},
             &e.at);
}

void add_order(const thread_watch& me, const held_mutex& held, const void* mutex) noexcept {
  const void* const from = held.mutex.load(std::memory_order_relaxed);  // [X]
  if (from == nullptr) return;
  lock_order::edge added{from, mutex, machine::self(), held.pc, here(), {}, false};
  note_gates(added, me);
  record::holding lock(orders.changing);
  if (!lock) return;
  if (orders.graph == nullptr)
    orders.graph = static_cast<lock_order*>(record::sys::pages(sizeof(lock_order)));
  if (orders.graph == nullptr) return;
  const lock_order::edge* cycle[lock_order::longest_cycle];
  const unsigned length = orders.graph->add(added, cycle);
  if (length == 0 || !is_first("order", added.at)) return;
  const aside report(true);
  guard_line(
      {"mutexes are locked in a cycle of ", number(length), ", which can end in a deadlock:"});
  say_edge(added);
  for (unsigned i = 0; i + 1 < length && i < lock_order::longest_cycle; ++i) say_edge(*cycle[i]);
}

void forget_order(const void* mutex) noexcept {
  if (__atomic_load_n(&orders.graph, __ATOMIC_RELAXED) == nullptr) return;  // [N]
  record::holding lock(orders.changing);
  if (lock && orders.graph->forget(mutex))
    orders.generation.fetch_add(1, std::memory_order_relaxed);  // [G]
}

// ---- preempted holders --------------------------------------------------------------------------

struct preempted_holders {
  const void* mutex;
  std::uint64_t pc;
  std::uint32_t times;
};
constexpr unsigned most_preempted = 256;
struct {
  record::tiny_lock changing;
  preempted_holders of[most_preempted];
} constinit preempted{};

void count_preemptions(const held_mutex& held, std::uint32_t times) noexcept {
  if (times == 0) return;
  record::holding lock(preempted.changing);
  if (!lock) return;
  const void* const mutex = held.mutex.load(std::memory_order_relaxed);  // [X]
  for (preempted_holders& p : preempted.of) {
    if (p.mutex != nullptr && (p.mutex != mutex || p.pc != held.pc)) continue;
    p.mutex = mutex;
    p.pc = held.pc;
    p.times += times;
    return;
  }
}

// What has happened since the thread's mark is that section's.
void count_up_to_now(thread_watch& me, const held_mutex& held) noexcept {
  if (record::enabled) return;  // the recorder has a mark of its own, and there is room for one
  count_preemptions(held, me.mark.taken().involuntary);
}

held_mutex* newest_of(thread_watch& me) noexcept {
  return me.held_count == 0 ? nullptr : &me.held[me.held_count - 1];
}

// ---- signals that nobody got --------------------------------------------------------------------

struct lost_signal {
  const void* condition;
  std::uint64_t when;  // ticks
  int thread;
  call_site at;
};
struct {
  record::tiny_lock changing;
  lost_signal of[512];
} constinit lost{};

lost_signal& lost_signal_of(const void* condition) noexcept {
  return lost.of[reinterpret_cast<std::uintptr_t>(condition) * 0x9e3779b97f4a7c15u >> 55];
}

constinit std::int64_t longest_wait = patience_ns;

}  // namespace

void start_misuse() noexcept {
  constexpr long long most_ms = 1'000'000'000;
  const char* const text = setting<option::guard_patience>();
  if (text == nullptr) return;
  char* end = nullptr;
  const long long ms = std::strtoll(text, &end, 10);
  if (*end == '\0' && ms >= 0 && ms <= most_ms) longest_wait = ms * 1'000'000;
  else
    guard_line({variable_of(option::guard_patience), "=", text,
                ": not a number of milliseconds from 0 to 1000000000; 2000 is taken"});
}

aside::aside(bool is_kept) noexcept : me_(is_kept ? this_thread_watch() : nullptr) {
  if (held_mutex* const held = me_ != nullptr ? newest_of(*me_) : nullptr)
    count_up_to_now(*me_, *held);
}
aside::~aside() {
  if (me_ != nullptr && me_->held_count != 0 && !record::enabled) (void)me_->mark.taken();
}

// ---- mutexes ------------------------------------------------------------------------------------

void about_to_lock(const void* mutex) noexcept {
  thread_watch* const me = this_thread_watch();
  // Who has it already (it is recursive) does not wait for it.
  if (me == nullptr || me->held_count == 0 || me->find(mutex) != nullptr) return;
  std::uintptr_t all = 0;
  for (unsigned i = 0; i < me->held_count; ++i)
    all = all * 31 + reinterpret_cast<std::uintptr_t>(
                         me->held[i].mutex.load(std::memory_order_relaxed));  // [X]
  for (unsigned i = 0; i < me->held_count; ++i) {
    const void* const from = me->held[i].mutex.load(std::memory_order_relaxed);  // [X]
    if (from != nullptr && !has_told(*me, from, mutex, all)) add_order(*me, me->held[i], mutex);
  }
}

void has_locked(const void* mutex, const void* caller) noexcept {
  thread_watch* const me = this_thread_watch();
  if (me == nullptr) return;
  // What happened since belongs to the section around this one.
  if (const held_mutex* const outer = newest_of(*me)) count_up_to_now(*me, *outer);
  else if (!record::enabled) me->mark.set();
  me->add(mutex, machine::ticks(), as_pc(caller));
}

void about_to_unlock(mutex_object& mutex) noexcept {
  thread_watch* const me = this_thread_watch();
  const int holder = mutex.owner;
  if (me != nullptr && holder == me->id.load(std::memory_order_relaxed)) {  // [X]
    if (held_mutex* const held = me->find(&mutex)) count_up_to_now(*me, *held);
    return me->remove(&mutex);
  }
  const aside report(true);
  const call_site site = here();
  if (holder == 0) {
    if (mutex.users == 0 && is_first("free", site))
      guard_line({"thread ", number(id(machine::self())), " unlocks mutex ", address(&mutex),
                  ", which nobody holds"},
                 &site);
    return;
  }
  thread_watch* const other = watch_of(holder);
  held_mutex* const held = other != nullptr ? other->find(&mutex) : nullptr;
  const std::uint64_t locked_at = held != nullptr ? held->pc : 0;
  if (held != nullptr) held->mutex.store(nullptr, std::memory_order_relaxed);  // [X]
  if (is_first("foreign", site))
    guard_line({"thread ", number(id(machine::self())), " unlocks mutex ", address(&mutex),
                ", which thread ", number(id(holder)), " holds (locked at ",
                code(locked_at != 0 ? locked_at - 1 : 0), ")"},
               &site);
}

void about_to_destroy_mutex(mutex_object& mutex, bool contended) noexcept {
  forget_order(&mutex);
  if (mutex.users == 0 && !contended) return;
  const aside report(true);
  const call_site site = here();
  if (!is_first("destroy", site)) return;
  if (mutex.users != 0)
    guard_line({"mutex ", address(&mutex), " is destroyed while thread ", number(id(mutex.owner)),
                " holds it"},
               &site);
  else guard_line({"mutex ", address(&mutex), " is destroyed while threads wait for it"}, &site);
}

void has_made(const void* mutex) noexcept { forget_order(mutex); }

void about_to_destroy(const char* what, const void* object, bool in_use) noexcept {
  if (!in_use) return;
  const aside report(true);
  const call_site site = here();
  if (is_first(what, site))
    guard_line({what, " ", address(object), " is destroyed while threads use it"}, &site);
}

// ---- condition variables ------------------------------------------------------------------------

void signaled_nobody(const void* condition) noexcept {
  record::holding lock(lost.changing);
  if (lock) lost_signal_of(condition) = {condition, machine::ticks(), machine::self(), here()};
}

void watched_wait::begin(const void* condition, const void* mutex) noexcept {
  thread_watch* const me = this_thread_watch();
  const held_mutex* const held = me != nullptr ? me->find(mutex) : nullptr;
  if (held == nullptr) return;
  record::holding lock(lost.changing);
  if (!lock) return;
  const lost_signal& last = lost_signal_of(condition);
  // Whoever had held the mutex could not have signaled in between.
  if (last.condition != condition || last.when <= held->since || last.thread == machine::self())
    return;
  suspicious_ = true;
  condition_ = condition;
  mutex_ = mutex;
  signaler_ = last.thread;
  signal_ = last.at;
  began_ = machine::now();
}

const machine::deadline* watched_wait::limit(const machine::deadline* until) noexcept {
  limited_ = false;
  if (!suspicious_) return until;
  const std::int64_t left = longest_wait - static_cast<std::int64_t>(machine::now() - began_);
  if (until != nullptr && machine::remaining(*until) <= left) return until;
  limit_ = machine::after(left > 0 ? left : 0);
  limited_ = true;
  return &limit_;
}

bool watched_wait::passed_limit() noexcept {
  if (!limited_) return false;
  report();
  return true;
}

void watched_wait::end() noexcept {
  if (suspicious_ && static_cast<std::int64_t>(machine::now() - began_) >= longest_wait) report();
}

void watched_wait::report() noexcept {
  suspicious_ = false;
  if (!is_first("signal", signal_)) return;
  const aside said(true);
  const call_site site = here();
  guard_line({"thread ", number(id(machine::self())), " waits on condition variable ",
              address(condition_), " since ", number((machine::now() - began_) / 1'000'000),
              " ms, perhaps for a signal that is lost: thread ", number(id(signaler_)),
              " signaled while this one held mutex ", address(mutex_),
              " and was about to wait; that signal was sent without the mutex"},
             &signal_);
  guard_line({"  the wait is"}, &site);
}

// ---- the end ------------------------------------------------------------------------------------

void finish_misuse() noexcept {
  constexpr int most_lines = 5;
  record::holding lock(preempted.changing);
  if (!lock) return;
  for (int line = 0; line < most_lines; ++line) {
    preempted_holders* worst = &preempted.of[0];
    for (preempted_holders& p : preempted.of)
      if (p.times > worst->times) worst = &p;
    if (worst->times == 0) return;
    guard_line({"holders of mutex ", address(worst->mutex), " (locked at ", code(worst->pc - 1),
                ") were preempted ", number(worst->times), " times"});
    worst->times = 0;
  }
}

}  // namespace syncopate::shim
