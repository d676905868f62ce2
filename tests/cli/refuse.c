// refuse.c -- runs a command for which the kernel refuses system calls, as in a container.
//
// Usage: refuse NUMBER[,NUMBER...] COMMAND [ARGUMENT...]
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char** words) {
  enum { most = 16 };
  struct sock_filter rules[most + 3] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
  unsigned refused = 0;
  unsigned numbers[most];
  if (count < 3) return 2;
  for (char* word = strtok(words[1], ","); word != NULL && refused < most; word = strtok(NULL, ","))
    numbers[refused++] = (unsigned)atoi(word);
  for (unsigned i = 0; i < refused; i++)
    rules[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i],
                                                (unsigned char)(refused - i), 0);
  rules[1 + refused] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  rules[2 + refused] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  const struct sock_fprog program = {(unsigned short)(refused + 3), rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("refuse");
    return 2;
  }
  execvp(words[2], words + 2);
  perror(words[2]);
  return 127;
}
