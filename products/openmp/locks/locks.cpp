// locks.cpp -- the table of locks, made from locks/all.h; waits on them, recorded.

#include "openmp/locks/locks.h"

#include "openmp/config.h"
#include "openmp/locks/offered.h"
#include "openmp/locks/word_lock.h"
#include "record/recorder.h"

namespace syncopate::openmp {
namespace {

struct rows {
  template <class Lock>
  static constexpr bool has = is_for_openmp<Lock>;
  template <class Lock>
  static constexpr erased_lock make(const lock_entry<Lock>& entry) noexcept {
    static_assert(fits_pool<Lock> && alignof(Lock) <= 8);
    return erase<Lock>(entry);
  }
};

constexpr auto all = make_lock_table<rows>();
// The default: it needs no look-up, and is the cheapest to pass on between few threads.
constexpr erased_lock asymmetric =
    erase<word_lock>(lock_entry<word_lock>{"asymmetric", "asymmetric_lock.h", "", true});

void note_taken(const void* identity) noexcept {
  record::taken(record::object_kind::mutex, 0, identity);
}

[[gnu::noinline]] void lock_recorded(void* object, const void* identity) noexcept {
  if (!config.lock->try_lock(object)) {
    record::wait w =
        record::wait_begin(record::wait_kind::mutex,
                           record::identify(record::object_kind::mutex, 0, identity, nullptr), 0);
    config.lock->lock(object);
    record::wait_end(w, identity);
  }
  note_taken(identity);
}

}  // namespace

const erased_lock* find_lock(std::string_view specification) noexcept {
  return is_called(asymmetric, specification) ? &asymmetric
                                              : syncopate::find_lock(all, specification);
}

void lock_object_at(void* object, const void* identity) noexcept {
  if (__builtin_expect(record::enabled, 0)) lock_recorded(object, identity);
  else config.lock->lock(object);
}

void unlock_object_at(void* object, const void* identity) noexcept {
  if (__builtin_expect(record::enabled, 0) && record::may_be_measured(identity)) {
    const std::uint32_t id = record::identify(record::object_kind::mutex, 0, identity, nullptr);
    const bool contended = config.lock->contended(object);
    const std::uint64_t ended = record::hold_ends(identity, contended);
    config.lock->unlock(object);
    if (ended != 0) record::released(identity, id, contended, ended);
    return;
  }
  config.lock->unlock(object);
}

bool try_lock_object_at(void* object, const void* identity) noexcept {
  if (!config.lock->try_lock(object)) return false;
  if (__builtin_expect(record::enabled, 0)) note_taken(identity);
  return true;
}

void lock_word(void* word) noexcept { lock_object_at(lock_object(*config.lock, word), word); }

bool try_lock_word(void* word) noexcept {
  return try_lock_object_at(lock_object(*config.lock, word), word);
}

void unlock_word(void* word) noexcept { unlock_object_at(held_object(*config.lock, word), word); }

}  // namespace syncopate::openmp
