// rwlock.cpp -- reader-writer locks for the explored machine: what posix/rwlock.h says, with a lock
// of one word, the number of readers or `exclusive`; the machine keeps who has it (steps.h), so
// that readers are in no order, until somebody tries or waits with a limit. Neither side is
// preferred: the exploration tries both. But a lock of the kind that is made to prefer writers
// keeps readers out while one waits, those that have it, too: the word counts who waits, above the
// readers, and each step is one on it.
//
// Misuse ends the run: unlocking what the thread does not hold, use after destruction, destruction
// while held.
//
// Memory order (each tag stands at its site below)
//   [U]  release -- synchronizes with the acquire of who takes the lock next (model::take).
//   [W]  relaxed: keeps readers out, and hands nothing on.

#include "posix/rwlock.h"

#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

constexpr std::uint32_t exclusive = 0xffff, most_readers = exclusive - 1;
constexpr std::uint32_t one_waits = exclusive + 1;

struct rwlock_object {
  std::uint32_t state;
  std::uint32_t writer;  // index + 1 of the thread that holds it exclusively; no event
  bool destroyed;
  std::uint8_t reads[16];  // how often a thread (by its index mod 16) holds it shared; no event
};
static_assert(sizeof(rwlock_object) <= offsetof(pthread_rwlock_t, __data.__flags));

struct entry {
  side which;
  bool waits = false;  // a writer that is counted as such
  [[nodiscard]] bool may_enter(std::uint32_t state) const {
    return which == side::write ? (state & exclusive) == 0 : state < most_readers;
  }
  [[nodiscard]] std::uint32_t entered(std::uint32_t state) const {
    return which == side::write ? state + exclusive - (waits ? one_waits : 0) : state + 1;
  }
};

class lock : public posix::not_elided_rwlock {
 public:
  static constexpr bool tries_first = false;  // each step is a branching point

  lock(pthread_rwlock_t& l, place where) : object_(l), where_(where) {
    model::note_use(&fields().destroyed, where);
  }

  bool is_destroyed() const { return fields().destroyed; }
  void mark_destroyed() {
    touch(&object_, sizeof object_, engine::kind::write, where_);
    fields().destroyed = true;
  }
  bool writes() const { return fields().writer == model::self() + 1; }
  bool reads() const { return own_reads() != 0; }
  static bool is_full_of_readers() { return false; }  // would be waited for
  bool is_in_use() const { return fields().state != 0; }

  bool try_acquire(side which) {
    on_engine([] { model::order_readers(); });
    // (Not a load, which may be stale: trylock must not fail on a lock that is free.)
    return model::try_take(fields().state, entry{which}, where_);
  }
  bool acquire(side which, limit until) {
    if (until != nullptr || prefers_writers()) on_engine([] { model::order_readers(); });
    if (which == side::write && prefers_writers()) {
      if (!acquire_preferred(until)) return false;
    } else if (on_engine([&] {
                 return model::share(at(&fields().state), which == side::write, where_);
               })) {
      fields().state = entry{which}.entered(fields().state);  // no event
    } else if (!model::take(fields().state, entry{which}, until, where_)) {
      return false;
    }
    if (is_destroyed()) misused("use of a destroyed reader-writer lock");  // while we waited
    model::note_use(&fields().destroyed, where_);
    return true;
  }
  void note_holder(side which) {
    if (which == side::write) fields().writer = model::self() + 1;
    else ++own_reads();
    model::note_held(object_, "reader-writer lock", 1, where_);
  }
  void forget_holder(side which) {
    if (which == side::write) fields().writer = 0;
    else --own_reads();
    model::note_held(object_, "reader-writer lock", -1, where_);
  }
  void release(side which) {
    const bool writes = which == side::write;
    if (on_engine([&] { return model::unshare(at(&fields().state), writes, where_); }))
      fields().state = writes ? 0 : fields().state - 1;  // no event
    else if (prefers_writers() && writes)
      word().add(0 - exclusive, std::memory_order_release);       // [U]
    else if (writes) word().store(0, std::memory_order_release);  // [U]
    else word().add(~0u, std::memory_order_release);              // [U] one reader less
  }

  [[noreturn]] void misused(const char* what) { model::misuse(what, &object_, where_); }

 private:
  bool prefers_writers() const {
    return object_.__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  }
  bool acquire_preferred(limit until) {
    word().add(one_waits, std::memory_order_relaxed);  // [W]
    const bool has_it = model::take(fields().state, entry{side::write, true}, until, where_);
    if (!has_it) word().add(0 - one_waits, std::memory_order_relaxed);  // [W]
    return has_it;
  }
  rwlock_object& fields() const { return reinterpret_cast<rwlock_object&>(object_); }
  std::uint8_t& own_reads() const { return fields().reads[model::self() % 16]; }
  model::word<std::uint32_t> word() const { return {fields().state, where_}; }

  pthread_rwlock_t& object_;
  place where_;
};

struct strict : posix::nobody_watches_rwlock {
  static constexpr bool asks_for_holder = true;
  [[noreturn]] void unlocks_foreign(lock& l) const {
    l.misused("unlock of a reader-writer lock that the thread does not hold");
  }
  [[noreturn]] void uses_destroyed(lock& l) const {
    l.misused("use of a destroyed reader-writer lock");
  }
  void about_to_destroy(lock& l) const {
    if (l.is_in_use()) l.misused("destruction of a reader-writer lock that is held");
  }
};

}  // namespace

int rwlock_lock(pthread_rwlock_t& l, side which, limit until, place where) {
  return posix::lock_rwlock(lock(l, where), strict(), which, until);
}

int rwlock_trylock(pthread_rwlock_t& l, side which, place where) {
  return posix::try_lock_rwlock(lock(l, where), strict(), which);
}

int rwlock_unlock(pthread_rwlock_t& l, place where) {
  return posix::unlock_rwlock(lock(l, where), strict());
}

int rwlock_destroy(pthread_rwlock_t& l, place where) {
  return posix::destroy_rwlock(lock(l, where), strict());
}

}  // namespace syncopate::instrument::objects
