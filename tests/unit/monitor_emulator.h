// monitor_emulator.h -- executes UMONITOR, UMWAIT, TPAUSE, MONITORX and MWAITX in place of the
// processor: breakpoints.h stops at each in this program, and the handler decodes and does them. So
// the real encodings and the loops around them run on every x86-64 machine, whether it has the
// instructions, lacks them, or executes what it does not report; about 8,000 ticks each.
//
// A monitored line is compared with what it held when it was armed: a store of the same value is
// not seen. What waits were asked for is counted and kept, so that a test can check it.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <sched.h>
#include <ucontext.h>

#include <x86intrin.h>

#include "breakpoints.h"

namespace monitor_emulator {

enum class instruction { none, umonitor, umwait, tpause, monitorx, mwaitx };

// What a wait instruction was asked for, and how it ended.
struct request {
  instruction what = instruction::none;
  std::uint64_t started = 0;     // time stamp counter
  std::uint64_t deadline = 0;    // as given: absolute for UMWAIT and TPAUSE, relative for MWAITX
  std::uint32_t depth = 0;       // the operand: ECX's C0 state, or EAX's hint
  std::uint32_t extensions = 0;  // MWAITX: ECX
  bool already_past = false;     // asked for a time that had passed
  bool limited = false;          // ended by the system's limit: carry flag
};

// How the machine behaves; set before the waits under test.
struct behavior {
  std::uint64_t system_limit = 100'000;           // of UMWAIT and TPAUSE; 0: returns at once
  int false_wakes = 0;                            // so many waits return at once
  bool loses_monitor = false;                     // as if the thread moved after arming
  const volatile void* armed_by_other = nullptr;  // moved, and there another line is armed
  void (*before_arming)() = nullptr;              // runs between the caller's look and the arming
};

inline behavior machine;
inline std::atomic<unsigned> traps{0}, armings{0}, waits{0}, woken{0}, limited{0}, past{0};
inline thread_local constinit request last{};

namespace detail {
inline thread_local constinit struct {
  const volatile std::uint64_t* line = nullptr;
  std::uint64_t was[8] = {};
} armed;

inline void arm(std::uint64_t address) {
  ++armings;
  if (machine.before_arming != nullptr) machine.before_arming();
  if (machine.armed_by_other != nullptr)
    address = reinterpret_cast<std::uint64_t>(machine.armed_by_other);
  armed.line = reinterpret_cast<const volatile std::uint64_t*>(address & ~std::uint64_t{63});
  for (int i = 0; i < 8; ++i) armed.was[i] = armed.line[i];
  if (machine.loses_monitor) armed.line = nullptr;
}

inline bool line_changed() {
  for (int i = 0; i < 8; ++i)
    if (armed.line[i] != armed.was[i]) return true;
  return false;
}

// Returns the carry flag.
inline bool wait(bool on_line, std::uint64_t until, std::uint64_t limit) {
  ++waits;
  const bool unarmed = on_line && armed.line == nullptr;
  if (__rdtsc() >= until) {
    ++past;
    last.already_past = true;
    return false;
  }
  if (unarmed) return false;
  if (machine.false_wakes > 0) {
    --machine.false_wakes;
    return false;
  }
  for (;;) {
    const std::uint64_t now = __rdtsc();
    if (on_line && line_changed()) {
      ++woken;
      return false;
    }
    if (now >= until) return false;
    if (now >= limit) {
      ++limited;
      return last.limited = true;
    }
    __builtin_ia32_pause();
  }
}

inline constinit const breakpoints::set* in_force = nullptr;

inline void on_breakpoint(int, siginfo_t*, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const place = reinterpret_cast<const unsigned char*>(registers[REG_RIP] - 1);
  unsigned char code[4];
  std::memcpy(code, place, sizeof code);
  if (!in_force->replaced(place, code[0])) {
    std::signal(SIGTRAP, SIG_DFL);  // not ours: raise it again, for good
    std::raise(SIGTRAP);
    return;
  }
  registers[REG_RIP] -= 1;
  const auto reg = [registers](int name) { return static_cast<std::uint64_t>(registers[name]); };
  const auto low = [reg](int name) { return static_cast<std::uint32_t>(reg(name)); };
  const auto finish = [registers](int length, bool carry, bool sets_flags) {
    registers[REG_RIP] += length;
    constexpr greg_t status_flags = 0x8d5;
    if (sets_flags) registers[REG_EFL] = (registers[REG_EFL] & ~status_flags) | (carry ? 1 : 0);
  };
  ++traps;
  const std::uint64_t now = __rdtsc();
  if (code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xfa) {
    arm(reg(REG_RAX));
    return finish(3, false, false);
  }
  if (code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xfb) {
    constexpr std::uint32_t timer = 2;
    last = {instruction::mwaitx, now, low(REG_RBX), low(REG_RAX), low(REG_RCX)};
    const std::uint64_t ticks = (last.extensions & timer) != 0 ? last.deadline : 1u << 30;
    wait(true, now + ticks, ~std::uint64_t{0});
    armed.line = nullptr;
    return finish(3, false, false);
  }
  // Group 15, /6, register form; our encodings name RAX for UMONITOR and ECX for the others.
  if (code[1] == 0x0f && code[2] == 0xae && code[0] == 0xf3 && code[3] == 0xf0) {
    arm(reg(REG_RAX));
    return finish(4, false, false);
  }
  if (code[1] == 0x0f && code[2] == 0xae && (code[0] == 0xf2 || code[0] == 0x66) &&
      code[3] == 0xf1) {
    const bool on_line = code[0] == 0xf2;
    const std::uint64_t until = reg(REG_RDX) << 32 | low(REG_RAX);
    last = {on_line ? instruction::umwait : instruction::tpause, now, until, low(REG_RCX), 0};
    const bool carry = wait(on_line, until, now + machine.system_limit);
    if (on_line) armed.line = nullptr;
    return finish(4, carry, true);
  }
  std::abort();  // objdump named it so, and it is none of these
}

inline const std::vector<std::uintptr_t>& places() {
  static const auto found =
      breakpoints::places_in_file({"umonitor", "umwait", "tpause", "monitorx", "mwaitx"});
  return found;
}
}  // namespace detail

inline void reset_counts() {
  for (auto* counter : {&traps, &armings, &waits, &woken, &limited, &past}) counter->store(0);
  last = {};
}

// Waits until a count has become that large, at most five seconds. Returns whether it has.
inline bool reaches(const std::atomic<unsigned>& count, unsigned wanted) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const time_t give_up = now.tv_sec + 5;
  while (count.load() < wanted && now.tv_sec < give_up) {
    ::sched_yield();
    ::clock_gettime(CLOCK_MONOTONIC, &now);
  }
  return count.load() >= wanted;
}

// Emulates from here to the end of the object's life, with everything reset.
class scope {
 public:
  scope() : breakpoints_(detail::places()) {
    machine = {};
    reset_counts();
    detail::in_force = &breakpoints_;
    struct sigaction action = {};
    action.sa_sigaction = detail::on_breakpoint;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGTRAP, &action, &before_);
  }
  ~scope() { ::sigaction(SIGTRAP, &before_, nullptr); }
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

 private:
  breakpoints::set breakpoints_;
  struct sigaction before_ = {};
};

}  // namespace monitor_emulator
