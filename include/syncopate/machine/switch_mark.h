// switch_mark.h -- whether this thread lost its processor since it looked last, in one load.
//
// Source        The kernel clears rseq_cs of a thread's restartable-sequence area when the thread
//               goes on behind a preemption, a migration or a signal, and is in no sequence
//               (Linux, kernel/rseq.c; tcmalloc relies on the same for its caches). So a pointer to
//               a sequence that no code is in stays there for just as long as the thread runs.
//               *Measured* on Linux 6.18: cleared exactly as often as the kernel counts involuntary
//               switches. From Linux 7.0 on, voluntary switches leave it alone.
// Progress      wait-free; set() and taken() make one system call, if any. Async-signal-safe.
//
// Memory order (each tag stands at its site below)
//   [P]  release store of the last member -- synchronizes with [A].
//   [A]  acquire load of it: all of the sequence is there; the kernel ends a process over half of
//        one.
//   [X]  relaxed: before [P]; whoever comes at the same time stores the same.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/machine/system_call.h>

#include <cstdint>

#include <sys/resource.h>
#include <sys/syscall.h>

namespace syncopate::machine {

// How often the kernel has taken the calling thread off its processor, how often it left by
// itself, and how often that was for a page that had to be read ("major" faults); and how often it
// got one without that, as where it first touches new memory ("minor" faults).
struct switch_counts {
  std::uint32_t involuntary = 0, voluntary = 0, pages_read = 0, pages_given = 0;
};
inline switch_counts switches() noexcept {
  rusage used{};
  if (system_call(SYS_getrusage, RUSAGE_THREAD, reinterpret_cast<long>(&used), 0, 0, 0, 0) != 0)
    return {};
  return {static_cast<std::uint32_t>(used.ru_nivcsw), static_cast<std::uint32_t>(used.ru_nvcsw),
          static_cast<std::uint32_t>(used.ru_majflt), static_cast<std::uint32_t>(used.ru_minflt)};
}

// One thread's mark. All zero: not set yet.
class switch_mark {
 public:
  // Requires: called by one thread only, always the same. Counts from here on.
  void set() noexcept {
    if (!is_possible() || is_set()) return;
    before_ = switches();
    put();
  }
  // How often the thread was switched since set(); sets the mark anew. Zeros where that cannot be
  // told.
  switch_counts taken() noexcept {
    if (!is_possible() || is_set()) return {};
    const switch_counts now = switches();
    const switch_counts seen{now.involuntary - before_.involuntary,
                             now.voluntary - before_.voluntary, now.pages_read - before_.pages_read,
                             now.pages_given - before_.pages_given};
    before_ = now;
    put();
    return seen;
  }

  // Whether the thread still runs as it did when the mark was set.
  [[nodiscard]] bool stands() const noexcept { return is_possible() && is_set(); }

#if defined(__x86_64__) && defined(RSEQ_SIG)
  static bool is_possible() noexcept { return __rseq_size != 0; }

 private:
  // A sequence that nobody is ever in: it covers a byte of its own descriptor. Where it would go
  // on, the kernel wants a signature.
  struct empty_sequence {
    struct rseq_cs descriptor;
    std::uint32_t signature, end;
  };
  static inline constinit empty_sequence nowhere{{}, RSEQ_SIG, 0};

  static std::uint64_t nowhere_address() noexcept {
    return reinterpret_cast<std::uint64_t>(&nowhere.descriptor);
  }
  static volatile struct rseq* area() noexcept {
    return const_cast<volatile struct rseq*>(detail::rseq_area());
  }
  static bool is_set() noexcept { return area()->rseq_cs == nowhere_address(); }
  static void put() noexcept {
    prepare_nowhere();
    area()->rseq_cs = nowhere_address();
  }
  // By whoever comes first, with the same values: nobody writes the line later, which all share.
  // Acquire and release, since the kernel looks at all of it and ends the process over half of it.
  static void prepare_nowhere() noexcept {
    struct rseq_cs& d = nowhere.descriptor;
    if (__atomic_load_n(&d.abort_ip, __ATOMIC_ACQUIRE) != 0) return;     // [A]
    __atomic_store_n(&d.start_ip, nowhere_address(), __ATOMIC_RELAXED);  // [X]
    __atomic_store_n(&d.post_commit_offset, 1, __ATOMIC_RELAXED);        // [X]
    __atomic_store_n(&d.abort_ip, reinterpret_cast<std::uint64_t>(&nowhere.end),
                     __ATOMIC_RELEASE);  // [P]
  }
#else
  static bool is_possible() noexcept { return false; }

 private:
  static bool is_set() noexcept { return false; }
  static void put() noexcept {}
#endif

  switch_counts before_;
};

}  // namespace syncopate::machine
