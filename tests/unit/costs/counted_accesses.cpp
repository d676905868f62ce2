// Counts the accesses to memory of code that was compiled with -fsanitize=thread (see
// test_header_costs.py): this takes that runtime's place. Stacks do not count; what lies beside the
// thread pointer is the thread's own. Plain members of one word that are written one after the
// other are one store, as a compiler makes them.
#include "counted_accesses.h"

#include <cstddef>
#include <cstdint>
#include <set>

#include <pthread.h>

namespace {
constexpr std::uintptr_t line = 64, word = 8, far = 1u << 16;

access_counts now;
std::uintptr_t low, high, last_written;
std::set<std::uintptr_t> lines;
bool counting;

enum class kind { load, store, plain_store, rmw };

void note(const volatile void* address, kind what) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (!counting || (at >= low && at < high)) return;
  const auto mine = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  const bool is_own = at - (mine - far) < 2 * far;
  const bool goes_on = what == kind::plain_store && last_written == at / word;
  last_written = what == kind::plain_store ? at / word : 0;
  if (goes_on) return;
  access_count& of = is_own ? now.own : now.shared;
  ++(what == kind::load ? of.loads : what == kind::rmw ? of.rmws : of.stores);
  if (lines.insert(at / line).second) ++of.lines;
}
}  // namespace

void begin_counting() {
  pthread_attr_t attributes;
  void* stack;
  std::size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack, &size);
  pthread_attr_destroy(&attributes);
  low = reinterpret_cast<std::uintptr_t>(stack), high = low + size;
  lines.clear();
  now = {};
  last_written = 0;
  counting = true;
}

access_counts end_counting() {
  counting = false;
  return now;
}

// What libsyncopate has.
namespace syncopate::machine {
unsigned thread_index() noexcept { return 0; }
unsigned node() noexcept { return 0; }
unsigned node_count() noexcept { return 1; }
}  // namespace syncopate::machine

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_atomic_signal_fence(int) {}
void __tsan_atomic_thread_fence(int) {}

#define OF_SIZE(n)                                                \
  void __tsan_read##n(void* a) { note(a, kind::load); }           \
  void __tsan_unaligned_read##n(void* a) { note(a, kind::load); } \
  void __tsan_write##n(void* a) { note(a, kind::plain_store); }   \
  void __tsan_unaligned_write##n(void* a) { note(a, kind::plain_store); }
OF_SIZE(1)
OF_SIZE(2) OF_SIZE(4) OF_SIZE(8) OF_SIZE(16) void __tsan_read_range(void* a, std::size_t) {
  note(a, kind::load);
}
void __tsan_write_range(void* a, std::size_t) { note(a, kind::plain_store); }

#define CHANGES(bits, type, name, builtin)                            \
  type __tsan_atomic##bits##_##name(volatile type* a, type by, int) { \
    note(a, kind::rmw);                                               \
    return builtin(a, by, __ATOMIC_SEQ_CST);                          \
  }
#define EXCHANGES(bits, type, name)                                                              \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile type* a, type* old, type next, int, \
                                                    int) {                                       \
    note(a, kind::rmw);                                                                          \
    return __atomic_compare_exchange_n(a, old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define ATOMIC(bits, type)                                                                    \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type* a, type old, type next, int, \
                                                  int) {                                      \
    note(a, kind::rmw);                                                                       \
    __atomic_compare_exchange_n(a, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
    return old;                                                                               \
  }                                                                                           \
  type __tsan_atomic##bits##_load(const volatile type* a, int) {                              \
    note(a, kind::load);                                                                      \
    return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                              \
  }                                                                                           \
  void __tsan_atomic##bits##_store(volatile type* a, type next, int) {                        \
    note(a, kind::store);                                                                     \
    __atomic_store_n(a, next, __ATOMIC_SEQ_CST);                                              \
  }                                                                                           \
  CHANGES(bits, type, exchange, __atomic_exchange_n)                                          \
  CHANGES(bits, type, fetch_add, __atomic_fetch_add)                                          \
  CHANGES(bits, type, fetch_sub, __atomic_fetch_sub)                                          \
  CHANGES(bits, type, fetch_and, __atomic_fetch_and)                                          \
  CHANGES(bits, type, fetch_or, __atomic_fetch_or)                                            \
  CHANGES(bits, type, fetch_xor, __atomic_fetch_xor)                                          \
  EXCHANGES(bits, type, strong)                                                               \
  EXCHANGES(bits, type, weak)
ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)
}
