// What stages.c and stages_more.c share: a store whose sections are unsafe in all the ways that the
// stages mend, one after the other.
#pragma once

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*report)(const char* name, unsigned length, void* to);

struct item {
  unsigned short users;
  long value;
};

extern int verbose;
extern volatile int stopping;

unsigned digest(const char* text);                             // plain, in another file
unsigned short take(struct item* one);                         // an atomic instruction
void print_to(report how, void* to, const char* format, ...);  // variadic
void* item_trylock(int which);
void item_unlock(void* held);
const char* library_version(void);  // stands for another library's

#ifdef __cplusplus
}
#endif
