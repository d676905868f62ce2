// nest_lock.cpp -- see nest_lock.h.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of the runtime, acquire load: who asks it finds its fields.
//   [O]  relaxed: only the owner stores its own identity, and 0 before it unlocks; whoever finds
//        that has stored it itself.

#include "openmp/locks/nest_lock.h"

#include <atomic>
#include <cstring>

#include "openmp/config.h"
#include "openmp/locks/locks.h"

namespace syncopate::openmp {
namespace {

// libgomp's omp_nest_lock_t (OMP_3.0), part of its ABI: its size, and in practice its layout.
struct gnu_nest_lock {
  std::int32_t lock = 0;
  std::int32_t count = 0;
  std::uint64_t owner = 0;
};
static_assert(sizeof(gnu_nest_lock) == 16);

// libgomp's name for the current task: what it writes into a nest lock of ours that is free.
std::uint64_t current_task(const runtime& to) noexcept {
  gnu_nest_lock mine;
  to.real.omp_set_nest_lock(&mine);
  return mine.owner;
}

std::uint64_t caller_identity(const runtime& to) noexcept {
  static thread_local constinit char here [[gnu::tls_model("initial-exec")]] = 0;
  return to.kind == family::gnu ? current_task(to) : reinterpret_cast<std::uint64_t>(&here);
}

std::atomic_ref<std::uint64_t> owner_of(pool_entry& entry) noexcept {
  return std::atomic_ref<std::uint64_t>(entry.owner);
}

// The caller's identity: as the runtime names it through which the lock is held, by whatever
// runtime it is now asked for. No two runtimes give the same name to what lives at one time.
std::uint64_t identity_for(pool_entry& entry, const runtime& to) noexcept {
  const std::atomic_ref<const runtime*> named(entry.named_by);
  const runtime* const by = named.load(std::memory_order_acquire);  // [R]
  return caller_identity(by != nullptr ? *by : to);
}

void own(pool_entry& entry, const runtime& to) noexcept {
  std::atomic_ref<const runtime*>(entry.named_by).store(&to, std::memory_order_release);  // [R]
  owner_of(entry).store(caller_identity(to), std::memory_order_relaxed);                  // [O]
}

}  // namespace

bool can_tell_owners(const runtime& to) noexcept {
  if (to.kind == family::llvm) return true;
  if (to.real.omp_set_nest_lock == nullptr || to.real.omp_unset_nest_lock == nullptr) return false;
  gnu_nest_lock trial[2];  // the second stays untouched
  to.real.omp_set_nest_lock(&trial[0]);
  const bool taken = trial[0].count == 1 && trial[0].owner != 0;
  const std::uint64_t owner = trial[0].owner;
  to.real.omp_set_nest_lock(&trial[0]);
  const bool again = trial[0].count == 2 && trial[0].owner == owner;
  to.real.omp_unset_nest_lock(&trial[0]);
  to.real.omp_unset_nest_lock(&trial[0]);
  const gnu_nest_lock free;
  return taken && again && std::memcmp(trial, &free, sizeof free) == 0 &&
         std::memcmp(trial + 1, &free, sizeof free) == 0;
}

// Relaxed loads of the owner: only the caller itself can have stored its own identity.
void nest_lock(const runtime& to, void* word) noexcept {
  pool_entry& entry = entry_of(static_cast<std::uint32_t*>(word));
  const std::uint64_t me = identity_for(entry, to);
  if (owner_of(entry).load(std::memory_order_relaxed) != me) {  // [O]
    lock_object_at(entry.object, word);
    own(entry, to);
  }
  ++entry.depth;
}

int nest_try_lock(const runtime& to, void* word) noexcept {
  pool_entry& entry = entry_of(static_cast<std::uint32_t*>(word));
  const std::uint64_t me = identity_for(entry, to);
  if (owner_of(entry).load(std::memory_order_relaxed) != me) {  // [O]
    if (!try_lock_object_at(entry.object, word)) return 0;
    own(entry, to);
  }
  return static_cast<int>(++entry.depth);
}

void nest_unlock(void* word) noexcept {
  pool_entry& entry = held_entry(static_cast<std::uint32_t*>(word));
  if (entry.depth == 0 || --entry.depth != 0) return;
  owner_of(entry).store(0, std::memory_order_relaxed);  // [O]
  unlock_object_at(entry.object, word);
}

}  // namespace syncopate::openmp
