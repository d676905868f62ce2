// kmpc_fork.cpp -- the way into a region of LLVM's libomp: a jump to the runtime where its regions
// are not ours. A call would be right for the region, but a tool that watches the runtime is told
// who calls (watcher.h). C++ has no jump with any number of arguments: by hand for each processor.

#include "openmp/config.h"
#include "openmp/runtime/caller.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

// The runtime's function; null where the region may be ours.
extern "C"
    [[gnu::visibility("hidden"),
      gnu::used]] void (*syncopate_fork_of_runtime(const void* location, const void* caller))() {
  const binding& b = meant(name_kind::kmpc, location, caller);
  return b.ours ? nullptr : b.to->real.__kmpc_fork_call.code();
}

#if defined(__x86_64__)
asm(R"(
.pushsection .text
.globl __kmpc_fork_call
.type __kmpc_fork_call, @function
__kmpc_fork_call:
  .cfi_startproc
  endbr64
  cmpb $0, syncopate_may_pass_all_on(%rip)
  jne 1f
  jmp syncopate_fork_call
1:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  push %rax
  .cfi_def_cfa_offset 64
  mov 56(%rsp), %rsi
  call syncopate_fork_of_runtime
  mov %rax, %r11
  pop %rax
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  .cfi_def_cfa_offset 8
  test %r11, %r11
  je 2f
  jmp *%r11
2:
  jmp syncopate_fork_call
  .cfi_endproc
.size __kmpc_fork_call, . - __kmpc_fork_call
.popsection
)");
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
.p2align 2
.globl __kmpc_fork_call
.type __kmpc_fork_call, %function
__kmpc_fork_call:
  .cfi_startproc
  adrp x9, syncopate_may_pass_all_on
  ldrb w9, [x9, :lo12:syncopate_may_pass_all_on]
  cbnz w9, 1f
  b syncopate_fork_call
1:
  stp x29, x30, [sp, #-80]!
  .cfi_def_cfa_offset 80
  .cfi_offset x29, -80
  .cfi_offset x30, -72
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  mov x1, x30
  bl syncopate_fork_of_runtime
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldp x29, x30, [sp], #80
  .cfi_restore x30
  .cfi_restore x29
  .cfi_def_cfa_offset 0
  cbz x16, 2f
  br x16
2:
  b syncopate_fork_call
  .cfi_endproc
.size __kmpc_fork_call, . - __kmpc_fork_call
.popsection
)");
#else
#error "syncopate is for x86-64 and aarch64"
#endif
