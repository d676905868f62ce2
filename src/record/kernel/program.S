// program.S -- the compiled waits.bpf.c, as bytes of the recorder.
  .section .rodata
  .balign 16
  .globl kernel_program_begin
  .hidden kernel_program_begin
kernel_program_begin:
  .incbin KERNEL_PROGRAM
  .globl kernel_program_end
  .hidden kernel_program_end
kernel_program_end:
  .section .note.GNU-stack, "", @progbits
