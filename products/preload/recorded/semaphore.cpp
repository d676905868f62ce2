// semaphore.cpp -- sem_*: the C library's semaphores, seen by the recorder only; while that looks,
// what posix/semaphore.h says.
//
// A semaphore has no holder. One that is used as a lock, or for a pool of things, has some: who
// took it and has not posted since, which each thread notes for itself. So each wait is classified
// by the post that ended it: of who had taken the semaphore (it was a lock, and the wait is lost to
// it), or of anybody else (it was a signal). Who has taken a lock does not get it once more: a
// semaphore at which that has happened is a signal from then on, whoever posts it. So is that of
// Python's SimpleQueue, which whoever was woken posts for the next.
//
// glibc's sem_t has 32 bytes and uses 16 of them. Where processes share a semaphore, its other ones
// are left alone: then it is known by its address, who took it is not known, and it is a lock where
// this process's posts come from threads that take it, too (record/futex_wakes.h).
//
//   offset   0  value    4  waiting threads    8  shared between processes
//           16  record id    20  acquisitions    24  who took it last
//           28  what its last post was (5 bits), whether Python parks a thread at it, whether
//               Python's has been tried, whether Python made it, and which life of it this is
//
// Memory order (each tag stands at its site below)
//   [V]  relaxed: each word stands for itself; what the recorder reads late, it tells as it was.
#include <syncopate/machine.h>

#include <cerrno>
#include <cstdint>

#include <pthread.h>
#include <semaphore.h>

#include "posix/semaphore.h"
#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/config.h"
#include "preload/recorded/python.h"
#include "record/recorder.h"
#include "record/told.h"

namespace syncopate::shim {
namespace {

using record::object_kind;
using record::wait_kind;

enum class last_post : std::uint32_t { none, release, signal, signal_for_good };

struct semaphore_object {
  static semaphore_object& of(sem_t* s) noexcept { return *reinterpret_cast<semaphore_object*>(s); }
  [[nodiscard]] bool has_room() const noexcept { return shared == 0; }
  [[nodiscard]] bool is_lock() const noexcept {
    if (!has_room()) return false;
    const last_post post = posted();
    return post == last_post::release || (post == last_post::none && load(owner) != 0);
  }
  [[nodiscard]] last_post posted() const noexcept { return last_post(load(state) & post_mask); }
  void set_posted(last_post post) noexcept {
    store(state, (load(state) & ~post_mask) | static_cast<std::uint32_t>(post));
  }
  // So that what was taken is not taken for another one that came to lie there.
  [[nodiscard]] std::uint32_t life() const noexcept { return load(state) & ~post_mask; }
  enum class use : std::uint32_t { any = 0, parks = 0x20, pythons = 0x80 };
  void begin_life(use what) noexcept {
    static constinit std::uint32_t lives = 0;
    const std::uint32_t life = __atomic_add_fetch(&lives, one_life, __ATOMIC_RELAXED);  // [V]
    store(state, life | static_cast<std::uint32_t>(what));
  }
  // Whether it stands for what a thread of Python's waits for, for this once.
  [[nodiscard]] bool parks() const noexcept {
    return has_room() && (load(state) & static_cast<std::uint32_t>(use::parks)) != 0;
  }
  // Whether it is a lock of a program in Python. The interpreter's own, as its allocator's, are not
  // tried first: they may be taken in the middle of anything.
  [[nodiscard]] bool is_pythons() const noexcept {
    return has_room() && (load(state) & (pythons | tried)) == (pythons | tried);
  }
  void set_tried() noexcept {
    if (!has_room()) return;
    if (const std::uint32_t now = load(state); (now & (pythons | tried)) == pythons)
      store(state, now | tried);
  }
  std::uint32_t* slot() noexcept { return has_room() ? &slot_ : nullptr; }

  template <class T>
  static T load(const T& word) noexcept {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);  // [V]
  }
  template <class T>
  static void store(T& word, T value) noexcept {
    __atomic_store_n(&word, value, __ATOMIC_RELAXED);  // [V]
  }

  std::uint32_t value, waiters;
  int shared;
  int padding;
  std::uint32_t slot_, count;
  int owner;
  std::uint32_t state;

 private:
  static constexpr std::uint32_t post_mask = 0x1f, tried = 0x40, one_life = 0x100;
  static constexpr auto pythons = static_cast<std::uint32_t>(use::pythons);
};
static_assert(sizeof(semaphore_object) == sizeof(sem_t) && sizeof(long) == 8);

// What a thread has taken and not posted, the last of it: who only takes, as from a queue, would
// fill any table.
class taken_by_thread {
 public:
  [[nodiscard]] bool has(const semaphore_object& o) const noexcept { return at(o) < most; }
  void add(const semaphore_object& o) noexcept { all_[next_++ % most] = {&o, o.life()}; }
  bool remove(const semaphore_object& o) noexcept {
    const unsigned i = at(o);
    if (i == most) return false;
    all_[i] = {};
    return true;
  }

 private:
  static constexpr unsigned most = 8;
  struct taken {
    const semaphore_object* semaphore;
    std::uint32_t life;
  };
  [[nodiscard]] unsigned at(const semaphore_object& o) const noexcept {
    unsigned i = 0;
    while (i < most && (all_[i].semaphore != &o || all_[i].life != o.life())) ++i;
    return i;
  }

  taken all_[most]{};
  unsigned next_ = 0;
};
constinit thread_local taken_by_thread mine __attribute__((tls_model("initial-exec")));

std::uint32_t identify(sem_t* s) noexcept {
  return record::identify(object_kind::semaphore, 0, s, semaphore_object::of(s).slot());
}

// The C library's, as posix/semaphore.h wants it.
class real_semaphore {
 public:
  static constexpr bool tries_first = true;
  real_semaphore(sem_t* s, const void* caller) : semaphore_(s), caller_(caller) {}

  [[nodiscard]] sem_t* address() const { return semaphore_; }
  [[nodiscard]] const void* caller() const { return caller_; }

  static void test_cancel() { pthread_testcancel(); }
  static bool is_destroyed() { return false; }
  static void mark_destroyed() {}
  bool try_take() {
    const int saved = errno;
    const bool taken = real::sem_trywait(semaphore_) == 0;
    errno = saved;
    return taken;
  }
  int take(posix::limit until) {
    const int saved = errno;
    const int result = until == nullptr ? real::sem_wait(semaphore_)
                       : until->clock == CLOCK_REALTIME
                           ? real::sem_timedwait(semaphore_, &until->at)
                           : real::sem_clockwait(semaphore_, until->clock, &until->at);
    return restored(result, saved);
  }
  bool add() {
    const int saved = errno;
    return restored(real::sem_post(semaphore_), saved) == 0;
  }

 private:
  static int restored(int result, int saved) {
    if (result == 0) return 0;
    const int error = errno;
    errno = saved;
    return error;
  }
  sem_t* semaphore_;
  const void* caller_;  // where the program's call returns to
};

void canceled(void* recorded) { record::wait_end_now(*static_cast<record::wait*>(recorded)); }

// Without locals: a cancellation comes back into it by longjmp.
void take_cancelable(record::wait& recorded, real_semaphore& s, posix::limit until, int* result) {
  pthread_cleanup_push(canceled, &recorded);
  *result = s.take(until);
  pthread_cleanup_pop(0);
}

bool is_pythons(real_semaphore& s) {
  const semaphore_object& o = semaphore_object::of(s.address());
  return o.has_room() ? o.is_pythons() : uses_pythons_lock(s.caller());
}

// What Python parks threads for is to us as a futex of a program's own: an address at which threads
// wait, and others wake them, of which nobody tells who has it.
constexpr int pythons_words = 15;  // from 16 on: format.h

int wait_parked(real_semaphore& s, const void* word, posix::limit until) {
  const record::interpreter_calls calls(true);
  const int of = static_cast<int>(what_pythons_word_is(word));
  const std::uint32_t id =
      record::identify(object_kind::futex, of == 0 ? 0 : pythons_words + of, word, nullptr);
  record::wait w =
      record::wait_begin(record::kind_of_futex(id), id, 0, {s.caller(), until != nullptr});
  int error;
  take_cancelable(w, s, until, &error);
  w.kind = record::kind_of_futex(id);
  record::wait_end_now(w);
  record::forget_frames();
  return error;
}

bool wake_parked(real_semaphore& s) {
  const void* const word = pythons_woken_for(s.address());
  const record::interpreter_calls calls(may_ask_parking_python(s.address()));
  const std::uint64_t began = machine::ticks();
  const bool added = s.add();  // the semaphore may be gone now
  if (added) record::futex_woken(word, true, began);
  return added;
}

struct semaphore_recorder : posix::nobody_watches_semaphore {
  static int take(real_semaphore& s, posix::limit until) {
    semaphore_object& o = semaphore_object::of(s.address());
    if (o.parks()) {
      if (const void* const word = pythons_parked_for(s.address()))
        return wait_parked(s, word, until);
      o.begin_life(semaphore_object::use::any);
    }
    const record::interpreter_calls calls(is_pythons(s));
    const std::uint32_t id = identify(s.address());
    const bool had_taken_it = o.has_room() && mine.has(o);
    const auto kind = [&o, id](bool is_lock) {
      return (o.has_room() ? is_lock : record::is_used_as_lock(id)) ? wait_kind::semaphore_lock
                                                                    : wait_kind::semaphore;
    };
    // Who has it already waits for another's post.
    const bool is_held = o.is_lock() && !had_taken_it;
    const int holder = is_held ? semaphore_object::load(o.owner) : 0;
    record::wait w = record::wait_begin(kind(is_held), id, static_cast<std::uint32_t>(holder),
                                        {s.caller(), until != nullptr, o.has_room()});
    int error;
    take_cancelable(w, s, until, &error);
    if (had_taken_it && error == 0) o.set_posted(last_post::signal_for_good);
    w.kind = kind(o.posted() == last_post::release);
    if (w.kind == wait_kind::semaphore) record::wait_end_now(w);
    else if (error != 0) record::wait_in_vain(w);
    else record::wait_end(w, s.address());
    record::forget_frames();
    return error;
  }
  static void tried(real_semaphore& s, bool taken) {
    semaphore_object& o = semaphore_object::of(s.address());
    o.set_tried();
    if (taken) {
      if (record::trying_for == s.address()) record::got_at_last(s.address());
      return;
    }
    const record::interpreter_calls calls(is_pythons(s));
    record::keep_frames();
    if (o.is_lock()) {
      record::tried_in_vain(identify(s.address()), s.address(),
                            static_cast<std::uint32_t>(semaphore_object::load(o.owner)),
                            s.caller());
    }
  }
  static void taken(real_semaphore& s) {
    semaphore_object& o = semaphore_object::of(s.address());
    if (o.parks()) return record::futex_waited(pythons_woken_for(s.address()));
    if (!o.has_room()) {
      const record::interpreter_calls calls(is_pythons(s));
      record::shared_semaphore_taken(s.address());
      return record::taken(object_kind::semaphore, 0, s.address());
    }
    semaphore_object::store(o.owner, machine::self());
    mine.add(o);
    const std::uint32_t n = __atomic_add_fetch(&o.count, 1, __ATOMIC_RELAXED);  // [V]
    if (!record::is_sampled(n)) return;
    const record::interpreter_calls calls(is_pythons(s));
    record::counted(object_kind::semaphore, 0, s.address(), o.slot(), &o.count, n);
  }
  static bool add(real_semaphore& s) {
    semaphore_object& o = semaphore_object::of(s.address());
    if (o.parks()) return wake_parked(s);
    if (!o.has_room()) {
      const bool contended = semaphore_object::load(o.waiters) != 0;
      const record::interpreter_calls calls(is_pythons(s));
      record::shared_semaphore_posted(s.address(), contended, machine::ticks());
      return s.add();
    }
    const bool was_last = semaphore_object::load(o.owner) == machine::self();
    const bool is_release = mine.remove(o) || was_last;
    if (o.posted() != last_post::signal_for_good)
      o.set_posted(is_release ? last_post::release : last_post::signal);
    if (was_last) semaphore_object::store(o.owner, 0);
    const bool contended = is_release && semaphore_object::load(o.waiters) != 0;
    const std::uint64_t ended = record::hold_ends(s.address(), contended);
    const std::uint32_t id = ended != 0 ? o.slot_ : 0;
    const record::interpreter_calls calls(is_pythons(s));
    const bool added = s.add();  // the semaphore may be gone now
    if (ended != 0) record::released(s.address(), id, contended, ended);
    return added;
  }
  static void destroyed(real_semaphore& s) {
    semaphore_object& o = semaphore_object::of(s.address());
    if (o.parks()) return;
    const std::uint32_t taken = o.has_room() ? o.count : 0;
    record::object_destroyed(object_kind::semaphore, s.address(), o.slot(), taken);
  }
};

int as_result(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int wait_recorded(sem_t* s, posix::limit until, const void* caller) {
  return posix::wait_semaphore(real_semaphore(s, caller), semaphore_recorder(), until);
}

int wait_recorded_until(sem_t* s, clockid_t clock, const timespec* at, const void* caller) {
  const posix::early_limit until(clock, *at);
  return as_result(until ? wait_recorded(s, until.get(), caller) : EINVAL);
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int sem_init(sem_t* s, int shared, unsigned value) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_init(s, shared, value);
  const int result = real::sem_init(s, shared, value);
  semaphore_object& o = semaphore_object::of(s);
  if (result != 0 || !o.has_room()) return result;
  o.count = 0;
  o.owner = 0;
  const void* const caller = __builtin_return_address(0);
  const bool is_pythons = makes_pythons_lock(caller);
  if (!is_pythons && parks_pythons_thread(caller)) {
    o.begin_life(semaphore_object::use::parks);
    const record::interpreter_calls calls(may_ask_parking_python(s));
    record::keep_frames();
    return 0;
  }
  o.begin_life(is_pythons ? semaphore_object::use::pythons : semaphore_object::use::any);
  const record::interpreter_calls calls(is_pythons);
  record::object_created(object_kind::semaphore, 0, s, o.slot(), caller);
  return 0;
}

SYNCOPATE_EXPORT int sem_destroy(sem_t* s) {
  if (record::enabled) posix::destroy_semaphore(real_semaphore(s, nullptr), semaphore_recorder());
  return real::sem_destroy(s);
}

SYNCOPATE_EXPORT int sem_wait(sem_t* s) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_wait(s);
  return as_result(wait_recorded(s, nullptr, __builtin_return_address(0)));
}

SYNCOPATE_EXPORT int sem_timedwait(sem_t* s, const timespec* at) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_timedwait(s, at);
  return wait_recorded_until(s, CLOCK_REALTIME, at, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int sem_clockwait(sem_t* s, clockid_t clock, const timespec* at) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_clockwait(s, clock, at);
  return wait_recorded_until(s, clock, at, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int sem_trywait(sem_t* s) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_trywait(s);
  return as_result(posix::try_wait_semaphore(real_semaphore(s, __builtin_return_address(0)),
                                             semaphore_recorder()));
}

SYNCOPATE_EXPORT int sem_post(sem_t* s) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_post(s);
  return as_result(
      posix::post_semaphore(real_semaphore(s, __builtin_return_address(0)), semaphore_recorder()));
}

SYNCOPATE_ALSO_OLDER(sem_clockwait, "GLIBC_2.30")
SYNCOPATE_ALSO_OLDER(sem_destroy, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(sem_init, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(sem_post, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(sem_timedwait, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(sem_trywait, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(sem_wait, SYNCOPATE_GLIBC_2_2_5)
