// htm.h -- hardware transactions of the native machine (Intel RTM). Included by native.h.
//
// begin() returns a second time, with the reason, when the transaction aborts: memory, registers
// and stack are then as they were at the first return. Everything between may run in a caller of
// begin's caller: lock() may begin, unlock() commit.
//
// Memory order
//   [L]  relaxed: what was asked or tried. Who does not see it asks or tries again.
#pragma once

#include <syncopate/machine/types.h>

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace syncopate::machine::htm {

namespace detail {
// -1 not asked yet, 0 no, 1 yes.
inline constinit std::atomic<int> instructions{-1};

[[gnu::noinline, gnu::cold]] inline bool ask_for_instructions() noexcept {
  bool there = false;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  there = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 11 & 1) != 0;
#endif
  instructions.store(there ? 1 : 0, std::memory_order_relaxed);  // [L]
  return there;
}

inline status decode(std::uint32_t bits) noexcept {
  status s;
  s.may_retry = (bits & 2) != 0;
  s.nested = (bits & 32) != 0;
  s.code = static_cast<unsigned char>(bits >> 24);
  if (bits & 1) s.why = cause::explicit_;
  else if (bits & 4) s.why = cause::conflict;
  else if (bits & 8) s.why = cause::capacity;
  return s;
}
}  // namespace detail

// Whether the processor executes the instructions. That transactions commit is another question,
// which machine/probe.h answers by trying. Async-signal-safe.
[[nodiscard]] inline bool usable() noexcept {
  const int known = detail::instructions.load(std::memory_order_relaxed);  // [L]
  return known >= 0 ? known != 0 : detail::ask_for_instructions();
}

// Starts a transaction; see above for the second return. A machine without transactions returns
// cause::other. So does always_abort: no hardware has that mode, and an ordinary transaction in its
// place might commit.
[[nodiscard, gnu::always_inline]] inline status begin(mode how = mode::normal) noexcept {
#if defined(__x86_64__)
  if (how == mode::always_abort || !usable()) return {};
  std::uint32_t bits = ~0u;
  asm volatile(".byte 0xc7, 0xf8\n\t.long 0" : "+a"(bits) : : "memory");  // XBEGIN
  if (bits == ~0u) return {cause::started, 0, false, false};
  return detail::decode(bits);
#else
  (void)how;
  return {};
#endif
}

// Whether the calling thread runs inside a transaction.
[[nodiscard]] inline bool active() noexcept {
#if defined(__x86_64__)
  if (!usable()) return false;
  bool inside;
  asm volatile(".byte 0x0f, 0x01, 0xd6" : "=@ccnz"(inside));  // XTEST
  return inside;
#else
  return false;
#endif
}

// Commits. Requires: active(); a fault otherwise.
inline void commit() noexcept {
#if defined(__x86_64__)
  asm volatile(".byte 0x0f, 0x01, 0xd5" : : : "memory");  // XEND
#endif
}

// Aborts with status{explicit_, Code}; nothing outside a transaction.
template <unsigned char Code>
void abort() noexcept {
#if defined(__x86_64__)
  if (usable()) asm volatile(".byte 0xc6, 0xf8, %c0" : : "i"(Code) : "memory");  // XABORT
#endif
}

namespace detail {
// -1 not tried yet, 0 no, 1 yes.
inline constinit std::atomic<int> ever_commits{-1};

// An interrupt ends one attempt, not all of them.
[[gnu::noinline, gnu::cold]] inline bool try_to_commit() noexcept {
  bool committed = false;
  for (int attempt = 0; attempt < 32 && !committed && usable(); ++attempt) {
    if (!begin().started()) continue;
    commit();
    committed = true;
  }
  ever_commits.store(committed ? 1 : 0, std::memory_order_relaxed);  // [L]
  return committed;
}
}  // namespace detail

// Whether transactions commit here: tried at the first call (some microseconds), remembered after.
// Processors, microcode and hypervisors exist on which usable() holds and every transaction aborts.
[[nodiscard]] inline bool commits() noexcept {
  const int known = detail::ever_commits.load(std::memory_order_relaxed);  // [L]
  return known >= 0 ? known != 0 : detail::try_to_commit();
}

// Tells the machine that a section whose transactions aborted now runs without one: for the
// statistics of machines that keep some.
inline void fell_back() noexcept {}

// How many cache lines the calling thread's last transaction had touched when it ended; 0 where the
// machine does not tell, as no processor does.
[[nodiscard]] inline unsigned lines_touched() noexcept { return 0; }

}  // namespace syncopate::machine::htm
