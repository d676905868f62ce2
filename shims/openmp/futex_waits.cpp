// futex_waits.cpp -- what libgomp's own futex calls do once they come to us (futex_patch.h).
//
// A wait is chosen as everywhere (wait/plan.h); a wake calls the kernel only if somebody may sleep.
// libgomp takes any return from a wait for a reason to look again, as the kernel's interface wants.
//
// This file is compiled without vector registers: libgomp's code expects a system call to change
// none.
//
// Invariant
//   F1  Who sleeps on a word was counted (sleep_table.h) before it last looked at the word.
// Memory order: [F] the fences that sleep_table.h asks for. Full: in a barrier one thread wakes
// and all others sleep, and a heavy fence of each costs far more (2 us, and interrupts the others).

#include <syncopate/machine.h>
#include <syncopate/wait/adaptive.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include <linux/futex.h>

#include "openmp/futex_patch.h"
#include "openmp/sleep_table.h"
#include "openmp/team.h"

namespace syncopate::openmp {
thread_local constinit const char* last_woken = nullptr;
}  // namespace syncopate::openmp

#if defined(__x86_64__)

namespace syncopate::openmp {
namespace {

// Of this thread's waits inside libgomp, most of them for the next region.
thread_local constinit waits::history past [[gnu::tls_model("initial-exec")]];

template <class Changed>
bool poll(const std::atomic<std::uint32_t>& word, Changed changed, std::uint64_t start) noexcept {
  const std::uint64_t wake_latency = machine::wake_latency(), expected = past.expected();
  if (oversubscribed()) waits::be_seen();
  const waits::plan how =
      waits::choose({.expected = expected,
                     .wake_latency = wake_latency,
                     .alone = !machine::may_spin(),
                     .crowded = oversubscribed(),
                     .may_yield = true,
                     .monitor = machine::monitor_usable(),
                     .probe = expected > wake_latency && waits::history::probe()});
  if (how.first == waits::way::park) return false;
  if (how.first == waits::way::yield) return waits::yield_until(word, changed, how.limit);
  return waits::poll_by(how, word, changed, start + how.limit);
}

void wait(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) noexcept {
  const auto changed = [value](std::uint32_t now) { return now != value; };
  if (changed(word.load(std::memory_order_acquire))) return;
  const std::uint64_t start = machine::ticks();
  const bool polled = poll(word, changed, start);
  if (!polled) {
    const sleeper counted(&word);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // [F]
    if (!changed(word.load(std::memory_order_acquire)))
      (void)machine::futex(&word, operation, value, nullptr, nullptr, 0);
  }
  const std::uint64_t took = machine::ticks() - start, price = machine::wake_latency();
  past.note(polled ? took : took - (took < price ? took : price), price);
  (void)word.load(std::memory_order_acquire);
}

long wake(const void* word, int operation, std::uint32_t count) noexcept {
  last_woken = static_cast<const char*>(word);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // [F]
  if (!may_sleep(word)) return 0;
  return machine::futex(word, operation, count, nullptr, nullptr, 0);
}

}  // namespace

// Returns what the kernel would; not ENOSYS, at which libgomp would try in another way.
extern "C" [[gnu::visibility("hidden")]] long syncopate_on_futex(
    const std::atomic<std::uint32_t>* word, int operation, std::uint32_t value) noexcept {
  const int command = operation & ~FUTEX_PRIVATE_FLAG;
  if (command == FUTEX_WAIT) return wait(*word, operation, value), 0;
  const long result = command == FUTEX_WAKE
                          ? wake(word, operation, value)
                          : machine::futex(word, operation, value, nullptr, nullptr, 0);
  return result == -ENOSYS ? 0 : result;
}

}  // namespace syncopate::openmp

// What stands in for the system call instruction: takes its registers, and leaves all but those
// that it changes itself. Any other system call is made.
asm(R"(
  .text
  .globl syncopate_futex_entry
  .hidden syncopate_futex_entry
  .type syncopate_futex_entry, @function
syncopate_futex_entry:
  cmp $202, %eax
  jne 1f
  push %rdi
  push %rsi
  push %rdx
  push %r8
  push %r9
  push %r10
  push %rbp
  mov %rsp, %rbp
  and $-16, %rsp
  cld
  call syncopate_on_futex
  mov %rbp, %rsp
  pop %rbp
  pop %r10
  pop %r9
  pop %r8
  pop %rdx
  pop %rsi
  pop %rdi
  ret
1:
  syscall
  ret
  .size syncopate_futex_entry, . - syncopate_futex_entry
)");

#endif
