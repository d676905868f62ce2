// call_with_words.cpp -- see call_with_words.h. C++ has no such call: by hand for each processor.
// The directives let unwinders through.

#include "openmp/base/call_with_words.h"

#if defined(__x86_64__)
asm(R"(
.pushsection .text
.globl syncopate_call_with_words
.hidden syncopate_call_with_words
.type syncopate_call_with_words, @function
syncopate_call_with_words:
  .cfi_startproc
  endbr64
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  mov %rdi, %r11
  mov %rsi, %r10
  test $1, %dl
  je 1f
  push $0                  # the callee's stack is aligned to two words
1:
  cmp $6, %rdx
  jbe 2f
  push -8(%r10,%rdx,8)
  dec %rdx
  jmp 1b
2:
  mov (%r10), %rdi
  mov 8(%r10), %rsi
  mov 16(%r10), %rdx
  mov 24(%r10), %rcx
  mov 32(%r10), %r8
  mov 40(%r10), %r9
  xor %eax, %eax           # no floating-point arguments
  call *%r11
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
.size syncopate_call_with_words, . - syncopate_call_with_words
.popsection
)");
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
.p2align 2
.globl syncopate_call_with_words
.hidden syncopate_call_with_words
.type syncopate_call_with_words, %function
syncopate_call_with_words:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa_register x29
  mov x9, x0
  mov x10, x1
  add x11, x1, x2, lsl #3
  tbz x2, #0, 1f
  ldr x5, [x11, #-8]!      // the stack is aligned to two words
  str x5, [sp, #-16]!
  sub x2, x2, #1
1:
  cmp x2, #8
  b.ls 2f
  ldp x5, x6, [x11, #-16]!
  stp x5, x6, [sp, #-16]!
  sub x2, x2, #2
  b 1b
2:
  ldp x6, x7, [x10, #48]
  ldp x4, x5, [x10, #32]
  ldp x2, x3, [x10, #16]
  ldp x0, x1, [x10]
  blr x9
  mov sp, x29
  .cfi_def_cfa_register sp
  ldp x29, x30, [sp], #16
  .cfi_restore x30
  .cfi_restore x29
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
.size syncopate_call_with_words, . - syncopate_call_with_words
.popsection
)");
#else
#error "syncopate is for x86-64 and aarch64"
#endif
