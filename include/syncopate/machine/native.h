// native.h -- the contract of machine.h on real Linux hardware. The only place, with
// src/native, where instructions and system calls of one architecture may stand.
//
// Memory order (each tag stands at its site below)
//   [L]  relaxed: what was learned of the machine, and that a handler is registered. Each value is
//        right by itself; who does not see it learns it again.
//   [W]  acquire load of fork_word, and acq_rel CAS of it: the word in the new page has its value.
//   [G]  relaxed: a child's only thread writes the generation and whom it was forked from before it
//        starts others.
#pragma once

#include <syncopate/machine/fast_tls.h>
#include <syncopate/machine/htm.h>
#include <syncopate/machine/nap.h>
#include <syncopate/machine/poll_rate.h>
#include <syncopate/machine/processor_mask.h>
#include <syncopate/machine/system_call.h>
#include <syncopate/machine/types.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <new>
#include <type_traits>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace syncopate::machine {

inline constexpr bool is_modeled = false;

// One poll: tells the processor that this is a spin loop. Never blocks.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

// How many relax() last about `steps` steps of 40 ticks here; at least one for one step. So a
// budget of polls is a time: PAUSE takes 10 ticks on some processors and 140 on others. Elsewhere
// than on x86-64 a step is one relax(). The first call measures (some microseconds).
// Async-signal-safe.
[[nodiscard]] inline std::uint32_t polls(std::uint32_t steps) noexcept {
#if defined(__x86_64__)
  const std::uint32_t rate = detail::polls_per_step.load(std::memory_order_relaxed);  // [L]
  return detail::scaled(__builtin_expect(rate != 0, 1) ? rate : detail::learn_polls(), steps);
#else
  return steps;
#endif
}

// Asks for the address's cache line, to read or to write it; a hint, which never faults. The empty
// instruction is the side effect that keeps compilers from dropping functions and loops that do
// nothing else. Compilers that may not assume PREFETCHW make a read of the builtin; processors
// without it do nothing.
inline void prefetch(const void* address) noexcept {
  __builtin_prefetch(address, 0, 3);
  asm volatile("" ::"r"(address));
}
inline void prefetch_to_write(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" ::"m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1, 3);
  asm volatile("" ::"r"(address));
#endif
}

// Moves the address's line toward the cache that all processors share, so that the next of them
// need not ask this one's; a hint, which never faults. Older processors do nothing.
inline void demote([[maybe_unused]] const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("cldemote %0" ::"m"(*static_cast<const char*>(address)));
#endif
}

// The cheap clock: monotonic ticks, comparable between processors where the kernel says that the
// time stamp counter is invariant. Unit: 1 / ticks_per_second() seconds.
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
#endif
}

// The futex call, past the C library. Returns -errno on errors.
inline long futex(const void* address, int operation, std::uint32_t value, const timespec* timeout,
                  const void* address2, std::uint32_t value3) noexcept {
  return system_call(SYS_futex, reinterpret_cast<long>(address), operation,
                     static_cast<long>(value), reinterpret_cast<long>(timeout),
                     reinterpret_cast<long>(address2), static_cast<long>(value3));
}

// Lasts about `steps` steps; the back-off delay of tatas and ticket locks.
inline void spin(std::uint32_t steps) noexcept {
  for (std::uint32_t left = polls(steps); left != 0; --left) relax();
  detail::nap_if_late(ticks());
}

// Lets another runnable thread have this processor. Never fails. Past the C library, whose name our
// preload library records.
inline void yield() noexcept {
  system_call(SYS_sched_yield);
  detail::nap_if_late(ticks());
}

// CLOCK_MONOTONIC in nanoseconds. Async-signal-safe.
[[nodiscard]] inline std::uint64_t now() noexcept {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

namespace detail {
// Measures the tick rate against CLOCK_MONOTONIC; takes about 0.2 ms.
inline std::uint64_t measure_ticks_per_second() noexcept {
  const std::uint64_t t0 = now(), c0 = ticks();
  std::uint64_t t1 = t0;
  while (t1 - t0 < 200'000) t1 = now();
  const std::uint64_t c1 = ticks();
  return (c1 - c0) * 1'000'000'000u / (t1 - t0);
}
inline constinit std::atomic<std::uint64_t> tick_rate{0};
}  // namespace detail

// Ticks in one second. The first call measures (0.2 ms); later calls read. Async-signal-safe.
[[nodiscard]] inline std::uint64_t ticks_per_second() noexcept {
  std::uint64_t rate = detail::tick_rate.load(std::memory_order_relaxed);  // [L]
  if (rate == 0) {
    rate = detail::measure_ticks_per_second();
    detail::tick_rate.store(rate, std::memory_order_relaxed);  // [L]
  }
  return rate;
}

#if defined(__x86_64__) && defined(RSEQ_SIG)
namespace detail {
inline const volatile struct rseq* rseq_area() noexcept {
  const char* self;
  asm("mov %%fs:0, %0" : "=r"(self));
  return reinterpret_cast<const volatile struct rseq*>(self + __rseq_offset);
}
}  // namespace detail
#endif

// The number of the processor this thread runs on now (a hint: it may move at once).
// A load where the C library has registered a restartable-sequence area, else a system call.
[[nodiscard]] inline unsigned processor() noexcept {
#if defined(__x86_64__) && defined(RSEQ_SIG)
  if (__builtin_expect(__rseq_size != 0, 1)) {
    const int cpu = static_cast<int>(detail::rseq_area()->cpu_id);
    if (__builtin_expect(cpu >= 0, 1)) return static_cast<unsigned>(cpu);
  }
#endif
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0u : static_cast<unsigned>(cpu);
}

namespace detail {
inline constinit std::atomic<int> usable_processors{0};
}  // namespace detail

// How many processors this process may use (affinity mask at the first call). Async-signal-safe.
[[nodiscard]] inline unsigned processors() noexcept {
  int n = detail::usable_processors.load(std::memory_order_relaxed);  // [L]
  if (n == 0) {
    n = std::max(detail::processor_mask().count(), 1);
    detail::usable_processors.store(n, std::memory_order_relaxed);  // [L]
  }
  return static_cast<unsigned>(n);
}

// From now on processors() is at least `count`, for whoever knows better: by itself it counts what
// its first caller may use, and that is one where the caller is bound. Any thread.
inline void learn_processors(int count) noexcept {
  if (count > static_cast<int>(processors()))
    detail::usable_processors.store(count, std::memory_order_relaxed);  // [L]
}

// Whether a thread that spins can be overtaken by a running holder at all: false on one usable
// processor. Async-signal-safe.
[[nodiscard]] inline bool may_spin() noexcept { return processors() > 1; }

// Spins until predicate(value) holds for a value read with `order`; returns that value.
// Blocking. Requires: another thread makes the predicate true.
template <class T, class Predicate>
T wait_until(const std::atomic<T>& word, std::memory_order order, Predicate predicate) noexcept {
  for (std::uint32_t polled = 1;; ++polled) {
    const T value = word.load(order);
    if (predicate(value)) return value;
    relax();
    if (polled % detail::polls_between_looks == 0) [[unlikely]]
      detail::nap_if_late(ticks());
  }
}

// The same with a limit: returns false when ticks() passes `until` first.
template <class T, class Predicate>
bool wait_until(const std::atomic<T>& word, std::memory_order order, Predicate predicate,
                std::uint64_t until) noexcept {
  for (;;) {
    if (predicate(word.load(order))) return true;
    if (static_cast<std::int64_t>(ticks() - until) >= 0) return false;
    relax();
  }
}

// Nanoseconds until the deadline on its own clock; negative when it has passed. Saturates.
[[nodiscard]] inline std::int64_t remaining(const deadline& until) noexcept {
  timespec t;
  ::clock_gettime(until.clock, &t);
  const std::int64_t seconds = static_cast<std::int64_t>(until.at.tv_sec) - t.tv_sec;
  if (seconds > 4'000'000'000) return INT64_MAX;
  if (seconds < -4'000'000'000) return INT64_MIN;
  return seconds * 1'000'000'000 + (until.at.tv_nsec - t.tv_nsec);
}

// Sleeps while the 32-bit word holds `expected`, at most until the deadline. May return early
// (woken without cause); the caller re-reads. A cancellation point: no. Async-signal-safe.
inline park_result park(const void* word, std::uint32_t expected, const deadline* until = nullptr,
                        std::uint32_t bitset = FUTEX_BITSET_MATCH_ANY,
                        bool process_shared = false) noexcept {
  int operation = FUTEX_WAIT_BITSET | (process_shared ? 0 : FUTEX_PRIVATE_FLAG);
  if (until != nullptr && until->clock == CLOCK_REALTIME) operation |= FUTEX_CLOCK_REALTIME;
  const long result =
      futex(word, operation, expected, until != nullptr ? &until->at : nullptr, nullptr, bitset);
  switch (result) {
    case 0: return park_result::woken;
    case -ETIMEDOUT: return park_result::timed_out;
    case -EINTR: return park_result::interrupted;
    default: return park_result::value_changed;
  }
}

// Wakes up to `count` threads parked on the address, the longest-parked first. Uses the address
// only, never what is there: the object may already be destroyed. Returns how many it woke.
inline int wake(const void* address, int count, std::uint32_t bitset = FUTEX_BITSET_MATCH_ANY,
                bool process_shared = false) noexcept {
  const int operation = FUTEX_WAKE_BITSET | (process_shared ? 0 : FUTEX_PRIVATE_FLAG);
  const long result =
      futex(address, operation, static_cast<std::uint32_t>(count), nullptr, nullptr, bitset);
  return result < 0 ? 0 : static_cast<int>(result);
}

namespace detail {
inline constexpr std::uint32_t unknown_processor = 0xffff;
struct thread_identity {
  int id = 0;
  const volatile std::uint32_t* processor = &unknown_processor;
  std::uint32_t tally = 0;
};
inline thread_local constinit thread_identity me SYNCOPATE_FAST_TLS;
inline constinit std::atomic<bool> fork_handled{false};

// A word in a page that the kernel clears in the child of a fork: tells a child from its parent
// without depending on the order of fork handlers, and behind any way to fork.
inline constinit std::atomic<std::atomic<std::uint32_t>*> fork_word{nullptr};
inline constinit std::atomic<std::uint32_t> unwiped_word{1};  // where the kernel cannot do it
inline constinit std::atomic<std::uint32_t> last_generation{1};
inline constinit std::atomic<int> forked_from{0};

[[gnu::noinline, gnu::cold]] inline std::uint32_t new_generation() noexcept {
  std::atomic<std::uint32_t>* word = fork_word.load(std::memory_order_acquire);  // [W]
  if (word == nullptr) {
    void* const page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::atomic<std::uint32_t>* fresh = &unwiped_word;
    if (page != MAP_FAILED && ::madvise(page, 4096, MADV_WIPEONFORK) == 0)
      fresh = new (page)
          std::atomic<std::uint32_t>(last_generation.load(std::memory_order_relaxed));  // [G]
    if (fork_word.compare_exchange_strong(word, fresh, std::memory_order_acq_rel))      // [W]
      word = fresh;
    else if (page != MAP_FAILED) ::munmap(page, 4096);
    return word->load(std::memory_order_relaxed);  // [G]
  }
  // Wiped: this is a child. The first to notice is the thread that forked.
  std::uint32_t wiped = 0;
  const std::uint32_t next = last_generation.load(std::memory_order_relaxed) + 1;            // [G]
  if (!word->compare_exchange_strong(wiped, next, std::memory_order_relaxed)) return wiped;  // [G]
  last_generation.store(next, std::memory_order_relaxed);                                    // [G]
  forked_from.store(me.id, std::memory_order_relaxed);                                       // [G]
  me.id = 0;
  return next;
}
}  // namespace detail

// A number that differs between a process and the children it forks (1 and up): state that names
// other threads of the process is stale when it carries another generation. Async-signal-safe.
[[nodiscard]] inline std::uint32_t fork_generation() noexcept {
  const std::atomic<std::uint32_t>* const word =
      detail::fork_word.load(std::memory_order_acquire);  // [W]
  const std::uint32_t generation =
      word != nullptr ? word->load(std::memory_order_relaxed) : 0;  // [G]
  return __builtin_expect(generation != 0, 1) ? generation : detail::new_generation();
}

// The id that the thread which forked this process had in its parent; 0 if this process's image was
// not forked. What that thread held at the fork is held by its successor here.
[[nodiscard]] inline int forked_from() noexcept {
  return fork_generation() > 1 ? detail::forked_from.load(std::memory_order_relaxed) : 0;  // [G]
}

namespace detail {
// Null: the C library is one whose threads are in a library of their own, which is not loaded.
static int clock_of(pthread_t, clockid_t*) noexcept
    __attribute__((weakref("pthread_getcpuclockid")));

// The kernel names the clock of a thread's processor time by the thread's id. So the C library's
// answer tells that id without a system call, which a sandbox may forbid: its own locks make none.
inline int id_of_clock(clockid_t clock) noexcept { return ~(clock >> 3); }

inline int ask_self() noexcept {
  clockid_t clock;
  if (clock_of != nullptr && clock_of(::pthread_self(), &clock) == 0) return id_of_clock(clock);
  return static_cast<int>(system_call(SYS_gettid));
}

[[gnu::noinline, gnu::cold]] inline int learn_self() noexcept {
  (void)fork_generation();
  if (!fork_handled.exchange(true, std::memory_order_relaxed))  // [L]
    ::pthread_atfork(nullptr, nullptr, [] { (void)fork_generation(); });
#if defined(__x86_64__) && defined(RSEQ_SIG)
  if (__rseq_size != 0) me.processor = &rseq_area()->cpu_id;
#endif
  return me.id = ask_self();
}
}  // namespace detail

// The kernel's id of the calling thread. One load after the first call, and no system call.
[[nodiscard]] inline int self() noexcept {
  const int id = detail::me.id;
  return __builtin_expect(id != 0, 1) ? id : detail::learn_self();
}

// The same without asking the kernel: 0 until this thread has called self() once.
[[nodiscard]] inline int known_self() noexcept { return detail::me.id; }

// True once in `period` calls of this thread: for what is worth doing now and then only.
[[nodiscard]] inline bool now_and_then(std::uint32_t period) noexcept {
  return ++detail::me.tally % period == 0;
}

// processor() in two loads, for threads whose known_self() is not 0; no_processor where the C
// library registered no restartable-sequence area.
inline constexpr std::uint32_t no_processor = 0xffff;
[[nodiscard]] inline std::uint32_t processor_hint() noexcept { return *detail::me.processor; }

// Dense number of the calling thread: 0, 1, 2, ...; the lowest free one, given back when the thread
// ends. In libsyncopate (src/native/thread_index.cpp).
[[nodiscard]] unsigned thread_index() noexcept;

// Memory node of the processor this thread runs on: 0 <= node < node_count(), in hwloc's logical
// order; 0 where the topology is unknown. In libsyncopate (src/native/topology.cpp).
[[nodiscard]] unsigned node() noexcept;
[[nodiscard]] unsigned node_count() noexcept;

}  // namespace syncopate::machine

// What needs the contract's words itself: monitor waits, asymmetric fences, the price of a sleep.
#include <syncopate/machine/asymmetric_fence.h>
#include <syncopate/machine/monitor.h>
#include <syncopate/machine/wake_latency.h>
