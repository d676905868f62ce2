/* What leaves a section, and what it declares and is used behind it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t jumps = PTHREAD_MUTEX_INITIALIZER, ends = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER, wide = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t called = PTHREAD_MUTEX_INITIALIZER, named = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER, before = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stays_within = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t crashes = PTHREAD_MUTEX_INITIALIZER, caught = PTHREAD_MUTEX_INITIALIZER;
static long n;
static unsigned long long count = 5;
static int (*chosen)(const char*) = puts;
static jmp_buf place;

__attribute__((noreturn)) static void die(const char* why) {
  puts(why);
  exit(3);
}

static int two_jumps(int first, int second) {
  pthread_mutex_lock(&jumps);
  n++;
  if (first) {
    pthread_mutex_unlock(&jumps);
    if (second) return 1;
    return 2;
  }
  n++;
  pthread_mutex_unlock(&jumps);
  return 3;
}

static long either_jump(int first, int second) {
  for (int i = 0; i < 3; ++i) {
    pthread_mutex_lock(&jumps);
    n++;
    if (first) {
      pthread_mutex_unlock(&jumps);
      if (second) break;
      else continue;
    }
    n++;
    pthread_mutex_unlock(&jumps);
    n += 10;
  }
  return n;
}

static void may_end(int how) {
  pthread_mutex_lock(&ends);
  if (how == 1) {
    pthread_mutex_unlock(&ends);
    die("ended");
  }
  if (how == 2) {
    pthread_mutex_unlock(&ends);
    exit(2);
  }
  n++;
  pthread_mutex_unlock(&ends);
}

/* The jump behind the inner one's unlock, in a block of its own, stays in the section. */
static void jump_within(int x) {
  pthread_mutex_lock(&stays_within);
  while (n > 0) {
    n--;
    if (x) {
      pthread_mutex_unlock(&stays_within);
      if (n % 2) {
        break;
      }
      return;
    }
  }
  pthread_mutex_unlock(&stays_within);
}

static int counts_calls(void) {
  pthread_mutex_lock(&kept);
  static int calls = 5; /* begins once */
  calls++;
  pthread_mutex_unlock(&kept);
  return calls;
}

static void of_many_types(void) {
  pthread_mutex_lock(&wide);
  unsigned long long count = n * 100;  // another one
  int (*call)(const char*) = chosen;
  const char* text = "text";
  long plain, more;
  plain = more = n;
  pthread_mutex_unlock(&wide);
  call(text);
  printf("%llu %ld %ld\n", count, plain, more);
}

__attribute__((noinline)) static void show(const char* text) {
  char used[64];
  memset(used, 'x', sizeof used);
  __asm__ volatile("" ::"r"(used) : "memory");
  puts(text);
}

/* `buffer` is used behind the section, though not by its name. */
static void points_into(void) {
  const char* text;
  pthread_mutex_lock(&called);
  char buffer[32];
  snprintf(buffer, sizeof buffer, "number %ld", n);
  text = buffer;
  pthread_mutex_unlock(&called);
  char other[32];
  memset(other, 'y', sizeof other);
  __asm__ volatile("" ::"r"(other) : "memory");
  show(text);
}

static int moves_with_a_name(int x) {
  pthread_mutex_lock(&inner);
  if (x) {
    long long count = n * 100;
    pthread_mutex_unlock(&inner);
    printf("%lld\n", count);
    return 1;
  }
  pthread_mutex_unlock(&inner);
  return 0;
}

static void another_before(void) {
  pthread_mutex_lock(&before);
  count++;
  unsigned long long count = 100;
  pthread_mutex_unlock(&before);
  printf("%llu\n", count);
}

static void is_pointed_to(void) {
  const char* text;
  pthread_mutex_lock(&named);
  char name[] = "name";
  text = name;
  pthread_mutex_unlock(&named);
  show(text);
}

__attribute__((noinline)) static void may_throw(int x) {
  if (x) longjmp(place, 1);
  n++;
}

/* GCC crashes at a transaction that setjmp may come back from. */
static void comes_back(int x) {
  if (setjmp(place)) return;
  pthread_mutex_lock(&crashes);
  may_throw(x);
  pthread_mutex_unlock(&crashes);
}

/* It knows of a jump to a place within it. */
static void goes_on(void) {
  pthread_mutex_lock(&caught);
  if (setjmp(place) == 0) {
    n++;
    longjmp(place, 1);
  }
  pthread_mutex_unlock(&caught);
}

int main(int argc, char** argv) {
  (void)argv;
  printf("%d %d %d\n", two_jumps(0, 0), two_jumps(1, 0), two_jumps(1, 1));
  printf("%ld ", either_jump(1, 0));
  printf("%ld ", either_jump(1, 1));
  printf("%ld\n", either_jump(0, 1));
  may_end(0);
  counts_calls();
  printf("%d %ld\n", counts_calls(), n);
  of_many_types();
  points_into();
  is_pointed_to();
  moves_with_a_name(0);
  moves_with_a_name(1);
  another_before();
  jump_within(0);
  comes_back(0);
  goes_on();
  printf("%llu %ld\n", count, n);
  may_end(argc);
  return 0;
}
