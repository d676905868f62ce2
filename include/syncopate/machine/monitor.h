// monitor.h -- native: waits until a word changes while the processor sleeps, by what the
// self-test found here: UMWAIT, MWAITX, WFE, or PAUSE in a loop.
//
// Each wait re-checks the word between arming the monitor and sleeping (a store in between would
// be missed for good), and after each wake-up: interrupts, the system's limit, a neighbor on the
// line, or a thread that moved to another processor are false wake-ups. No sleep is longer than
// `patience`, since a thread that moves after arming may sleep on a monitor of somebody else's.
//
// Memory order (each tag stands at its site below)
//   [X]  relaxed: it decides only whether to sleep; the caller loads again with its own order.
//   [L]  relaxed: what the self-test has found. Who does not see it tries again.
//   [E]  acquire load that arms: the look at the word comes before the sleep.
#pragma once

#include <syncopate/machine/native.h>  // which includes this one at its end: ticks(), and so on
#include <syncopate/machine/trial.h>
#include <syncopate/machine/types.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <type_traits>

#if defined(__x86_64__)
#include <cpuid.h>
#include <syncopate/machine/monitor_x86.h>
#endif

namespace syncopate::machine {

// The instructions that a monitor wait uses. `polling`: the processor has none, or not for us.
enum class monitor_family : unsigned char { unknown, polling, waitpkg, monitorx, wfe };

namespace detail {
inline constinit std::atomic<monitor_family> monitor_in_use{monitor_family::unknown};

// Ticks of one sleep at most: the limit that Linux gives UMWAIT by default.
inline constexpr std::uint64_t monitor_patience = 100'000;
// A sleep shorter than this is polled instead: falling asleep and waking costs about as much.
inline constexpr std::uint64_t monitor_quantum = 256;

#if defined(__x86_64__)
// Whether CPUID reports a feature (a bit of register ecx of the leaf).
inline bool reported(unsigned leaf, unsigned bit_of_ecx) noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> bit_of_ecx & 1) != 0;
}

inline void try_umwait(int& word) noexcept {
  x86::umonitor(&word);
  x86::umwait(x86::c0::c0_1, __builtin_ia32_rdtsc() + monitor_quantum);
}

inline void try_mwaitx(int& word) noexcept {
  x86::monitorx(&word);
  x86::mwaitx(x86::cstate::c0, monitor_quantum);
}

// Whether CPUID reports the instructions, and they run in a child. Both: some processors execute
// what a hypervisor hides, but not those to which it may move the program.
template <class Body>
bool runs_here(unsigned leaf, unsigned bit_of_ecx, Body body) noexcept {
  int answer = 0;
  return reported(leaf, bit_of_ecx) && run_trial(answer, body) == trial_end::completed;
}
#endif

[[gnu::cold, gnu::noinline]] inline monitor_family learn_monitor() noexcept {
  monitor_family found = monitor_family::polling;
  const int saved_errno = errno;  // locks promise to leave it alone
#if defined(__x86_64__)
  if (runs_here(7, 5, try_umwait)) found = monitor_family::waitpkg;
  else if (runs_here(0x80000001, 29, try_mwaitx)) found = monitor_family::monitorx;
#elif defined(__aarch64__)
  found = monitor_family::wfe;
#endif
  errno = saved_errno;
  monitor_in_use.store(found, std::memory_order_relaxed);  // [L]
  return found;
}

#if defined(__aarch64__)
// Loads the word and arms the exclusive monitor for it: LDAXR. A store of another thread then is an
// event that ends WFE; so is the kernel's event stream, every 100 microseconds or so.
template <class T>
T load_and_arm(const std::atomic<T>& word) noexcept {
  std::uint64_t bits;
  if constexpr (sizeof(T) == 8)
    asm volatile("ldaxr %0, %1" : "=r"(bits) : "Q"(word) : "memory");  // [E]
  else if constexpr (sizeof(T) == 4)
    asm volatile("ldaxr %w0, %1" : "=r"(bits) : "Q"(word) : "memory");  // [E]
  else if constexpr (sizeof(T) == 2)
    asm volatile("ldaxrh %w0, %1" : "=r"(bits) : "Q"(word) : "memory");     // [E]
  else asm volatile("ldaxrb %w0, %1" : "=r"(bits) : "Q"(word) : "memory");  // [E]
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(bits);
  else return static_cast<T>(bits);
}
#endif

// One sleep at most until `until`, unless predicate(word) holds by then. May return at any time.
template <class T, class Predicate>
void doze_on(const std::atomic<T>& word, Predicate& predicate, sleep_depth depth,
             std::uint64_t until, monitor_family family) noexcept {
#if defined(__x86_64__)
  const std::uint64_t start = ticks();
  // The limit may have passed since the caller looked.
  const auto remaining = static_cast<std::int64_t>(until - start);
  if (family == monitor_family::polling || remaining < static_cast<std::int64_t>(monitor_quantum))
    return relax();
  const auto left = std::min(static_cast<std::uint64_t>(remaining), monitor_patience);
  if (family == monitor_family::waitpkg) {
    x86::umonitor(&word);
    if (predicate(word.load(std::memory_order_relaxed))) return;  // [X]
    x86::umwait(depth == sleep_depth::light ? x86::c0::c0_1 : x86::c0::c0_2, start + left);
  } else {
    x86::monitorx(&word);
    if (predicate(word.load(std::memory_order_relaxed))) return;  // [X]
    x86::mwaitx(depth == sleep_depth::light ? x86::cstate::c0 : x86::cstate::c1,
                static_cast<std::uint32_t>(left));
  }
#elif defined(__aarch64__)
  (void)depth, (void)until;
  if (family == monitor_family::polling) return relax();
  if (!predicate(load_and_arm(word))) asm volatile("wfe" ::: "memory");
#else
  (void)word, (void)predicate, (void)depth, (void)until, (void)family;
  relax();
#endif
}
}  // namespace detail

// What monitor waits use here. The first call tries it (a child process, where CPUID reports it).
[[nodiscard]] inline monitor_family monitor_in_use() noexcept {
  const monitor_family family = detail::monitor_in_use.load(std::memory_order_relaxed);  // [L]
  return __builtin_expect(family != monitor_family::unknown, 1) ? family : detail::learn_monitor();
}

// Whether the processor can sleep on a word, so that waiting long costs little power.
[[nodiscard]] inline bool monitor_usable() noexcept {
  return monitor_in_use() != monitor_family::polling;
}

// For tests: use these instructions from now on. Requires: they run here, or are emulated.
inline void use_monitor(monitor_family family) noexcept {
  detail::monitor_in_use.store(family, std::memory_order_relaxed);  // [L]
}

// Waits until predicate(value) holds for a value read with `order`, and returns that value; the
// processor may sleep. Blocking. Requires: another thread makes the predicate true.
template <class T, class Predicate>
T monitor_wait(const std::atomic<T>& word, std::memory_order order, Predicate predicate,
               sleep_depth depth) noexcept {
  const monitor_family family = monitor_in_use();
  for (;;) {
    const T value = word.load(order);
    if (predicate(value)) return value;
    detail::doze_on(word, predicate, depth, ticks() + detail::monitor_patience, family);
    detail::nap_if_late(ticks());
  }
}

// The same with a limit: returns false when ticks() passes `until` first.
template <class T, class Predicate>
bool monitor_wait(const std::atomic<T>& word, std::memory_order order, Predicate predicate,
                  sleep_depth depth, std::uint64_t until) noexcept {
  const monitor_family family = monitor_in_use();
  for (;;) {
    if (predicate(word.load(order))) return true;
    if (static_cast<std::int64_t>(ticks() - until) >= 0) return false;
    detail::doze_on(word, predicate, depth, until, family);
  }
}

// Passes about that many ticks, asleep where TPAUSE can be had. May return early.
inline void doze(std::uint64_t duration) noexcept {
  detail::nap_if_late(ticks());
  const std::uint64_t start = ticks();
#if defined(__x86_64__)
  if (duration >= detail::monitor_quantum && monitor_in_use() == monitor_family::waitpkg) {
    x86::tpause(x86::c0::c0_1, start + duration);
    return;
  }
#endif
  do relax();
  while (ticks() - start < duration);
}

}  // namespace syncopate::machine
