// stages.c -- one section for each stage that makes it safe.
#include "stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

int verbose = 1;
volatile int stopping;

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static struct item items[4];
static unsigned sum;
static long total;
static char* names;
static char lines[512];

static void append(const char* name, unsigned length, void* to) {
  memcpy(to, name, length + 1);
}

static void plain(int i) {  // from the beginning
  pthread_mutex_lock(&stats_lock);
  total += i;
  pthread_mutex_unlock(&stats_lock);
}

static void other_file(const char* text) {  // callable: a function of another file
  pthread_mutex_lock(&cache_lock);
  sum += digest(text);
  pthread_mutex_unlock(&cache_lock);
}

static int counts(int i) {  // max: an atomic instruction, a volatile variable
  int users = 0;
  pthread_mutex_lock(&cache_lock);
  if (!stopping) users = take(&items[i & 3]);
  pthread_mutex_unlock(&cache_lock);
  return users;
}

static int users_of(int i) {
  int users = 0;
  pthread_mutex_lock(&cache_lock);
  users = items[i].users;
  pthread_mutex_unlock(&cache_lock);
  return users;
}

static void tries(int i) {  // a lock that is a word
  pthread_mutex_lock(&cache_lock);
  void* const held = item_trylock(i);
  if (held) {
    ++items[i & 3].value;
    item_unlock(held);
  }
  pthread_mutex_unlock(&cache_lock);
}

static void grows(const char* name) {  // lib: the C library
  pthread_mutex_lock(&cache_lock);
  const size_t old = names ? strlen(names) : 0;
  names = realloc(names, old + strlen(name) + 1);
  strncpy(names + old, name, strlen(name) + 1);
  pthread_mutex_unlock(&cache_lock);
}

static void reports(report how, void* to) {  // lib: variadic, and through a pointer
  pthread_mutex_lock(&stats_lock);
  print_to(how, to, "%s=%ld", "total", total);
  pthread_mutex_unlock(&stats_lock);
}

static void logs(int i) {  // oncommit: output, and another library
  pthread_mutex_lock(&stats_lock);
  if (verbose) fprintf(stderr, "%d of %s\n", i, library_version());
  if (verbose > 1) fprintf(stderr, "never\n");
  pthread_mutex_unlock(&stats_lock);
}

static void* work(void* number) {
  char text[64];
  for (int i = 0; i < 200; ++i) {
    plain(i);
    other_file("some text");
    counts(i);
    reports(append, text);
    if (strncmp(text, "total=", 6)) abort();
  }
  return number;
}

int main(void) {
  run_threads(work);
  for (int i = 0; i < 8; ++i) tries(i);
  grows("one,");
  grows("two");
  reports(append, lines);
  logs(3);
  printf("%ld %u %d %ld %s %s\n", total, sum, users_of(1), items[3].value, names, lines);
  return 0;
}
