// nap.h -- real threads that only poll or yield sleep now and then.
//
// A thread with a real-time priority keeps its processor from all threads with lower ones, however
// often it yields; if one of them holds the lock, both would wait for ever. So who has only polled
// or yielded for about 5 ms sleeps 50 us, by the one call that every sandbox allows. Several such
// threads on one processor: each must nap while the one above does, though it runs for no longer;
// so a wait goes on across all pauses that are shorter than 40 ms (tests/posix/test_realtime.cpp).
#pragma once

#include <syncopate/machine/system_call.h>

#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>

namespace syncopate::machine::detail {

#if defined(__x86_64__)
inline constexpr std::uint64_t ticks_to_nap = std::uint64_t{1} << 24;
#else  // of clocks between 25 MHz and 1 GHz
inline constexpr std::uint64_t ticks_to_nap = std::uint64_t{1} << 20;
#endif
inline constexpr std::uint64_t ticks_of_pause = 8 * ticks_to_nap;
inline constexpr std::uint32_t polls_between_looks = 256;

struct waking_time {
  std::uint64_t since = 0, last = 0;  // ticks
};
inline thread_local constinit waking_time awake [[gnu::tls_model("initial-exec")]];

[[gnu::noinline, gnu::cold]] inline void nap() noexcept {
  const std::uint32_t word = 0;
  const timespec length{0, 50'000};
  system_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0,
              reinterpret_cast<long>(&length));
}

// Who waits calls it at each yield, or every so many polls. Async-signal-safe.
inline void nap_if_late(std::uint64_t now) noexcept {
  if (now - awake.last > ticks_of_pause) awake.since = now;
  awake.last = now;
  if (now - awake.since <= ticks_to_nap) [[likely]]
    return;
  nap();
  awake.since = now;
}

}  // namespace syncopate::machine::detail
