// usage.h -- what a thread has used up so far: processor time, and how often it left its processor.
#pragma once

#include <cstdint>
#include <ctime>

#include <sys/resource.h>

#include "record/system.h"

namespace syncopate::record {

// What a clock of processor time says, in nanoseconds; 0 when there is none.
inline std::uint64_t cpu_time(clockid_t clock) noexcept {
  timespec time{};
  if (sys::call(SYS_clock_gettime, clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Another thread's clock of processor time, as the kernel makes ids of them
// (include/linux/posix-timers_types.h): the complement of its id, then "of a thread" and "as the
// scheduler counts".
inline clockid_t cpu_clock_of(std::uint32_t thread_id) noexcept {
  return static_cast<clockid_t>(~thread_id << 3 | 4 | 2);
}

struct usage {
  std::uint64_t cpu_ns = 0;
  std::uint32_t sleeps = 0;       // left the processor by itself; each ends with a wake-up
  std::uint32_t preemptions = 0;  // was taken off it

  friend usage operator-(const usage& a, const usage& b) noexcept {
    return {a.cpu_ns - b.cpu_ns, a.sleeps - b.sleeps, a.preemptions - b.preemptions};
  }
};

// Of the calling thread. Two system calls. (The processor time that getrusage tells is as old as
// the last tick of the kernel's timer; that of the clock is not.)
inline usage thread_usage() noexcept {
  rusage of{};
  sys::call(SYS_getrusage, RUSAGE_THREAD, &of);
  return {cpu_time(CLOCK_THREAD_CPUTIME_ID), static_cast<std::uint32_t>(of.ru_nvcsw),
          static_cast<std::uint32_t>(of.ru_nivcsw)};
}

}  // namespace syncopate::record
