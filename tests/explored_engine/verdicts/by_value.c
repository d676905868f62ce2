// structs.cpp's question in C: one thread calls with structs that others see, or has the result put
// there; the other one writes them. `all_locked` has them in order.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct small {
  int first, second;
};
struct mixed {
  double first;
  int second;
};
struct large {
  long each[6];
};
static struct small a_small;
static struct mixed a_mixed;
static struct large a_large, many[3];
static volatile long seen;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct small make_small(int n) { return (struct small){n, n}; }
static struct mixed make_mixed(int n) { return (struct mixed){1, n}; }
static struct large make_large(long n) { return (struct large){{n}}; }
static struct large pass_on(void) { return a_large; }
static long take_small(struct small s) { return s.second; }
static long take_mixed(struct mixed s) { return s.second; }
static long take_large(struct large s) { return s.each[5]; }
static struct large through(struct large s, int n) { return s.each[n] != 0 ? s : make_large(n); }

static void result_small(void) { a_small = make_small(1); }
static void result_mixed(void) { a_mixed = make_mixed(1); }
static void result_large(void) { a_large = make_large(1); }
static void result_element(void) { many[1] = make_large(1); }
static void result_of_shared(void) { seen = pass_on().each[0]; }
static void argument_small(void) { seen = take_small(a_small); }
static void argument_mixed(void) { seen = take_mixed(a_mixed); }
static void argument_large(void) { seen = take_large(a_large); }
static void argument_element(void) { seen = take_large(many[1]); }
static void through_both(void) { many[2] = through(many[1], 2); }
static void by_pointer(void) {
  struct large (*make)(long) = seen == 0 ? make_large : NULL;
  a_large = make(1);
}

static const struct scenario {
  const char* name;
  void (*call)(void);
} all[] = {
    {"all_locked", NULL},
    {"result_small", result_small},
    {"result_mixed", result_mixed},
    {"result_large", result_large},
    {"result_element", result_element},
    {"result_of_shared", result_of_shared},
    {"argument_small", argument_small},
    {"argument_mixed", argument_mixed},
    {"argument_large", argument_large},
    {"argument_element", argument_element},
    {"through_both", through_both},
    {"by_pointer", by_pointer},
};
enum { count = sizeof all / sizeof *all };

static void lock_for(const struct scenario* one) {
  if (one == all) pthread_mutex_lock(&mutex);
}
static void unlock_for(const struct scenario* one) {
  if (one == all) pthread_mutex_unlock(&mutex);
}
static void* calls(void* which) {
  const struct scenario* const one = which;
  lock_for(one);
  if (one != all) one->call();
  else
    for (int i = 1; i < count; ++i) all[i].call();
  unlock_for(one);
  return NULL;
}
static void beside(const struct scenario* one) {
  pthread_t t;
  if (pthread_create(&t, NULL, calls, (void*)one) != 0) abort();
  lock_for(one);
  a_small.first = a_small.second = 3;
  a_mixed.first = a_mixed.second = 3;
  for (int i = 0; i < 6; ++i) a_large.each[i] = many[1].each[i] = many[2].each[i] = 3;
  unlock_for(one);
  pthread_join(t, NULL);
}
int main(int argc, char** argv) {
  for (size_t i = 0; i < count; ++i) {
    if (argc < 2) puts(all[i].name);
    else if (strcmp(all[i].name, argv[1]) == 0) return beside(&all[i]), 0;
  }
  return argc < 2 ? 0 : 2;
}
