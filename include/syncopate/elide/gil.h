// gil.h -- the global lock of an interpreter, elided: the code between two yield points runs as
// a hardware transaction, whose length adapts to each yield point.
//
// Source        Odaira, Castanos & Tomari, "Eliminating Global Interpreter Locks in Ruby through
//               Hardware Transactional Memory", PPoPP 2014, figures 1 and 2 (here), 3
//               (gil_lengths.h). How we deviate: a thread that is alone finds that out at every
//               1024th yield point, not at each, so that a yield is one decrement; what is beyond
//               the paper in the choice of lengths is told in gil_lengths.h.
// Fairness      the lock's.
// Space         192 KB for the lock; 64 KB per attached thread, of which what is used is touched.
// Uncontended   a yield: 1 decrement. A thread alone holds the lock and gives it up for nobody.
//
// State of a thread
//   detached -> outside    attach()            outside -> detached   detach()
//   outside -> elided      enter(), yield()    elided -> outside     leave(), yield(): commit
//   outside -> holding     enter(), yield()    holding -> outside    leave(), yield(): release
//
// Invariants
//   I1  acquired_ != 0 exactly while a thread is `holding`, but for the steps of acquire() and
//       release(), in which nobody runs interpreter code.
//   I2  A transaction has read acquired_ == 0 in it. So a thread that acquires aborts it.
//   I3  A thread's own data (syncopate_gil_thread) is in nobody else's footprint, and `elided` is
//       written inside the transaction: an abort takes it back to `outside`.
//   I4  learning_ and the records are touched outside of transactions only (gil_points.h, I1).
//   I5  In a forked child nobody enters before lock_, live_ and waiting() are that process's own:
//       generation_ is its fork_generation() then. A thread whose generation is another one has not
//       been counted in it.
//
// Memory order (each tag stands at its site below)
//   [S]  seq_cst RMW of acquired_ when the lock is taken: aborts the transactions of I2 before the
//        holder reads anything; what a transaction has committed is seen.
//   [R]  release store of acquired_ -- synchronizes with [A].
//   [A]  acquire load of acquired_ that finds 0: the last holder's work happens-before ours.
//   [G]  release store of generation_, once what I5 names is new -- synchronizes with [H].
//   [H]  acquire load of generation_ that finds this process's.
//   [K]  release store of acquired_ by who forked inside, after [G]: an acquire load of its new id,
//        or of 0, happens after [G], so that the old generation is not taken for a dead holder's.
//   [L]  relaxed: hints about how to go on (live_, waiting(), and acquired_ before another
//        attempt), and complained_; they publish nothing.
//
// Checked by    tests/check/gil_check.cpp (exclusion between elided, holding and blocked threads
//               under every interleaving and abort), tests/gil.
#pragma once

#include <syncopate/elide/gil_backend.h>
#include <syncopate/elide/gil_epochs.h>
#include <syncopate/elide/gil_learning.h>
#include <syncopate/elide/gil_options.h>
#include <syncopate/elide/gil_points.h>
#include <syncopate/elide/gil_retry.h>
#include <syncopate/elide/gil_totals.h>
#include <syncopate/gil.h>
#include <syncopate/locks/auto_lock.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <unistd.h>

namespace syncopate::elide {

using gil_thread = ::syncopate_gil_thread;

enum class gil_state : std::uint32_t { detached, outside, elided, holding };

// TotalsLock: for statistics; another one where Lock is the runtime's own.
template <class Lock = auto_lock, class Backend = gil_machine_backend, class TotalsLock = Lock>
class gil {
 public:
  using learning = gil_learning<Backend::points>;
  using points_table = typename learning::points_table;
  using changes = typename learning::changes;

  // wanted: where the lock is to tell whether yield points have to be counted (gil.h of C); a word
  // in a line of its own, or none.
  explicit gil(const gil_options& options, std::uint32_t* wanted = nullptr) noexcept
      : options_(options),
        wanted_(wanted != nullptr ? wanted : &own_wanted_),
        learning_(options.lengths) {
    elides_ = options.elided && Backend::usable();
    if (elides_) overhead_ = detail::empty_transaction<Backend>();
    waiting().store(elides_, std::memory_order_relaxed);  // [L]
  }
  gil(const gil&) = delete;
  gil& operator=(const gil&) = delete;

  // The functions of <syncopate/gil.h>, for the calling thread, whose data `me` is.
  int attach(gil_thread& me) noexcept {
    if (state_of(me) != gil_state::detached) return misuse(EDEADLK, "attached twice");
    auto* const records =
        static_cast<gil_record*>(std::calloc(learning::records, sizeof(gil_record)));
    if (records == nullptr) return ENOMEM;
    me = {};
    me.records = records;
    set_state(me, gil_state::outside);
    (void)adopt(me);  // else enter() tells
    return 0;
  }

  int detach(gil_thread& me) noexcept {
    if (state_of(me) != gil_state::outside) return misuse(EPERM, "detached while not outside");
    if (!is_forked(me) || adopt(me)) {
      live_.fetch_sub(1, std::memory_order_relaxed);  // [L]
      totals_.add(me);
    }
    std::free(me.records);
    me = {};
    return 0;
  }

  int enter(gil_thread& me, const void* pc) noexcept {
    if (is_forked(me)) {
      if (state_of(me) == gil_state::detached) return misuse(EPERM, "entered by a stranger");
      if (const int error = enter_child(me)) return error;
    }
    if (state_of(me) != gil_state::outside) return misuse(EDEADLK, "entered twice");
    me.since = Backend::ticks();
    me.epoch = 0;  // what passed outside is no cost of a length
    begin(me, pc);
    return 0;
  }

  int leave(gil_thread& me) noexcept {
    if (!inside(me)) return misuse(EPERM, "left by a thread that is not inside");
    adopt_if_forked(me);
    end(me);
    me.countdown = 0;
    return 0;
  }

  int yield(gil_thread& me, const void* pc) noexcept {
    return --me.countdown <= 0 ? yield_slow(me, pc) : 0;
  }

  // Figure 2, lines 9 to 13.
  int yield_slow(gil_thread& me, const void* pc) noexcept {
    me.countdown = 0;
    if (!inside(me)) return misuse(EPERM, "yielded by a thread that is not inside");
    adopt_if_forked(me);
    if (state_of(me) == gil_state::holding && stays(me)) return 0;
    end(me);
    begin(me, pc);
    return 0;
  }

  int needs_lock(gil_thread& me) noexcept {
    if (!inside(me)) return misuse(EPERM, "asked for the lock by a thread that is not inside");
    if (state_of(me) == gil_state::elided) Backend::template abort<abort_code::needs_lock>();
    return 0;
  }

  [[nodiscard]] static gil_state state_of(const gil_thread& me) noexcept {
    return static_cast<gil_state>(me.state);
  }
  [[nodiscard]] static bool inside(const gil_thread& me) noexcept {
    return me.state >= static_cast<std::uint32_t>(gil_state::elided);
  }
  [[nodiscard]] bool elides() const noexcept { return elides_; }
  [[nodiscard]] const gil_options& options() const noexcept { return options_; }
  [[nodiscard]] const points_table& points() const noexcept { return learning_.points(); }
  // For reports: gil_points.h. Outside of transactions.
  template <class Name>
  void name_points(Name name_of) {
    learning_.points().name_all(name_of);
  }
  [[nodiscard]] unsigned length(std::uint32_t point) const noexcept {
    return learning_.length(point);
  }
  [[nodiscard]] std::uint64_t overhead() const noexcept { return overhead_; }

  // Hands in what a thread has counted so far, which then counts anew. Requires: not elided.
  void hand_in(gil_thread& me) noexcept {
    if (inside(me)) lap(me, me.useful);
    totals_.add(me);
    for (std::uint32_t i = 0; i < learning::records; ++i) {
      gil_record& mine = me.records[i];
      mine = {.begun = mine.begun, .lost = mine.lost};
    }
    me.useful = me.aborted = me.waiting = me.overhead = 0;
  }

  // print(), while nobody hands in what it counted.
  template <class Print>
  void while_settled(Print print) {
    totals_.lock.lock();
    print();
    totals_.lock.unlock();
  }

  // Of the threads that have detached, or handed in. Requires: nobody does so meanwhile.
  [[nodiscard]] const gil_record& total(std::uint32_t point) const noexcept {
    return totals_.records[point];
  }
  [[nodiscard]] const gil_cycles& cycles() const noexcept { return totals_.cycles; }
  [[nodiscard]] const choice_state& choice() const noexcept { return epochs_.choice(); }
  [[nodiscard]] const changes& history() const noexcept { return learning_.history(); }

 private:
  // ---- figure 1 ----

  void begin(gil_thread& me, const void* pc) noexcept {
    me.fallen = 0;
    if (!elides_) return hold(me);
    if (Backend::active()) return begin_nested(me);
    if (live_.load(std::memory_order_relaxed) <= 1) return hold(me);  // [L]
    set_length(me, pc);
    if (is_acquired() && spin_and_acquire(me)) return;
    attempt(me);
  }

  void attempt(gil_thread& me) noexcept {
    gil_tally left = options_.retries;
    bool first = true;
    for (;;) {
      lap(me, me.overhead);
      const machine::htm::status s = Backend::begin();
      if (s.started()) {
        if (is_acquired()) Backend::template abort<abort_code::lock_held>();
        set_state(me, gil_state::elided);
        return;
      }
      if (!retries(me, left, s, first)) return;
      first = false;
    }
  }

  // The abort path, lines 16 to 36. Returns false when the thread holds the lock.
  [[gnu::noinline]] bool retries(gil_thread& me, gil_tally& left, const machine::htm::status& s,
                                 bool first) noexcept {
    count_abort(me, s, lap(me, me.aborted));
    if (first) learning_.first_abort(me.point, me.since);
    const gil_decision next = after_abort(left, s, is_acquired());
    left = next.left;
    if (next.step == gil_step::retry) return true;
    if (next.step == gil_step::wait_then_retry) return !spin_and_acquire(me);
    machine::htm::fell_back();
    acquire(me, true);
    return false;
  }

  // Lines 40 to 45. Returns whether the lock was acquired; else it was seen free.
  bool spin_and_acquire(gil_thread& me) noexcept {
    lap(me, me.overhead);
    auto is_free = [](std::uint32_t v) { return v == 0; };
    if (machine::may_spin() &&
        machine::wait_until(acquired_, std::memory_order_relaxed, is_free,  // [L]
                            me.since + options_.wait_limit)) {
      lap(me, me.waiting);
      return false;
    }
    acquire(me, true);
    return true;
  }

  void acquire(gil_thread& me, bool fallen) noexcept {
    lap(me, me.overhead);
    if (!lock_.try_lock()) {
      waiting().fetch_add(1, std::memory_order_relaxed);  // [L]
      lock_.lock();
      waiting().fetch_sub(1, std::memory_order_relaxed);  // [L]
    }
    acquired_.exchange(own_id(), std::memory_order_seq_cst);  // [S]
    set_state(me, gil_state::holding);
    lap(me, me.waiting);
    me.slice = me.since;
    me.fallen = fallen;
    if (fallen) ++me.records[me.point].fallbacks;
  }

  void release(gil_thread& me) noexcept {
    set_state(me, gil_state::outside);
    acquired_.store(0, std::memory_order_release);  // [R]
    lock_.unlock();
  }

  // The lock, without an attempt.
  void hold(gil_thread& me) noexcept {
    me.countdown = options_.look;
    acquire(me, false);
  }

  // Inside a transaction of the caller's: an abort goes back to its begin, not here.
  void begin_nested(gil_thread& me) noexcept {
    if (is_acquired() || !Backend::begin().started())
      Backend::template abort<abort_code::inner_held>();
    me.countdown = options_.look;
    set_state(me, gil_state::elided);
  }

  [[nodiscard]] bool is_acquired() const noexcept {
    return acquired_.load(std::memory_order_acquire) != 0;  // [A]
  }

  // ---- figure 2 ----

  void end(gil_thread& me) noexcept {
    const bool held = state_of(me) == gil_state::holding;
    if (held) {
      release(me);
    } else {
      set_state(me, gil_state::outside);
      Backend::commit();
    }
    const std::uint64_t spent = lap(me, me.useful);
    if (held && me.fallen) lose(me, spent * others());
  }

  // Whether a holder goes on holding at a yield point: alone, or, without elision, in its slice.
  [[nodiscard]] bool stays(gil_thread& me) noexcept {
    const bool alone = live_.load(std::memory_order_relaxed) <= 1;  // [L]
    if (elides_ ? !alone
                : !alone && waiting().load(std::memory_order_relaxed) != 0 &&  // [L]
                      Backend::ticks() - me.slice >= options_.slice)
      return false;
    me.countdown = options_.look;
    return true;
  }

  // ---- figure 3, and what is learned beyond it ----

  void set_length(gil_thread& me, const void* pc) noexcept {
    me.point = learning_.find(pc);
    ++me.records[me.point].begins;
    const std::uint16_t chosen =
        options_.lengths.chooses ? epochs_.choose(me, totals_.lock) : std::uint16_t{0};
    me.length = chosen != 0 ? chosen : learning_.begins(me.records, me.point, me.since);
    me.countdown = me.length;
  }

  void count_abort(gil_thread& me, const machine::htm::status& s, std::uint64_t spent) noexcept {
    const gil_abort why = kind_of(s);
    ++me.records[me.point].aborts[static_cast<unsigned>(why)];
    lose(me, spent);
  }

  // Time that the length at me.point has cost.
  void lose(gil_thread& me, std::uint64_t spent) noexcept {
    learning_.lose(me.records, me.point, spent * 8 / overhead_, me.since);
  }

  // Threads that stand still while the lock is held.
  [[nodiscard]] std::uint64_t others() const noexcept {
    const std::uint32_t live = live_.load(std::memory_order_relaxed);  // [L]
    return live > 1 ? live - 1 : 0;
  }

  [[nodiscard]] static gil_abort kind_of(const machine::htm::status& s) noexcept {
    switch (s.why) {
      case machine::htm::cause::conflict: return gil_abort::conflict;
      case machine::htm::cause::capacity: return gil_abort::capacity;
      case machine::htm::cause::explicit_:
        if (s.code == static_cast<unsigned char>(abort_code::lock_held))
          return gil_abort::lock_held;
        return detail::is_persistent(s) ? gil_abort::needs_lock : gil_abort::explicit_;
      default: return gil_abort::other;
    }
  }

  // ---- time, misuse, fork ----

  // Adds the time since the last boundary to one of the thread's sums. Returns it, in ticks.
  static std::uint64_t lap(gil_thread& me, std::uint64_t& sum) noexcept {
    const std::uint64_t now = Backend::ticks(), spent = now - me.since;
    me.since = now;
    sum += spent;
    return spent;
  }

  // The caller's bug: one line, the first time.
  [[gnu::noinline, gnu::cold]] int misuse(int error, const char* what) noexcept {
    if (!complained_.exchange(true, std::memory_order_relaxed)) {  // [L]
      char line[120];
      const int length = std::snprintf(line, sizeof line, "syncopate: interpreter lock %p: %s\n",
                                       static_cast<void*>(this), what);
      if (length > 0) (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
    }
    return error;
  }

  [[nodiscard]] static bool is_forked(const gil_thread& me) noexcept {
    return __builtin_expect(me.generation != machine::fork_generation(), 0);
  }

  [[nodiscard]] static std::uint32_t own_id() noexcept {
    return static_cast<std::uint32_t>(machine::self());
  }

  void adopt_if_forked(gil_thread& me) noexcept {
    if (is_forked(me)) (void)adopt(me);
  }

  // Counts the thread in the process that it runs in. Whether that could be: not in a child while
  // who was inside at the fork is another thread, or has not been here since.
  [[gnu::noinline, gnu::cold]] bool adopt(gil_thread& me) noexcept {
    if (!renew(state_of(me) == gil_state::holding)) return false;
    live_.fetch_add(1, std::memory_order_relaxed);  // [L]
    me.generation = machine::fork_generation();
    return true;
  }

  // For a thread that is not inside. Blocks while the one that forked is. (A child of a child, too,
  // is told of a dead holder, until the first yield point of the thread that forked both inside.)
  [[gnu::noinline, gnu::cold]] int enter_child(gil_thread& me) noexcept {
    while (!adopt(me)) {
      const std::uint32_t holder = acquired_.load(std::memory_order_acquire);   // [K]
      const std::uint32_t known = generation_.load(std::memory_order_relaxed);  // [L]
      if (known == machine::fork_generation()) continue;
      if (holder != static_cast<std::uint32_t>(machine::forked_from()))
        return misuse(EOWNERDEAD, "forked while another was inside");
      machine::park(generation_, known);
    }
    return 0;
  }

  // I5, in a child by the first of its threads that can: who forked inside, and holds the lock
  // (no transaction survives a system call), or any where nobody was inside. Returns whether it is
  // done.
  bool renew(bool holding) noexcept {
    const std::uint32_t mine = machine::fork_generation(), in_hand = mine | under_way;
    std::uint32_t seen = generation_.load(std::memory_order_acquire);  // [H]
    if (seen == mine) return true;
    if (!holding && is_acquired()) return false;
    if (seen == in_hand ||
        !generation_.compare_exchange_strong(seen, in_hand, std::memory_order_relaxed)) {  // [L]
      auto is_done = [mine](std::uint32_t v) { return v == mine; };
      machine::wait_until(generation_, std::memory_order_acquire, is_done);  // [H]
      return true;
    }
    std::construct_at(&totals_.lock);
    std::construct_at(&lock_);
    if (holding) lock_.lock();
    live_.store(0, std::memory_order_relaxed);                          // [L]
    waiting().store(elides_, std::memory_order_relaxed);                // [L]
    generation_.store(mine, std::memory_order_release);                 // [G]
    if (holding) acquired_.store(own_id(), std::memory_order_release);  // [K], for the next fork
    machine::wake(&generation_, INT_MAX);
    return true;
  }

  // Threads that wait for the lock; one more where it is elided.
  [[nodiscard]] std::atomic_ref<std::uint32_t> waiting() const noexcept {
    return std::atomic_ref<std::uint32_t>(*wanted_);
  }

  static void set_state(gil_thread& me, gil_state s) noexcept {
    me.state = static_cast<std::uint32_t>(s);
  }

  // Lines of their own, also on machines whose lines have 256 bytes: every transaction reads
  // acquired_.
  alignas(256) std::atomic<std::uint32_t> acquired_{0};
  alignas(256) Lock lock_;
  alignas(256) std::atomic<std::uint32_t> live_{0};
  alignas(256) std::uint32_t own_wanted_ = 0;
  static constexpr std::uint32_t under_way = 1u << 31;  // of generation_, while it is being renewed
  std::atomic<std::uint32_t> generation_{machine::fork_generation()};
  alignas(256) gil_options options_;
  std::uint32_t* const wanted_;
  bool elides_ = false;
  std::uint64_t overhead_ = 1;
  learning learning_;
  std::atomic<bool> complained_{false};
  gil_totals<points_table::size, TotalsLock> totals_;
  gil_epochs epochs_;
};

}  // namespace syncopate::elide
