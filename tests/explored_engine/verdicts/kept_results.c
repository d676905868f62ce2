// Functions of the C library that keep something of their own, by POSIX's list of those that need
// not be safe for threads: both threads call. Those that glibc has made safe pass, and so do all
// under a mutex. Also directories and conversions that two threads use at once.
#define _GNU_SOURCE
#include <dirent.h>
#include <getopt.h>
#include <grp.h>
#include <iconv.h>
#include <libgen.h>
#include <locale.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <shadow.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <wchar.h>

static DIR* folder;
static iconv_t conversion;
static char* words[] = {"a", "-b", NULL};
static const time_t then = 5;
static const struct tm day = {.tm_mday = 1};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool locks;
static _Thread_local volatile int seen;

static void call_localtime(void) { localtime(&then); }
static void call_gmtime(void) { gmtime(&then); }
static void call_ctime(void) { ctime(&then); }
static void call_asctime(void) { asctime(&day); }
static void call_strtok(void) {
  char b[] = "a b";
  strtok(b, " ");
}
static void call_getpwuid(void) { getpwuid(0); }
static void call_getpwnam(void) { getpwnam("root"); }
static void call_getgrgid(void) { getgrgid(0); }
static void call_getgrnam(void) { getgrnam("root"); }
static void call_getpwent(void) { getpwent(); }
static void call_getgrent(void) { getgrent(); }
static void call_gethostbyname(void) { gethostbyname("127.0.0.1"); }
static void call_getservbyname(void) { getservbyname("http", "tcp"); }
static void call_getprotobyname(void) { getprotobyname("tcp"); }
static void call_ether_ntoa(void) {
  struct ether_addr a = {{1}};
  ether_ntoa(&a);
}
static void call_ttyname(void) { ttyname(0); }
static void call_getlogin(void) { getlogin(); }
static void call_tmpnam_null(void) { tmpnam(NULL); }
static void call_drand48(void) { drand48(); }
static void call_lrand48(void) { lrand48(); }
static void call_srand48(void) { srand48(1); }
static void call_hsearch(void) {
  ENTRY e = {"a", 0};
  hsearch(e, ENTER);
}
static void call_getopt(void) { getopt(2, words, "b"); }
static void call_getopt_long(void) { getopt_long(2, words, "b", 0, 0); }
static void call_ecvt(void) {
  int d, s;
  ecvt(1.5, 2, &d, &s);
}
static void call_fcvt(void) {
  int d, s;
  fcvt(1.5, 2, &d, &s);
}
static void call_mbrtowc_null(void) {
  wchar_t w;
  mbrtowc(&w, "a", 1, NULL);
}
static void call_wcrtomb_null(void) {
  char b[8];
  wcrtomb(b, L'a', NULL);
}
static void call_mblen(void) { mblen("a", 1); }
static void call_mbtowc(void) {
  wchar_t w;
  mbtowc(&w, "a", 1);
}
static void call_wctomb(void) {
  char b[8];
  wctomb(b, L'a');
}
static void call_getutent(void) { getutent(); }
static void call_setenv(void) { setenv("A", "1", 1); }
static void call_unsetenv(void) { unsetenv("A"); }
static void call_putenv(void) { putenv("A=1"); }
static void call_localeconv(void) { localeconv(); }
static void call_getdate(void) { getdate("1"); }
static void call_ptsname(void) { ptsname(0); }
static void call_l64a(void) { l64a(5); }
static void call_getspnam(void) { getspnam("root"); }
static void call_getservent(void) { getservent(); }
static void call_tzset(void) { tzset(); }
static void call_rand(void) { seen = rand(); }
static void call_random(void) { random(); }
static void call_atoi(void) { seen = atoi("1"); }
static void call_basename(void) {
  char b[] = "/a/b";
  basename(b);
}
static void call_strerror(void) { strerror(1); }
static void call_strsignal(void) { strsignal(1); }
static void call_mbrtowc_own(void) {
  wchar_t w;
  mbstate_t s = {0};
  mbrtowc(&w, "a", 1, &s);
}
static void call_readdir(void) { readdir(folder); }
static void call_rewinddir(void) { rewinddir(folder); }
static void call_iconv(void) {
  char from[] = "a", to[8], *at = from, *end = to;
  size_t left = 1, room = sizeof to;
  iconv(conversion, &at, &left, &end, &room);
}

static const struct scenario {
  const char* name;
  void (*call)(void);
} all[] = {
    {"all_locked", NULL},
    {"localtime", call_localtime},
    {"gmtime", call_gmtime},
    {"ctime", call_ctime},
    {"asctime", call_asctime},
    {"strtok", call_strtok},
    {"getpwuid", call_getpwuid},
    {"getpwnam", call_getpwnam},
    {"getgrgid", call_getgrgid},
    {"getgrnam", call_getgrnam},
    {"getpwent", call_getpwent},
    {"getgrent", call_getgrent},
    {"gethostbyname", call_gethostbyname},
    {"getservbyname", call_getservbyname},
    {"getprotobyname", call_getprotobyname},
    {"ether_ntoa", call_ether_ntoa},
    {"ttyname", call_ttyname},
    {"getlogin", call_getlogin},
    {"tmpnam_null", call_tmpnam_null},
    {"drand48", call_drand48},
    {"lrand48", call_lrand48},
    {"srand48", call_srand48},
    {"hsearch", call_hsearch},
    {"getopt", call_getopt},
    {"getopt_long", call_getopt_long},
    {"ecvt", call_ecvt},
    {"fcvt", call_fcvt},
    {"mbrtowc_null", call_mbrtowc_null},
    {"wcrtomb_null", call_wcrtomb_null},
    {"mblen", call_mblen},
    {"mbtowc", call_mbtowc},
    {"wctomb", call_wctomb},
    {"getutent", call_getutent},
    {"setenv", call_setenv},
    {"unsetenv", call_unsetenv},
    {"putenv", call_putenv},
    {"localeconv", call_localeconv},
    {"getdate", call_getdate},
    {"ptsname", call_ptsname},
    {"l64a", call_l64a},
    {"getspnam", call_getspnam},
    {"getservent", call_getservent},
    {"tzset", call_tzset},
    {"rand", call_rand},
    {"random", call_random},
    {"atoi", call_atoi},
    {"basename", call_basename},
    {"strerror", call_strerror},
    {"strsignal", call_strsignal},
    {"mbrtowc_own", call_mbrtowc_own},
    {"readdir", call_readdir},
    {"rewinddir", call_rewinddir},
    {"iconv", call_iconv},
};
enum { count = sizeof all / sizeof *all };

static void* calls(void* which) {
  const struct scenario* const one = which;
  if (locks) pthread_mutex_lock(&mutex);
  if (one != all) one->call();
  else
    for (int i = 1; i < count; ++i) all[i].call();
  if (locks) pthread_mutex_unlock(&mutex);
  return NULL;
}
static void by_both(const struct scenario* one) {
  pthread_t t;
  locks = one == all;
  folder = opendir("/");
  conversion = iconv_open("UTF-16LE", "UTF-8");
  hcreate(8);
  if (pthread_create(&t, NULL, calls, (void*)one) != 0) abort();
  calls((void*)one);
  pthread_join(t, NULL);
}
int main(int argc, char** argv) {
  for (size_t i = 0; i < count; ++i) {
    if (argc < 2) puts(all[i].name);
    else if (strcmp(all[i].name, argv[1]) == 0) return by_both(&all[i]), 0;
  }
  return argc < 2 ? 0 : 2;
}
