/* begin_x86_64.S -- the one function of the interface that returns twice.

   _ITM_beginTransaction keeps on its stack what a caller may expect to find unchanged, and asks
   syncopate_itm_begin(properties, registers) what to do; that one copies the registers if the
   transaction may have to begin again. syncopate_tm_resume(registers, actions) then returns from
   the same call once more. The layout is syncopate::tm::registers'.

   Where a thread runs alone without a lock, and may be quick (tm/core/quick.h), it needs none of
   that. */

#include "numbers.h"

	.text
	.p2align 4
	.globl	_ITM_beginTransaction
	.type	_ITM_beginTransaction, @function
_ITM_beginTransaction:
	.cfi_startproc
	movq	_ZN9syncopate2tm7currentE@gottpoff(%rip), %rax
	movq	%fs:(%rax), %rax		/* the transaction */
	leaq	SYNCOPATE_SOLO_QUICK(%rax), %rdx
	cmpq	%rdx, _ZN9syncopate2tm3nowE(%rip)
	jne	not_quick
	testb	$SYNCOPATE_UNINSTRUMENTED_CODE, %dil
	je	not_quick
	testb	$SYNCOPATE_HAS_NO_ABORT, %dil
	je	not_quick
	cmpl	$0, SYNCOPATE_DEPTH(%rax)
	jne	not_quick
	movl	$1, SYNCOPATE_ACTIVE(%rax)
	cmpq	%rdx, _ZN9syncopate2tm3nowE(%rip)
	jne	called_away
	movabsq	$SYNCOPATE_QUICK_RUNNING, %rcx
	movq	%rcx, SYNCOPATE_PROGRESS(%rax)
	movl	$(SYNCOPATE_RUN_UNINSTRUMENTED | SYNCOPATE_SAVE_LIVE_VARIABLES), %eax
	ret

called_away:
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	movq	%rax, %rdi
	call	syncopate_itm_not_quick
	popq	%rdi
	.cfi_adjust_cfa_offset -8
not_quick:
	leaq	8(%rsp), %rax		/* the stack pointer after the return */
	movq	(%rsp), %rdx		/* where to return to */
	subq	$72, %rsp
	.cfi_adjust_cfa_offset 72
	movq	%rbx, (%rsp)
	movq	%rbp, 8(%rsp)
	movq	%r12, 16(%rsp)
	movq	%r13, 24(%rsp)
	movq	%r14, 32(%rsp)
	movq	%r15, 40(%rsp)
	movq	%rax, 48(%rsp)
	movq	%rdx, 56(%rsp)
	movq	%rsp, %rsi
	call	syncopate_itm_begin
	addq	$72, %rsp
	.cfi_adjust_cfa_offset -72
	ret
	.cfi_endproc
	.size	_ITM_beginTransaction, .-_ITM_beginTransaction

	.p2align 4
	.globl	syncopate_tm_resume
	.hidden	syncopate_tm_resume
	.type	syncopate_tm_resume, @function
syncopate_tm_resume:
	.cfi_startproc
	movl	%esi, %eax
	movq	(%rdi), %rbx
	movq	8(%rdi), %rbp
	movq	16(%rdi), %r12
	movq	24(%rdi), %r13
	movq	32(%rdi), %r14
	movq	40(%rdi), %r15
	movq	56(%rdi), %rdx
	movq	48(%rdi), %rsp
	jmp	*%rdx
	.cfi_endproc
	.size	syncopate_tm_resume, .-syncopate_tm_resume

	.section	.note.GNU-stack,"",@progbits
