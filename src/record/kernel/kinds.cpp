// kinds.cpp -- see kinds.h. Offsets are those of glibc on x86-64 (nptl's struct pthread_cond_t,
// pthread_rwlock_t and pthread), 2.27 to 2.40.
#include "record/kernel/kinds.h"

#include <string_view>

namespace syncopate::record::kernel {

namespace {

constexpr std::uint32_t command_mask = 127, command_wait = 0, command_wait_bitset = 9,
                        is_private = 128;
constexpr std::uint64_t thread_id_in_descriptor = 720;
constexpr std::uint32_t writer_in_rwlock = 24;
constexpr std::uint64_t writers_at_in_rust = 4;  // of an RwLock's two words the second

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// Names that begin with underscores, or not, by what follows them.
std::string_view bare(std::string_view name) {
  while (!name.empty() && name.front() == '_') name.remove_prefix(1);
  return name;
}

found_kind of_condition(std::string_view function, std::uint64_t address, std::uint32_t operation) {
  // Who signals, or ends it, waits for the lock within, or until those who were woken have left.
  if (!has(function, "wait")) return {wait_kind::mutex, object_kind::mutex, address, false};
  // A plain FUTEX_WAIT is that of its mutex, on the way out; a condition's own has a bit set.
  if ((operation & command_mask) == command_wait)
    return {wait_kind::mutex_relock, object_kind::mutex, address, true};
  return {wait_kind::condition, object_kind::condition, address - (address % 8 == 0 ? 40 : 44),
          false};
}

bool of_pthread(std::string_view name, std::uint64_t address, std::uint32_t operation,
                found_kind& found) {
  if (name.starts_with("new_sem_wait") || name.starts_with("new_sem_timedwait") ||
      name.starts_with("sem_wait") || name.starts_with("sem_timedwait") ||
      name.starts_with("sem_clockwait")) {
    found = {wait_kind::semaphore, object_kind::semaphore, address, false};
  } else if (name.starts_with("pthread_mutex_cond_lock")) {
    found = {wait_kind::mutex_relock, object_kind::mutex, address, true};
  } else if (name.starts_with("pthread_mutex_") || name.starts_with("mtx_")) {
    found = {wait_kind::mutex, object_kind::mutex, address, true};
  } else if (name.starts_with("pthread_cond_") || name.starts_with("cnd_")) {
    found = of_condition(name, address, operation);
  } else if (name.starts_with("pthread_rwlock_")) {
    const bool reads = has(name, "rdlock");
    found = {reads ? wait_kind::read : wait_kind::write, object_kind::rwlock,
             address - (address % 8 == 0 ? 8 : 12), false, writer_in_rwlock};
  } else if (name.starts_with("pthread_barrier_wait")) {
    found = {wait_kind::barrier, object_kind::barrier, address & ~std::uint64_t{7}, false};
  } else if (name.starts_with("pthread_join") || name.starts_with("pthread_timedjoin") ||
             name.starts_with("pthread_clockjoin") || name.starts_with("thrd_join")) {
    found = {wait_kind::join, object_kind::thread, address - thread_id_in_descriptor, false};
  } else {
    return false;
  }
  return true;
}

// The C library's own: malloc's arenas, streams.
bool of_library(std::string_view name, std::uint64_t address, found_kind& found) {
  if (!name.starts_with("lll_lock_wait_private")) return false;
  found = {wait_kind::mutex, object_kind::mutex, address, false};
  return true;
}

// Rust's own locks, in either mangling; its names keep their letters in both.
bool of_rust(std::string_view name, std::uint64_t address, found_kind& found) {
  if (!has(name, "3std3sys") && !has(name, "std3sys")) return false;
  if (has(name, "Mutex") && has(name, "lock_contended"))
    found = {wait_kind::mutex, object_kind::mutex, address, false};
  else if (has(name, "Condvar") && has(name, "wait"))
    found = {wait_kind::condition, object_kind::condition, address, false};
  else if (has(name, "RwLock") && has(name, "read_contended"))
    found = {wait_kind::read, object_kind::rwlock, address, false};
  else if (has(name, "RwLock") && has(name, "write_contended"))
    found = {wait_kind::write, object_kind::rwlock, address - writers_at_in_rust, false};
  else if (has(name, "Parker") && has(name, "park"))
    found = {wait_kind::condition, object_kind::condition, address, false};
  else return false;
  return true;
}

// Go's runtime: its own locks, and threads that it puts aside.
bool of_go(std::string_view name, std::uint64_t address, found_kind& found) {
  if (!name.starts_with("runtime.")) return false;
  if (name.starts_with("runtime.lock2"))
    found = {wait_kind::mutex, object_kind::mutex, address, false};
  else if (name.starts_with("runtime.note") || name.starts_with("runtime.semasleep"))
    found = {wait_kind::condition, object_kind::condition, address, false};
  else return false;
  return true;
}

}  // namespace

bool same_lock(const std::string& one, const std::string& other) {
  found_kind of_one, of_other;
  return of_pthread(bare(one), 0, 0, of_one) && of_pthread(bare(other), 0, 0, of_other) &&
         of_one.kind == of_other.kind;
}

found_kind kind_of(const std::vector<std::string>& functions, const futex_call& call) {
  const auto [address, operation, word_is_thread] = call;
  found_kind found;
  found.address = address;
  // The kernel itself clears and wakes the word with a thread's id when that ends, for all.
  if (word_is_thread && (operation & (is_private | command_mask)) == command_wait_bitset)
    return {wait_kind::join, object_kind::thread, address - thread_id_in_descriptor, false};
  for (const std::string& name : functions) {
    if (of_pthread(bare(name), address, operation, found) ||
        of_library(bare(name), address, found) || of_rust(name, address, found) ||
        of_go(name, address, found))
      break;
  }
  return found;
}

}  // namespace syncopate::record::kernel
