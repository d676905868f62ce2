// entered.h -- the registers with which the program called the machine: those that its code
// keeps across calls, so that with its stack they are all that a thread knows between two calls.
#pragma once

#include <array>
#include <cstdint>

namespace syncopate::instrument {

struct entered_state {
  std::array<std::uintptr_t, 6> preserved;  // rbx, rbp, r12 to r15
  bool known;                               // of the call that is being made: whoever asks takes it
};

}  // namespace syncopate::instrument

// Known to the assembly below.
extern "C" {
[[gnu::visibility("hidden"),
  gnu::used]] inline constinit syncopate::instrument::entered_state syncopate_entered{};
}

// The exported function NAME notes the registers and goes on as syncopate_NAME, which follows:
//   SYNCOPATE_NOTES_REGISTERS(name) int syncopate_name(...) { ... }
// The emulated machine, whose threads are real, has no use for it.
#if defined(SYNCOPATE_REAL_THREADS)
#define SYNCOPATE_NOTES_REGISTERS(result, name) \
  extern "C" __attribute__((visibility("default"))) result name
#else
#define SYNCOPATE_NOTES_REGISTERS(result, name)                                                  \
  asm(".pushsection .text\n\t.globl " #name "\n\t.type " #name ", @function\n" #name             \
      ":\n\t.cfi_startproc\n\t"                                                                  \
      "movq %rbx, syncopate_entered(%rip)\n\t"                                                   \
      "movq %rbp, syncopate_entered+8(%rip)\n\t"                                                 \
      "movq %r12, syncopate_entered+16(%rip)\n\t"                                                \
      "movq %r13, syncopate_entered+24(%rip)\n\t"                                                \
      "movq %r14, syncopate_entered+32(%rip)\n\t"                                                \
      "movq %r15, syncopate_entered+40(%rip)\n\t"                                                \
      "movb $1, syncopate_entered+48(%rip)\n\t"                                                  \
      "jmp syncopate_" #name "\n\t.cfi_endproc\n\t.size " #name ", .-" #name "\n\t.popsection"); \
  extern "C" __attribute__((visibility("hidden"), used)) result syncopate_##name
#endif
