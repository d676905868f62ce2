#include "model/front/threads/arch.h"

#include <syncopate/machine/system_call.h>

#if !defined(__x86_64__)
#error "The modeled machines run on x86-64 only: write arch_<architecture>.cpp for another one."
#endif

#include <immintrin.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <cstddef>
#include <cstring>

#include <asm/prctl.h>

namespace syncopate::instrument {

static_assert(offsetof(registers, stack_pointer) == 0 && offsetof(registers, resume) == 8 &&
              offsetof(registers, preserved) == 16 && offsetof(registers, vector_control) == 64 &&
              offsetof(registers, float_control) == 68);

namespace {

// Bit 1 of AT_HWCAP2: the kernel lets programs write the base of FS by an instruction.
const bool has_fsgsbase = (getauxval(AT_HWCAP2) & 2) != 0;

[[gnu::target("fsgsbase")]] void write_fs_base(std::uintptr_t base) noexcept {
  _writefsbase_u64(base);
}

}  // namespace

// The first word of the thread-control block is its own address (the x86-64 ABI of thread-local
// storage).
std::uintptr_t thread_pointer() noexcept {
  std::uintptr_t base;
  asm("mov %%fs:0, %0" : "=r"(base));
  return base;
}

void set_thread_pointer(std::uintptr_t base) noexcept {
  if (has_fsgsbase) [[likely]]
    write_fs_base(base);
  else machine::system_call(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(base));
}

std::uintptr_t interrupted_pc(const void* context) noexcept {
  return static_cast<std::uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
}

bool jumps_to_itself(const void* context) noexcept {
  const auto* const code = reinterpret_cast<const unsigned char*>(interrupted_pc(context));
  return code[0] == 0xEB && code[1] == 0xFE;  // jmp, two bytes back
}

void* new_stack(std::uintptr_t stack_end, void (*function)()) noexcept {
  // As switch_stack() leaves a stack. Above: a null return address, where unwinders stop.
  struct {
    std::uint32_t vector_control = 0, float_control = 0;
    std::uintptr_t preserved[6] = {};
    void (*resume)() = nullptr;
    std::uintptr_t no_caller = 0;
  } left;
  asm("stmxcsr %0\n\tfnstcw %1" : "=m"(left.vector_control), "=m"(left.float_control));
  left.resume = function;
  void* const at = reinterpret_cast<void*>((stack_end & ~std::uintptr_t{15}) - sizeof left);
  std::memcpy(at, &left, sizeof left);
  return at;
}

void call_on_stack(void* stack_end, void (*function)(void*), void* argument) noexcept {
  asm volatile(
      "mov %0, %%rsp\n\t"
      "xor %%ebp, %%ebp\n\t"
      "call *%1\n\t"
      "ud2"
      :
      : "r"(reinterpret_cast<std::uintptr_t>(stack_end) & ~std::uintptr_t{15}), "r"(function),
        "D"(argument)
      : "memory");
  __builtin_unreachable();
}

void resume(const registers& saved, std::uint32_t code) noexcept {
  asm volatile(
      "ldmxcsr 64(%0)\n\t"
      "fldcw 68(%0)\n\t"
      "mov 16(%0), %%rbx\n\t"
      "mov 24(%0), %%rbp\n\t"
      "mov 32(%0), %%r12\n\t"
      "mov 40(%0), %%r13\n\t"
      "mov 48(%0), %%r14\n\t"
      "mov 56(%0), %%r15\n\t"
      "mov 0(%0), %%rsp\n\t"
      "jmp *8(%0)"
      :
      : "D"(&saved), "a"(code)
      : "memory");
  __builtin_unreachable();
}

}  // namespace syncopate::instrument

// void syncopate::instrument::switch_stack(void*& from, void* to) (arch.h). The control words are
// rarely different, and slow to load.
asm(R"(
  .text
  .globl _ZN9syncopate10instrument12switch_stackERPvS1_
  .hidden _ZN9syncopate10instrument12switch_stackERPvS1_
  .type _ZN9syncopate10instrument12switch_stackERPvS1_, @function
_ZN9syncopate10instrument12switch_stackERPvS1_:
  endbr64
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  sub $8, %rsp
  stmxcsr 0(%rsp)
  fnstcw 4(%rsp)
  mov 0(%rsp), %eax
  movzwl 4(%rsp), %ecx
  mov %rsp, 0(%rdi)
  mov %rsi, %rsp
  cmp 0(%rsp), %eax
  je 1f
  ldmxcsr 0(%rsp)
1:
  cmp 4(%rsp), %cx
  je 2f
  fldcw 4(%rsp)
2:
  add $8, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
)");

// syncopate_call_at (arch.h).
asm(R"(
  .text
  .globl syncopate_call_at
  .hidden syncopate_call_at
  .type syncopate_call_at, @function
syncopate_call_at:
  .cfi_startproc
  endbr64
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  mov %rdi, %rsp
  mov %rsi, %rax
  mov %rdx, %rdi
  mov %rcx, %rsi
  mov %r8, %rdx
  call *%rax
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
)");

// std::uint32_t syncopate::instrument::save(stack_copy*) (fiber.h): fills the registers, with which
// a stack_copy begins, then copies the stack by syncopate_copy_stack (stack_copy.cpp), returns 0.
asm(R"(
  .text
  .globl _ZN9syncopate10instrument4saveEPNS0_10stack_copyE
  .hidden _ZN9syncopate10instrument4saveEPNS0_10stack_copyE
  .type _ZN9syncopate10instrument4saveEPNS0_10stack_copyE, @function
_ZN9syncopate10instrument4saveEPNS0_10stack_copyE:
  .cfi_startproc
  endbr64
  lea 8(%rsp), %rax
  mov %rax, 0(%rdi)
  mov (%rsp), %rax
  mov %rax, 8(%rdi)
  mov %rbx, 16(%rdi)
  mov %rbp, 24(%rdi)
  mov %r12, 32(%rdi)
  mov %r13, 40(%rdi)
  mov %r14, 48(%rdi)
  mov %r15, 56(%rdi)
  stmxcsr 64(%rdi)
  fnstcw 68(%rdi)
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call syncopate_copy_stack
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  xor %eax, %eax
  ret
  .cfi_endproc
)");
