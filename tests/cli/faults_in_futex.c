// faults_in_futex.c -- calls futex() where the word lies in a page of a file that has to be read
// first: the call waits for the disk, and then finds that it has nothing to wait for. Argument: a
// file to make. Prints: how often the page was not in memory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { rounds = 50, page = 4096 };

int main(int count, char** words) {
  const int file = open(words[count - 1], O_CREAT | O_RDWR, 0600);
  char text[page] = "";
  if (file < 0 || write(file, text, page) != page) {
    perror(words[count - 1]);
    return 1;
  }
  int absent = 0;
  for (int i = 0; i < rounds; ++i) {
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    int* word = mmap(NULL, page, PROT_READ, MAP_SHARED, file, 0);
    unsigned char there = 1;
    mincore(word, page, &there);
    absent += !(there & 1);
    syscall(SYS_futex, word, FUTEX_WAIT, 1, NULL, NULL, 0);
    munmap(word, page);
  }
  unlink(words[count - 1]);
  printf("%d\n", absent);
  return 0;
}
