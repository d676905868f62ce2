// What the C library's small results and its functions on strings write where the caller says,
// also where compilers know the function and could write by themselves. Each program: one thread
// calls, the other one reads; only `all_locked` has them in order.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static _Alignas(16) char bytes[4096], other[16] = "another";
static const time_t then = 1000;
static struct tm day = {.tm_mday = 1};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool locks;
static volatile int seen, compared;

static void call_memset_by_name(void) { __builtin_memset(bytes, 0, 8); }
static void call_memcpy_by_name(void) { __builtin_memcpy(bytes, other, 13); }
static void call_strcpy_by_name(void) { __builtin_strcpy(bytes, "ab"); }
static void call_bzero(void) { bzero(bytes, 8); }
static void call_bcopy(void) { bcopy(other, bytes, 13); }
static void call_mempcpy(void) { mempcpy(bytes, other, 13); }
static void call_stpcpy(void) { stpcpy(bytes, "ab"); }
static void call_strcat(void) { strcat(bytes, "ab"); }
static void call_strncat(void) { strncat(bytes, "ab", 1); }
static void call_strncpy(void) { strncpy(bytes, "ab", 8); }
static void call_sprintf(void) { sprintf(bytes, "ab"); }
static void call_snprintf(void) { snprintf(bytes, 8, "ab"); }
static void call_memccpy(void) { memccpy(bytes, other, 0, 8); }
static void call_swab(void) { swab(other, bytes, 8); }
static void call_wmemset(void) { wmemset((wchar_t*)bytes, 0, 2); }
static void call_wcscpy(void) { wcscpy((wchar_t*)bytes, L"a"); }
static void call_clock_gettime(void) { clock_gettime(CLOCK_MONOTONIC, (struct timespec*)bytes); }
static void call_timespec_get(void) { timespec_get((struct timespec*)bytes, TIME_UTC); }
static void call_gettimeofday(void) { gettimeofday((struct timeval*)bytes, NULL); }
static void call_time(void) { time((time_t*)bytes); }
static void call_gmtime_r(void) { gmtime_r(&then, (struct tm*)bytes); }
static void call_localtime_r(void) { localtime_r(&then, (struct tm*)bytes); }
static void call_asctime_r(void) { asctime_r(&day, bytes); }
static void call_ctime_r(void) { ctime_r(&then, bytes); }
static void call_strftime(void) { strftime(bytes, 32, "%Y", &day); }
static void call_rand_r(void) { rand_r((unsigned*)bytes); }
static void call_erand48(void) { erand48((unsigned short*)bytes); }
static void call_getrandom(void) { getrandom(bytes, 8, 0); }
static void call_uname(void) { uname((struct utsname*)bytes); }
static void call_gethostname(void) { gethostname(bytes, sizeof bytes); }
static void call_getcwd(void) { getcwd(bytes, sizeof bytes); }
static void call_inet_pton(void) { inet_pton(AF_INET, "1.2.3.4", bytes); }
static void call_inet_ntop(void) { inet_ntop(AF_INET, other, bytes, 20); }
static void call_strncmp(void) { compared = strncmp(bytes, "ab", 2); }

static const struct scenario {
  const char* name;
  void (*call)(void);
} all[] = {
    {"all_locked", NULL},
    {"memset_by_name", call_memset_by_name},
    {"memcpy_by_name", call_memcpy_by_name},
    {"strcpy_by_name", call_strcpy_by_name},
    {"bzero", call_bzero},
    {"bcopy", call_bcopy},
    {"mempcpy", call_mempcpy},
    {"stpcpy", call_stpcpy},
    {"strcat", call_strcat},
    {"strncat", call_strncat},
    {"strncpy", call_strncpy},
    {"sprintf", call_sprintf},
    {"snprintf", call_snprintf},
    {"memccpy", call_memccpy},
    {"swab", call_swab},
    {"wmemset", call_wmemset},
    {"wcscpy", call_wcscpy},
    {"clock_gettime", call_clock_gettime},
    {"timespec_get", call_timespec_get},
    {"gettimeofday", call_gettimeofday},
    {"time", call_time},
    {"gmtime_r", call_gmtime_r},
    {"localtime_r", call_localtime_r},
    {"asctime_r", call_asctime_r},
    {"ctime_r", call_ctime_r},
    {"strftime", call_strftime},
    {"rand_r", call_rand_r},
    {"erand48", call_erand48},
    {"getrandom", call_getrandom},
    {"uname", call_uname},
    {"gethostname", call_gethostname},
    {"getcwd", call_getcwd},
    {"inet_pton", call_inet_pton},
    {"inet_ntop", call_inet_ntop},
    {"strncmp", call_strncmp},
};
enum { count = sizeof all / sizeof *all };

// The first of `all` stands for the others.
static void* calls(void* which) {
  const struct scenario* const one = which;
  if (locks) pthread_mutex_lock(&mutex);
  if (one != all) {
    one->call();
  } else {
    for (int i = 1; i < count; ++i) {
      memset(bytes, 0, sizeof bytes);
      all[i].call();
    }
  }
  if (locks) pthread_mutex_unlock(&mutex);
  return NULL;
}
// The other one writes beside a call that only reads.
static void beside(const struct scenario* one) {
  pthread_t t;
  locks = one == all;
  if (pthread_create(&t, NULL, calls, (void*)one) != 0) abort();
  if (locks) pthread_mutex_lock(&mutex);
  if (one->call == call_strncmp) bytes[0] = 'a';
  for (int i = 0; i < 16; ++i) seen += bytes[i];
  if (locks) pthread_mutex_unlock(&mutex);
  pthread_join(t, NULL);
}
int main(int argc, char** argv) {
  for (size_t i = 0; i < count; ++i) {
    if (argc < 2) puts(all[i].name);
    else if (strcmp(all[i].name, argv[1]) == 0) return beside(&all[i]), 0;
  }
  return argc < 2 ? 0 : 2;
}
