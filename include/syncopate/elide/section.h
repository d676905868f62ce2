// section.h -- elided sections: critical sections that run as one hardware transaction, or
// under their lock when that fails; and what a program wants done after the one or the other.
//
// Who elides a lock begins here and commits here, so that sections of several locks nest flat and
// the program's actions are kept in one place:
//
//   lock()    s = section::begin(lock); if it started and the lock is free, the section is elided;
//             if the lock is held: section::abort<abort_code::lock_held>()
//   unlock()  if (!section::leave(lock)) the section is not elided: release the lock
//   begin() and commit() without a lock: sections that belong to none
//
//   on_commit(f)           f() runs once, as soon as it cannot be undone any more: after the commit
//                          of the running transaction; where none runs, at once.
//   on_abort handler(f)    f(status) runs after each abort while `handler` lives.
//   section::needs_lock()  what follows cannot be undone: be under the lock.
//
// Nesting is flat: an abort goes back to the outermost begin(), and the outermost commit() commits.
// A section that runs under its lock is unknown here, so that taking a lock costs nothing more.
//
// Invariants
//   I1  depth counts the begin()s of the running transaction that are not yet committed; locks[i]
//       is what the one at depth i + 1 was for, of the first most_locks. Both are written inside
//       the transaction only, so an abort takes depth back to 0.
//   I2  An action registered in a transaction exists only if the transaction commits, for the same
//       reason.
//   I3  Actions are pending only while depth is not 0.
//   I4  sets lists the sets of locks (lockset.h) that are sections of the running transaction, the
//       newest first. It and the links are written inside the transaction only.
#pragma once

#include <syncopate/machine.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace syncopate::elide {

// The codes of explicit aborts; profilers show them. Programs may use those below 0x80.
enum class abort_code : unsigned char {
  lock_held = 0xff,     // subscribed to a lock that is held: wait for it, then retry (as glibc)
  ran_ahead = 0xfe,     // a speculation came to its unlock() (wait/speculate.h)
  nested_try = 0xfd,    // try_lock() of a lock that the transaction itself elides (as glibc)
  needs_lock = 0xfc,    // the section asked for its lock: retrying is useless
  actions_full = 0xfb,  // more actions than a transaction can register: likewise
  inner_held = 0xfa,    // a lock taken inside the section is held by another thread
  switched_off = 0xf9,  // elision was turned off (control.h)
};

class section;
class on_abort_base;

namespace detail {

// A callable of the program, by value: trivially copyable, so that an abort can forget it.
struct action {
  static constexpr std::size_t bytes = 32;
  void (*run)(void*) noexcept;
  alignas(std::max_align_t) std::byte callable[bytes];
};

// A section of several locks: contains() finds each of them by it.
struct elided_set {
  bool (*holds)(const elided_set& self, const void* lock) noexcept;
  elided_set* outer = nullptr;
};

struct section_context {
  static constexpr std::uint32_t room = 8;  // actions that one transaction can register
  static constexpr std::uint32_t most_locks = 7;
  std::uint32_t depth = 0;    // I1
  std::uint32_t pending = 0;  // of `actions` (I3)
  const void* locks[most_locks] = {};
  on_abort_base* handlers = nullptr;
  elided_set* sets = nullptr;  // I4
  action actions[room];
};

inline thread_local constinit section_context context{};

}  // namespace detail

// Runs `f(machine::htm::status)` after each abort of the calling thread's elided sections, before
// the retry or the fall-back, for as long as the object lives; the newest handler first. They may
// end in any order, each in the thread that made it. Handlers run outside of transactions and must
// not throw. One that is made inside a transaction vanishes when that aborts, as all else does,
// without having run.
class on_abort_base {
 public:
  on_abort_base(const on_abort_base&) = delete;
  on_abort_base& operator=(const on_abort_base&) = delete;

 protected:
  using function = void (*)(on_abort_base&, const machine::htm::status&) noexcept;
  explicit on_abort_base(function run) noexcept : run_(run), outer_(detail::context.handlers) {
    detail::context.handlers = this;
  }
  ~on_abort_base() {
    on_abort_base** link = &detail::context.handlers;
    while (*link != nullptr && *link != this) link = &(*link)->outer_;
    if (*link != nullptr) *link = outer_;
  }

 private:
  friend class section;
  function run_;
  on_abort_base* outer_;
};

template <class Callable>
class on_abort : on_abort_base {
 public:
  explicit on_abort(Callable f) noexcept
      : on_abort_base([](on_abort_base& self, const machine::htm::status& why) noexcept {
          static_cast<on_abort&>(self).callable_(why);
        }),
        callable_(std::move(f)) {}

 private:
  Callable callable_;
};

class section {
 public:
  using status = machine::htm::status;

  // Begins a transaction, or nests in the running one. Returns again, with the cause, after an
  // abort. The caller must now subscribe to its lock: read in the transaction that it is free.
  [[nodiscard, gnu::always_inline]] static status begin(const void* lock = nullptr) noexcept {
    if (active()) {
      nest(lock);
      return {machine::htm::cause::started, 0, false, false};
    }
    if (!machine::htm::usable()) return {};
    return begin_outermost(lock);
  }

  // The same where nothing needs to be asked. Requires: not active(), and transactions commit on
  // this machine. (In a thread that runs ahead of a lock, wait/speculate.h, the machine nests.)
  [[nodiscard, gnu::always_inline]] static status begin_outermost(const void* lock) noexcept {
    detail::section_context& me = detail::context;
    const status s = machine::htm::begin();
    if (s.started()) {
      me.depth = 1;
      me.locks[0] = lock;
    } else if (__builtin_expect(me.handlers != nullptr, 0)) {
      tell_aborted(s);
    }
    return s;
  }

  // Ends the section of the lock, whichever is the innermost; the last one to end commits, then
  // runs the actions. Returns false if the running transaction has no section of that lock.
  [[nodiscard]] static bool leave(const void* lock) noexcept {
    const std::uint32_t depth = detail::context.depth;
    if (depth == 0) return false;
    if (__builtin_expect(
            depth > detail::section_context::most_locks || detail::context.locks[depth - 1] != lock,
            0) &&
        !move_to_end(lock))
      return false;
    end_innermost();
    return true;
  }

  // Ends the innermost section that belongs to no lock. Requires: there is one.
  static void commit() noexcept { (void)leave(nullptr); }

  // Whether the running transaction has a section of the lock, or of a set that the lock is in.
  [[nodiscard]] static bool contains(const void* lock) noexcept {
    const detail::section_context& me = detail::context;
    for (std::uint32_t i = 0; i < known_locks(); ++i)
      if (me.locks[i] == lock) return true;
    for (const detail::elided_set* set = me.sets; set != nullptr; set = set->outer)
      if (set->holds(*set, lock)) return true;
    return false;
  }

  // A set's section has begun, or is about to end, in the running transaction; of one that has not
  // begun there, remove() does nothing.
  static void add(detail::elided_set& set) noexcept {
    set.outer = std::exchange(detail::context.sets, &set);
  }
  static void remove(const detail::elided_set& set) noexcept {
    detail::elided_set** link = &detail::context.sets;
    while (*link != nullptr && *link != &set) link = &(*link)->outer;
    if (*link != nullptr) *link = set.outer;
  }

  // Whether the calling thread is in an elided section that runs as a transaction.
  [[nodiscard]] static bool active() noexcept { return detail::context.depth != 0; }
  [[nodiscard]] static std::uint32_t depth() noexcept { return detail::context.depth; }
  // Whether a further lock could not be kept.
  [[nodiscard]] static bool full() noexcept {
    return detail::context.depth >= detail::section_context::most_locks;
  }

  // Aborts the transaction: back in the outermost begin(). Nothing outside of transactions.
  template <abort_code Code>
  static void abort() noexcept {
    if (active()) machine::htm::abort<static_cast<unsigned char>(Code)>();
  }

  // Returns under the lock, or outside of any section: what follows cannot be undone (input and
  // output, system calls). A transaction starts over to that end.
  static void needs_lock() noexcept { abort<abort_code::needs_lock>(); }

  // See on_commit() below. Requires: active(). More than there is room for make the section start
  // over under its lock.
  static void defer(const detail::action& what) noexcept {
    detail::section_context& me = detail::context;
    if (me.pending == me.room) abort<abort_code::actions_full>();
    me.actions[me.pending++] = what;
  }

 private:
  static std::uint32_t known_locks() noexcept {
    const std::uint32_t depth = detail::context.depth;
    return depth < detail::section_context::most_locks ? depth
                                                       : detail::section_context::most_locks;
  }

  static void nest(const void* lock) noexcept {
    detail::section_context& me = detail::context;
    if (!full()) me.locks[me.depth] = lock;
    ++me.depth;
  }

  static void end_innermost() noexcept {
    detail::section_context& me = detail::context;
    if (--me.depth != 0) return;
    if (machine::htm::active()) machine::htm::commit();  // committing outside one is a fault
    if (__builtin_expect(me.pending != 0, 0)) run_actions();
  }

  // Sections may end in any order: exchanges the lock's section with the innermost one. Those too
  // deep to be known belong to no lock. Returns false if there is no section of the lock.
  [[gnu::noinline, gnu::cold]] static bool move_to_end(const void* lock) noexcept {
    detail::section_context& me = detail::context;
    if (me.depth > me.most_locks && lock == nullptr) return true;
    for (std::uint32_t i = known_locks(); i-- > 0;) {
      if (me.locks[i] != lock) continue;
      me.locks[i] = me.depth > me.most_locks ? nullptr : me.locks[me.depth - 1];
      return true;
    }
    return false;
  }

  [[gnu::noinline, gnu::cold]] static void tell_aborted(const status& why) noexcept {
    for (on_abort_base* h = detail::context.handlers; h != nullptr; h = h->outer_) h->run_(*h, why);
  }

  // Takes all actions out, then runs them: each may have sections, and actions, of its own.
  [[gnu::noinline]] static void run_actions() noexcept {
    detail::section_context& me = detail::context;
    detail::action taken[detail::section_context::room];
    const std::uint32_t count = std::exchange(me.pending, 0u);
    std::memcpy(taken, me.actions, count * sizeof taken[0]);
    for (std::uint32_t i = 0; i < count; ++i) taken[i].run(taken[i].callable);
  }
};

// Runs `f()` once, as soon as what the calling thread's section has done cannot be undone any more:
// after the commit of its transaction, in the order of registration; at once where no transaction
// runs, so under the lock if the section has one: f must not wait for that lock. An abort forgets
// what the transaction has registered. f must not throw, is copied bit by bit (a lambda that
// captures pointers or numbers by value), and must not refer to what the section's end takes with
// it. More than 8 in one transaction make the section run under its lock.
template <class Callable>
void on_commit(Callable f) {
  static_assert(sizeof(Callable) <= detail::action::bytes, "capture less, or a pointer to it");
  static_assert(alignof(Callable) <= alignof(detail::action), "capture a pointer to it");
  static_assert(std::is_trivially_copyable_v<Callable>, "an abort could not undo the capture");
  if (!section::active()) {
    f();
    return;
  }
  detail::action what;
  what.run = [](void* callable) noexcept { (*static_cast<Callable*>(callable))(); };
  ::new (static_cast<void*>(what.callable)) Callable(f);
  section::defer(what);
}

}  // namespace syncopate::elide
