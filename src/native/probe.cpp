// probe.cpp -- tries what this machine can do. x86-64 instructions are tried in a child process
// (trial.h), because a processor feature may be reported and yet raise SIGILL or always abort.
#include <syncopate/machine/probe.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include <linux/futex.h>
#include <sys/auxv.h>

#include <syncopate/machine.h>
#include <syncopate/machine/trial.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace syncopate::machine {
namespace {

struct finding {
  bool usable;
  std::string reason;
};

#if defined(__x86_64__)

struct cpuid_answer {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero for a leaf that the processor does not have.
cpuid_answer cpuid(unsigned leaf, unsigned subleaf = 0) {
  cpuid_answer a;
  __get_cpuid_count(leaf, subleaf, &a.eax, &a.ebx, &a.ecx, &a.edx);
  return a;
}

constexpr bool bit(unsigned value, unsigned index) { return (value >> index & 1) != 0; }

std::string trial_failed(std::string_view instruction, trial_end end) {
  const std::string name(instruction);
  switch (end) {
    case trial_end::illegal_instruction:
      return "CPUID reports it, but " + name +
             " raised SIGILL: the hypervisor or the kernel disables it";
    case trial_end::other_signal: return name + " ended its test process with a signal";
    default: return name + " could not be tried: no process could be made";
  }
}

constexpr int rtm_attempts = 100;

struct rtm_answer {
  int commits = 0;
  unsigned last_status = 0;
};

[[gnu::target("rtm")]] void try_rtm(rtm_answer& answer) {
  // Written once outside, so that no attempt aborts for a first-touch page fault alone.
  volatile int inside = 0;
  for (int i = 0; i < rtm_attempts; ++i) {
    const unsigned status = _xbegin();
    if (status == _XBEGIN_STARTED) {
      inside = i;
      _xend();
      ++answer.commits;
    } else {
      answer.last_status = status;
    }
  }
  static_cast<void>(inside);
}

finding probe_rtm() {
  const cpuid_answer leaf7 = cpuid(7);
  const bool always_aborts = bit(leaf7.edx, 11);
  if (!bit(leaf7.ebx, 11)) {
    return {false, always_aborts ? "CPUID reports RTM_ALWAYS_ABORT: microcode disables RTM"
                                 : "CPUID does not report RTM (leaf 7, EBX bit 11)"};
  }
  rtm_answer answer;
  const trial_end end = run_trial(answer, try_rtm);
  if (end != trial_end::completed) return {false, trial_failed("XBEGIN", end)};
  char text[160];
  if (answer.commits > 0) {
    std::snprintf(text, sizeof text, "%d of %d test transactions committed", answer.commits,
                  rtm_attempts);
    return {true, text};
  }
  std::snprintf(text, sizeof text,
                "CPUID reports RTM, but %d of %d test transactions aborted with status %#x: "
                "the hypervisor or microcode disables it",
                rtm_attempts, rtm_attempts, answer.last_status);
  return {false, text};
}

// Instructions that wait for a line: what CPUID says, and what happens when a child tries them.
finding probe_wait(bool reported, const char* name, const char* where, const char* instructions,
                   void (*attempt)(int&)) {
  int answer = 0;
  const trial_end end = run_trial(answer, attempt);
  if (!reported) {
    std::string reason = std::string("CPUID does not report ") + name + " (" + where + ")";
    if (end == trial_end::completed)
      reason += ", though it executes: a hypervisor hides it, so it is left alone";
    return {false, reason};
  }
  if (end != trial_end::completed) return {false, trial_failed(instructions, end)};
  return {true, std::string("CPUID reports ") + name + ", and " + instructions + " ran"};
}

finding probe_waitpkg() {
  return probe_wait(detail::reported(7, 5), "WAITPKG", "leaf 7, ECX bit 5", "UMONITOR and UMWAIT",
                    [](int& word) { detail::try_umwait(word); });
}

finding probe_monitorx() {
  return probe_wait(detail::reported(0x80000001, 29), "MONITORX", "leaf 0x80000001, ECX bit 29",
                    "MONITORX and MWAITX", [](int& word) { detail::try_mwaitx(word); });
}

finding probe_invariant_tsc() {
  if (bit(cpuid(0x80000007).edx, 8)) {
    return {true, "CPUID reports it (leaf 0x80000007, EDX bit 8)"};
  }
  std::string clock_source;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> clock_source;
  if (clock_source == "tsc") return {true, "the kernel keeps time by it (clocksource tsc)"};
  return {false, "CPUID does not report it, and the kernel keeps time by " +
                     (clock_source.empty() ? "an unknown clock" : clock_source)};
}

finding probe_fsgsbase() {
  constexpr unsigned long hwcap2_fsgsbase = 1ul << 1;
  if ((::getauxval(AT_HWCAP2) & hwcap2_fsgsbase) != 0) {
    return {true, "the kernel enables it (AT_HWCAP2 bit 1)"};
  }
  return {false, "the kernel does not enable it (AT_HWCAP2 bit 1)"};
}

#else

constexpr const char* not_x86 = "not an x86-64 processor";
finding probe_rtm() { return {false, not_x86}; }
finding probe_waitpkg() { return {false, not_x86}; }
finding probe_monitorx() { return {false, not_x86}; }
finding probe_fsgsbase() { return {false, not_x86}; }
finding probe_invariant_tsc() {
#if defined(__aarch64__)
  return {true, "the generic timer (CNTVCT_EL0) runs at one rate on all processors"};
#else
  return {false, "this architecture's clock is read by clock_gettime"};
#endif
}

#endif

finding probe_rseq() {
  if (__rseq_size == 0) {
    return {false, "the C library has not registered a restartable-sequence area"};
  }
  return {true, "the C library has registered a restartable-sequence area"};
}

finding probe_futex() {
  alignas(4) const std::uint32_t word = 0;
  const long wait = futex(&word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 1,
                          nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
  const long woken = futex(&word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr,
                           FUTEX_BITSET_MATCH_ANY);
  if (wait == -EAGAIN && woken == 0) return {true, "wait and wake answered as they should"};
  char text[96];
  std::snprintf(text, sizeof text, "wait answered %ld and wake %ld: a seccomp filter refuses it",
                wait, woken);
  return {false, text};
}

struct feature {
  std::string_view name;
  finding (*probe)();
  std::string_view meaning;
};

constexpr feature features[] = {
    {"rtm", probe_rtm,
     "hardware transactions: lock elision runs sections in parallel; without it, locks are taken"},
    {"waitpkg", probe_waitpkg,
     "UMWAIT and TPAUSE: a waiter sleeps in user mode until a word changes, saving power"},
    {"monitorx", probe_monitorx,
     "MONITORX and MWAITX: the same on AMD; without either, waiters spin, then park"},
    {"invariant_tsc", probe_invariant_tsc,
     "recorded times are comparable between processors and cost one instruction"},
    {"fsgsbase", probe_fsgsbase, "a thread reads the base of its thread-local storage directly"},
    {"rseq", probe_rseq, "a thread learns the processor it runs on by one load"},
    {"futex", probe_futex, "waiters can sleep in the kernel; without it they yield"},
};

}  // namespace

std::vector<capability> probe() {
  std::vector<capability> result;
  for (const feature& f : features) {
    finding found = f.probe();
    result.push_back({f.name, found.usable, std::move(found.reason), f.meaning});
  }
  return result;
}

bool usable(std::string_view name) {
  // Never destroyed: threads may still ask while static objects are torn down.
  static const std::vector<capability>& known = *new std::vector<capability>(probe());
  const auto found = std::ranges::find(known, name, &capability::name);
  return found != known.end() && found->usable;
}

}  // namespace syncopate::machine
