// time_stamp.cpp -- RDTSC and RDTSCP: what programs ask the processor itself, answered by the
// machine. Compilers' functions for them are calls, and the assembler calls what stands here where
// a program wrote the instruction (syncopate/instrument/builtins.h).
#include <cstdint>

#include "model/front/engine.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

namespace syncopate::instrument {
namespace {

// As Linux sets it up: the node above 12 bits for the processor.
std::uint64_t where_it_runs() {
  constexpr unsigned processor_bits = 12;
  return std::uint64_t{engine::node()} << processor_bits | engine::processor();
}

}  // namespace
}  // namespace syncopate::instrument

extern "C" {

struct syncopate_stamp {
  std::uint64_t ticks, processor;
};

[[gnu::visibility("hidden"), gnu::used]] syncopate_stamp syncopate_take_stamp() {
  const syncopate::instrument::engine_scope inside;
  const std::uint64_t ticks = syncopate::engine::ticks();
  return {ticks, syncopate::instrument::where_it_runs()};
}
}

SYNCOPATE_EXPORT std::uint64_t syncopate_rdtscp(void* processor) noexcept {
  const syncopate_stamp stamp = syncopate_take_stamp();
  *static_cast<unsigned*>(processor) = static_cast<unsigned>(stamp.processor);
  return stamp.ticks;
}

// In the place of an instruction: all registers stay but those that it writes. Vector registers of
// all sizes are kept (XSAVE's components 0 to 2 and 5 to 7: 2696 bytes); `also` keeps the processor
// where RCX comes back from.
#define STAMP(name, also)                                                           \
  asm(".text\n.globl " name "\n.type " name ", @function\n" name                    \
      ":\n"                                                                         \
      ".cfi_startproc\n endbr64\n"                                                  \
      " push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"                 \
      " mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"                               \
      " push %rcx\n push %rsi\n push %rdi\n push %r8\n push %r9\n push %r10\n"      \
      " push %r11\n"                                                                \
      " sub $2816, %rsp\n and $-64, %rsp\n xor %eax, %eax\n"                        \
      " mov %rax, 512(%rsp)\n mov %rax, 520(%rsp)\n mov %rax, 528(%rsp)\n"          \
      " mov %rax, 536(%rsp)\n mov %rax, 544(%rsp)\n mov %rax, 552(%rsp)\n"          \
      " mov %rax, 560(%rsp)\n mov %rax, 568(%rsp)\n"                                \
      " mov $0xe7, %eax\n xor %edx, %edx\n xsave64 (%rsp)\n"                        \
      " call syncopate_take_stamp\n mov %rax, %rcx\n" also                          \
      " mov $0xe7, %eax\n xor %edx, %edx\n xrstor64 (%rsp)\n"                       \
      " mov %ecx, %eax\n mov %rcx, %rdx\n shr $32, %rdx\n"                          \
      " lea -56(%rbp), %rsp\n"                                                      \
      " pop %r11\n pop %r10\n pop %r9\n pop %r8\n pop %rdi\n pop %rsi\n pop %rcx\n" \
      " pop %rbp\n.cfi_def_cfa %rsp, 8\n ret\n.cfi_endproc\n")

STAMP("syncopate_time_stamp", "");
STAMP("syncopate_time_stamp_and_processor", " mov %rdx, -8(%rbp)\n");
