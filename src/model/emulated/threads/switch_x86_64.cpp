// switch_x86_64.cpp -- begin's entry, and the way back to it. All memory and all registers come
// back, so begin is an ordinary function for its caller.
#include "thread.h"

#include <cstddef>

namespace syncopate::emulated {
static_assert(offsetof(thread, saved) == 0);
static_assert(offsetof(registers, stack_pointer) == 48 && offsetof(registers, resume) == 56);
static_assert(offsetof(registers, vector_control) == 64 &&
              offsetof(registers, float_control) == 68);
}  // namespace syncopate::emulated

// syncopate_htm_begin(mode): a nested one keeps the outer one's registers.
asm(R"(
.text
.globl syncopate_htm_begin
.type syncopate_htm_begin, @function
.p2align 4
syncopate_htm_begin:
  .cfi_startproc
  push %rdi
  .cfi_adjust_cfa_offset 8
  call syncopate_emulated_self
  pop %rsi
  .cfi_adjust_cfa_offset -8
  test %rdx, %rdx
  jne 1f
  stmxcsr 64(%rax)
  fnstcw 68(%rax)
  mov %rbx, 0(%rax)
  mov %rbp, 8(%rax)
  mov %r12, 16(%rax)
  mov %r13, 24(%rax)
  mov %r14, 32(%rax)
  mov %r15, 40(%rax)
  lea 8(%rsp), %rcx
  mov %rcx, 48(%rax)
  mov (%rsp), %rcx
  mov %rcx, 56(%rax)
1:
  mov (%rsp), %rdx
  mov %rax, %rdi
  jmp syncopate_emulated_begin
  .cfi_endproc
.size syncopate_htm_begin, . - syncopate_htm_begin

# abort(thread): everything below begin's stack pointer is dead, wherever this thread was. So the
# roll-back runs there: it overwrites what is above. The registers' copy lies in the 256 bytes.
.globl syncopate_emulated_abort
.hidden syncopate_emulated_abort
.type syncopate_emulated_abort, @function
.p2align 4
syncopate_emulated_abort:
  .cfi_startproc
  .cfi_undefined %rip
  mov 48(%rdi), %rsp
  sub $256, %rsp
  and $-64, %rsp
  cld
  mov %rsp, %rsi  # room for a copy of the registers: a signal's handler may use the others
  call syncopate_emulated_roll_back
  fninit
  fldcw 68(%rsp)
  ldmxcsr 64(%rsp)
  mov 0(%rsp), %rbx
  mov 8(%rsp), %rbp
  mov 16(%rsp), %r12
  mov 24(%rsp), %r13
  mov 32(%rsp), %r14
  mov 40(%rsp), %r15
  mov 56(%rsp), %rcx
  mov 48(%rsp), %rsp
  jmp *%rcx
  .cfi_endproc
.size syncopate_emulated_abort, . - syncopate_emulated_abort
)");
