/* old_glibc.c -- what newer C libraries have and the oldest one that a wheel is for does not.
   Linked into each product of a portable build (SYNCOPATE_PORTABLE), and visible there alone. Where
   the running C library has the real thing, that is used: it is looked for once, by name, when the
   product is loaded. Some names are weak: a machine has them itself, for its programs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* glibc 2.32. libstdc++ asks it whether atomic operations can be left out: never. */
char __libc_single_threaded = 0;

/* glibc 2.35. 0: no area of restartable sequences is known, as before the library is loaded. */
unsigned int __rseq_size = 0;
ptrdiff_t __rseq_offset = 0;

static int (*real_find_object)(void*, struct dl_find_object*) = NULL;
static const char* (*real_strerrordesc)(int) = NULL;
static const char* (*real_sigdescr)(int) = NULL;

__attribute__((constructor(101))) static void look_for_real_ones(void) {
  const unsigned int* size = dlsym(RTLD_DEFAULT, "__rseq_size");
  const ptrdiff_t* offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
  *(void**)&real_find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
  *(void**)&real_strerrordesc = dlsym(RTLD_DEFAULT, "strerrordesc_np");
  *(void**)&real_sigdescr = dlsym(RTLD_DEFAULT, "sigdescr_np");
  if (size != NULL && offset != NULL) {
    __rseq_offset = *offset;
    __rseq_size = *size; /* last: readers look at it first */
  }
}

struct search {
  uintptr_t address;
  struct dl_find_object* result;
};

static int holds(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct search* const wanted = data;
  const ElfW(Phdr)* table = NULL;
  const ElfW(Phdr)* around = NULL;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const each = &info->dlpi_phdr[i];
    const uintptr_t from = info->dlpi_addr + each->p_vaddr;
    if (each->p_type == PT_GNU_EH_FRAME) table = each;
    if (each->p_type != PT_LOAD) continue;
    if (wanted->address - from < each->p_memsz) around = each;
    if (from < begin) begin = from;
    if (from + each->p_memsz > end) end = from + each->p_memsz;
  }
  if (around == NULL) return 0;
  if (table == NULL) return -1;
  memset(wanted->result, 0, sizeof *wanted->result);
  wanted->result->dlfo_map_start = (void*)begin;
  wanted->result->dlfo_map_end = (void*)end;
  wanted->result->dlfo_eh_frame = (void*)(info->dlpi_addr + table->p_vaddr);
  return 1;
}

/* glibc 2.35. The unwinder of GCC 12 and later finds a function's table by it. */
int _dl_find_object(void* address, struct dl_find_object* result) {
  if (real_find_object != NULL) return real_find_object(address, result);
  struct search wanted = {(uintptr_t)address, result};
  return dl_iterate_phdr(holds, &wanted) == 1 ? 0 : -1;
}

/* glibc 2.32. */
const char* strerrordesc_np(int number) {
  return real_strerrordesc != NULL ? real_strerrordesc(number) : strerror(number);
}

/* glibc 2.32. None for a real-time signal. */
const char* sigdescr_np(int number) {
  if (real_sigdescr != NULL) return real_sigdescr(number);
  return number > 0 && number < 32 ? strsignal(number) : NULL;
}

/* glibc 2.30. */
__attribute__((weak)) pid_t gettid(void) {
  return (pid_t)syscall(SYS_gettid);
}

/* glibc 2.29. */
__attribute__((weak)) int getcpu(unsigned int* processor, unsigned int* node) {
  return (int)syscall(SYS_getcpu, processor, node, NULL);
}

/* glibc 2.36. libstdc++'s random_device names it, which nothing here uses. */
__attribute__((weak)) unsigned int arc4random(void) {
  unsigned int number = 0;
  while (syscall(SYS_getrandom, &number, sizeof number, 0) != sizeof number) {
  }
  return number;
}
