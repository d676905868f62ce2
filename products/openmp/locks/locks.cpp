// locks.cpp -- the table of locks, made from locks/all.h; waits on them, recorded.

#include "openmp/locks/locks.h"

#include <syncopate/locks/all.h>

#include <cstddef>
#include <cstring>

#include "openmp/config.h"
#include "openmp/locks/offered.h"
#include "openmp/locks/word_lock.h"
#include "record/recorder.h"

namespace syncopate::openmp {
namespace {

template <class Lock>
constexpr lock_algorithm make(std::string_view name, std::string_view wait, bool is_default) {
  static_assert(sizeof(Lock) <= sizeof(pool_entry::object) && alignof(Lock) <= 8);
  lock_algorithm a{};
  a.name = name.data();
  a.wait = wait.data();
  a.is_default = is_default;
  a.in_place = sizeof(Lock) <= sizeof(std::uint32_t);
  a.lock = [](void* object) { static_cast<Lock*>(object)->lock(); };
  a.try_lock = [](void* object) { return static_cast<Lock*>(object)->try_lock(); };
  a.unlock = [](void* object) { static_cast<Lock*>(object)->unlock(); };
  a.contended = [](const void* object) { return static_cast<const Lock*>(object)->contended(); };
  return a;
}

// The default: it needs no look-up, and is the cheapest to pass on between few threads.
constexpr lock_algorithm asymmetric() { return make<word_lock>("asymmetric", "", true); }

constexpr std::size_t count = [] {
  std::size_t n = 1;
  for_each_lock([&]<class Lock>(lock_entry<Lock>) { n += is_for_openmp<Lock> ? 1 : 0; });
  return n;
}();

struct table {
  lock_algorithm entries[count];
};

constexpr table all = [] {
  table t{{asymmetric()}};
  std::size_t n = 1;
  for_each_lock([&]<class Lock>(lock_entry<Lock> entry) {
    if constexpr (is_for_openmp<Lock>)
      t.entries[n++] = make<Lock>(entry.name, entry.wait, entry.is_default);
  });
  return t;
}();

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

const lock_algorithm* find_lock(const char* specification) noexcept {
  const char* const colon = std::strchr(specification, ':');
  const std::size_t length = colon != nullptr ? static_cast<std::size_t>(colon - specification)
                                              : std::strlen(specification);
  for (const lock_algorithm& a : all.entries)
    if (std::strlen(a.name) == length && std::memcmp(a.name, specification, length) == 0 &&
        (colon == nullptr ? a.is_default : std::strcmp(a.wait, colon + 1) == 0))
      return &a;
  return nullptr;
}

void lock_object_at(void* object, const void* identity) noexcept {
  if (__builtin_expect(record::enabled, 0)) lock_recorded(object, identity);
  else config.lock->lock(object);
}

void unlock_object_at(void* object, const void* identity) noexcept {
  if (__builtin_expect(record::enabled, 0) && record::current_hold.object == identity) {
    const std::uint32_t id = record::identify(record::object_kind::mutex, 0, identity, nullptr);
    const bool contended = config.lock->contended(object);
    const std::uint64_t ended = record::hold_ends(identity, contended);
    config.lock->unlock(object);
    record::released(identity, id, contended, ended);
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

void unlock_word(void* word) noexcept { unlock_object_at(lock_object(*config.lock, word), word); }

}  // namespace syncopate::openmp
