// monitor_x86.h -- the instructions by which an x86-64 program lets its processor sleep until a
// cache line is written. All encodings stand here, as bytes: assemblers older than the instructions
// accept them, and no compiler option is needed. The callers choose by monitor.h's probe.
//
// Sources       Intel SDM volume 2: UMONITOR, UMWAIT, TPAUSE, and the system's IA32_UMWAIT_CONTROL.
//               AMD64 APM volume 3: MONITORX, MWAITX.
//
// Deadlines     UMWAIT and TPAUSE take an ABSOLUTE value of the time stamp counter; MWAITX takes
//               RELATIVE ticks, 32 bits, and only with its timer bit set.
// The system    limits UMWAIT and TPAUSE (Linux: 100,000 ticks; /sys/devices/system/cpu/
//               umwait_control) and says by the carry flag that it ended the wait; it may forbid
//               C0.2, which then is C0.1. Both ends are false wake-ups to the caller.
// Monitor       armed per processor, for its cache line. A thread that is interrupted or moves to
//               another processor between the two instructions may wait for nothing, or for a line
//               that another thread armed: so every wait has a deadline.
#pragma once

#include <cstdint>

namespace syncopate::machine::x86 {

// Arms the monitor for the line of `address`: UMONITOR RAX.
inline void umonitor(const volatile void* address) noexcept {
  asm volatile(".byte 0xf3, 0x0f, 0xae, 0xf0" : : "a"(address) : "memory");
}

// How deep UMWAIT and TPAUSE sleep: bit 0 of their operand.
enum class c0 : std::uint32_t { c0_2 = 0, c0_1 = 1 };

// Sleeps until the armed line is written, an interrupt, or the counter reaches `until`: UMWAIT ECX.
// Returns whether the system's limit ended it (carry flag).
inline bool umwait(c0 depth, std::uint64_t until) noexcept {
  bool limited;
  asm volatile(".byte 0xf2, 0x0f, 0xae, 0xf1"
               : "=@ccc"(limited)
               : "c"(depth), "a"(static_cast<std::uint32_t>(until)),
                 "d"(static_cast<std::uint32_t>(until >> 32))
               : "memory");
  return limited;
}

// Sleeps until an interrupt, or the counter reaches `until`: TPAUSE ECX. Returns as umwait().
inline bool tpause(c0 depth, std::uint64_t until) noexcept {
  bool limited;
  asm volatile(".byte 0x66, 0x0f, 0xae, 0xf1"
               : "=@ccc"(limited)
               : "c"(depth), "a"(static_cast<std::uint32_t>(until)),
                 "d"(static_cast<std::uint32_t>(until >> 32))
               : "memory");
  return limited;
}

// Arms the monitor for the line of `address`: MONITORX RAX, no extensions (ECX), no hints (EDX).
inline void monitorx(const volatile void* address) noexcept {
  asm volatile(".byte 0x0f, 0x01, 0xfa" : : "a"(address), "c"(0), "d"(0) : "memory");
}

// MWAITX's hint in EAX: the C-state less one in bits 4-7. 0xf keeps the processor in C0.
enum class cstate : std::uint32_t { c0 = 0xf0, c1 = 0x00 };

// Sleeps until the armed line is written, an interrupt, or `ticks` have passed: MWAITX with its
// timer (ECX bit 1, EBX).
inline void mwaitx(cstate depth, std::uint32_t ticks) noexcept {
  constexpr std::uint32_t timer = 2;
  asm volatile(".byte 0x0f, 0x01, 0xfb" : : "a"(depth), "c"(timer), "b"(ticks) : "memory");
}

}  // namespace syncopate::machine::x86
