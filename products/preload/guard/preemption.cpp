// preemption.cpp -- what preemption.h promises.

#include "preload/guard/preemption.h"

#include <syncopate/machine/system_call.h>

#include <atomic>

#include <sys/syscall.h>

#include "preload/guard/holder_watch.h"
#include "preload/guard/slice_extension.h"
#include "preload/log/guard_log.h"
#include "record/usage.h"

namespace syncopate::shim {
namespace {

struct running_kernel {
  static volatile unsigned char* area() noexcept {
#if defined(__x86_64__) && defined(RSEQ_SIG)
    if (__rseq_size == 0) return nullptr;
    // const is the machine's promise for its own use: the area is this thread's.
    return reinterpret_cast<volatile unsigned char*>(
        const_cast<volatile struct rseq*>(machine::detail::rseq_area()));
#else
    return nullptr;
#endif
  }
  static long prctl(long option, long command, long argument) noexcept {
    return machine::system_call(SYS_prctl, option, command, argument, 0, 0, 0);
  }
  static long yield() noexcept {
    return machine::system_call(slice_abi::yield_call, 0, 0, 0, 0, 0, 0);
  }
};

struct sections {
  slice_extension<running_kernel> slice;
  std::uint32_t depth = 0;
};
thread_local constinit sections mine [[gnu::tls_model("initial-exec")]];

constinit std::atomic<std::uint64_t> granted{0}, sleeps{0};
constinit std::atomic<slice_state> kernel_says{slice_state::unknown};

constexpr std::uint32_t looks_apart = 40'000;  // ticks of polling: 20 us at 2 GHz
constexpr std::int64_t first_nap = 50'000, longest_nap = 1'000'000;  // ns

// The clock of a thread of this process, as glibc's pthread_getcpuclockid makes it.
clockid_t clock_of(int thread) noexcept { return (~static_cast<clockid_t>(thread) << 3) | 6; }

holder_look look_at(int holder) noexcept {
  holder_look now{holder, machine::now(), 0, false};
  if (holder == 0) return now;
  now.ran = record::cpu_time(clock_of(holder));
  now.known = now.ran != 0;
  return now;
}

bool poll(const lock_in_use& lock, std::uint64_t until) noexcept {
  while (static_cast<std::int64_t>(machine::ticks() - until) < 0) {
    if (!lock.lock->is_locked(lock.state) && lock.lock->try_lock(lock.state)) return true;
    machine::relax();
  }
  return false;
}

void nap(std::int64_t ns) noexcept {
  static const std::uint32_t nobody_wakes = 0;
  const machine::deadline until = machine::after(ns);
  machine::park(&nobody_wakes, 0, &until);
}

}  // namespace

void section_begins() noexcept {
  if (mine.depth++ != 0) return;
  mine.slice.enter();
  if (kernel_says.load(std::memory_order_relaxed) == slice_state::unknown)  // [K]
    kernel_says.store(mine.slice.enable(), std::memory_order_relaxed);      // [K]
}

void section_ends() noexcept {
  if (mine.depth == 0 || --mine.depth != 0) return;  // 0: another thread's section
  if (mine.slice.leave()) granted.fetch_add(1, std::memory_order_relaxed);  // [S]
}

bool minds_holder(const lock_in_use& lock) noexcept {
  if (mine.slice.enable() == slice_state::enabled) return false;
  return lock.lock->keeps_polling;
}

bool acquire_minding_holder(mutex_object& o, const lock_in_use& lock,
                            const machine::deadline* until) noexcept {
  holder_look before;
  std::int64_t next_nap = first_nap;
  for (;;) {
    if (poll(lock, machine::ticks() + looks_apart)) return true;
    if (until != nullptr && machine::remaining(*until) <= 0) return false;
    const holder_look now = look_at(o.owner);
    if (advise_waiter(before, now) == wait_advice::sleep) {
      sleeps.fetch_add(1, std::memory_order_relaxed);  // [S]
      nap(next_nap);
      if (next_nap < longest_nap) next_nap *= 2;
    } else {
      next_nap = first_nap;
    }
    before = now;
  }
}

void report_preemption() noexcept {
  const slice_state says = kernel_says.load(std::memory_order_relaxed);  // [K]
  if (says == slice_state::enabled)
    guard_line({"the kernel extended time slices of sections ",
                number(granted.load(std::memory_order_relaxed)), " times"});  // [S]
  else
    guard_line({"this kernel does not extend time slices; waiters slept ",
                number(sleeps.load(std::memory_order_relaxed)),  // [S]
                " times because the holder did not run"});
}

}  // namespace syncopate::shim
