// stages_more.c -- what stages.c calls.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "stages.h"

static pthread_mutex_t item_locks[4];

unsigned digest(const char* text) {
  unsigned sum = 7;
  while (*text != '\0') sum = sum * 31 + (unsigned)*text++;
  return sum;
}

unsigned short take(struct item* one) { return __sync_add_and_fetch(&one->users, 1); }

void print_to(report how, void* to, const char* format, ...) {
  char text[64];
  va_list list;

  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);

  how(text, (unsigned)strlen(text), to);
}

void* item_trylock(int which) {
  pthread_mutex_t* lock = &item_locks[which & 3];
  if (pthread_mutex_trylock(lock) == 0) return lock;
  return NULL;
}
void item_unlock(void* held) { pthread_mutex_unlock((pthread_mutex_t*)held); }
