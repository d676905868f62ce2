// What functions of the C library write through their arguments. Each program: one thread calls,
// the other one reads where the result is; only `all_locked` has them in order. One function stands
// for those of its line in call_table.cpp, and all that are written by hand are here.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <glob.h>
#include <grp.h>
#include <iconv.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <uchar.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>
#include <wordexp.h>

static _Alignas(16) char bytes[8192];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool locks;
static volatile int seen;
static volatile double number = 2.5;
static void* const to = bytes;

static void* nothing(void* argument) { return argument; }
static int compare(const void* a, const void* b) { return strcmp(a, b); }
static int compare_numbers(const void* a, const void* b) { return memcmp(a, b, 4); }

static void call_frexp(void) { frexp(number, to); }
static void call_modf(void) { modf(number, to); }
static void call_modfl(void) { modfl(number, to); }
static void call_remquo(void) { remquo(number, 2, to); }
static void call_sincos(void) {
  double c;
  sincos(number, to, &c);
}
static void call_sincos_second(void) {
  double s;
  sincos(number, &s, to);
}
static void call_lgamma_r(void) { lgamma_r(number, to); }
static void call_strtol(void) { strtol("12", to, 10); }
static void call_strtod(void) { strtod("12", to); }
static void call_strtoimax(void) { strtoimax("12", to, 10); }
static void call_wcstol(void) { wcstol(L"12", to, 10); }
static void call_wcstod(void) { wcstod(L"12", to); }
static void call_strfromd(void) { strfromd(to, 16, "%g", number); }
static void call_ecvt_r(void) {
  int p, s;
  ecvt_r(number, 3, &p, &s, to, 20);
}
static void call_gcvt(void) { gcvt(number, 3, to); }
static void call_initstate_r(void) {
  struct random_data d = {0};
  initstate_r(1, to, 64, &d);
}
static void call_random_r(void) {
  char room[64];
  struct random_data d = {0};
  initstate_r(1, room, 64, &d);
  random_r(&d, to);
}
static void call_drand48_r(void) {
  struct drand48_data d = {0};
  drand48_r(&d, to);
}
static void call_strxfrm(void) { strxfrm(to, "ab", 8); }
static void call_stpncpy(void) { stpncpy(to, "ab", 8); }
static void call_strtok_r(void) {
  char text[] = "a b";
  strtok_r(text, " ", to);
}
static void before_strsep(void) {
  static char text[] = "a b";
  *(char**)to = text;
}
static void call_strsep(void) { strsep(to, " "); }
static void call_wcsxfrm(void) { wcsxfrm(to, L"ab", 8); }
static void call_wcpcpy(void) { wcpcpy(to, L"ab"); }
static void call_wcsncpy(void) { wcsncpy(to, L"ab", 3); }
static void call_wcscat(void) { wcscat(to, L"ab"); }
static void call_wcsncat(void) { wcsncat(to, L"ab", 1); }
static void call_wcstok(void) {
  wchar_t text[] = L"a b";
  wcstok(text, L" ", to);
}
static void call_wmempcpy(void) { wmempcpy(to, L"ab", 2); }
static void call_swprintf(void) { swprintf(to, 16, L"%d", 12); }
static void call_swscanf(void) { swscanf(L"12", L"%d", to); }
static void call_swscanf_text(void) { swscanf(L"ab", L"%ls", to); }
static void call_asprintf(void) { free(asprintf(to, "%d", 1) > 0 ? *(char**)to : NULL); }
static void call_mbtowc(void) { mbtowc(to, "a", 1); }
static void call_wctomb(void) { wctomb(to, L'a'); }
static void call_mbrtowc(void) {
  mbstate_t s = {0};
  mbrtowc(to, "a", 1, &s);
}
static void call_mbrtowc_state(void) {
  wchar_t w;
  mbrtowc(&w, "a", 1, to);
}
static void call_mbrtoc16(void) {
  mbstate_t s = {0};
  mbrtoc16(to, "a", 1, &s);
}
static void call_wcrtomb(void) {
  mbstate_t s = {0};
  wcrtomb(to, L'a', &s);
}
static void call_mbstowcs(void) { mbstowcs(to, "ab", 8); }
static void call_wcstombs(void) { wcstombs(to, L"ab", 8); }
static void call_mbsrtowcs(void) {
  const char* from = "ab";
  mbstate_t s = {0};
  mbsrtowcs(to, &from, 8, &s);
}
static void call_wcsrtombs(void) {
  const wchar_t* from = L"ab";
  mbstate_t s = {0};
  wcsrtombs(to, &from, 8, &s);
}
static void call_iconv(void) {
  char text[] = "ab", *in = text, *out = to;
  size_t left = 2, room = 8;
  iconv_t c = iconv_open("UTF-16LE", "UTF-8");
  iconv(c, &in, &left, &out, &room);
  iconv_close(c);
}
static void before_iconv_moved(void) { *(size_t*)to = 2; }
static void call_iconv_moved(void) {
  char text[] = "ab", *in = text, room[8], *out = room;
  size_t rest = 8;
  iconv_t c = iconv_open("UTF-16LE", "UTF-8");
  iconv(c, &in, to, &out, &rest);
  iconv_close(c);
}
static void call_timegm(void) { timegm(to); }
static void call_mktime(void) { mktime(to); }
static void call_strptime(void) { strptime("2020", "%Y", to); }
static void call_wcsftime(void) {
  static const struct tm day = {.tm_mday = 1};
  wcsftime(to, 32, L"%Y", &day);
}
static void call_clock_getres(void) { clock_getres(CLOCK_MONOTONIC, to); }
static void call_clock_getcpuclockid(void) { clock_getcpuclockid(0, to); }
static void call_times(void) { times(to); }
static void call_getrusage(void) { getrusage(RUSAGE_SELF, to); }
static void call_getitimer(void) { getitimer(ITIMER_REAL, to); }
static void call_stat(void) { stat("/", to); }
static void call_lstat(void) { lstat("/", to); }
static void call_fstat(void) {
  int f = open("/", O_RDONLY);
  fstat(f, to);
  close(f);
}
static void call_fstatat(void) { fstatat(AT_FDCWD, "/", to, 0); }
static void call_statvfs(void) { statvfs("/", to); }
static void call_realpath(void) { realpath("/", to); }
static void call_readlink(void) { readlink("/proc/self/exe", to, 64); }
static void before_mkstemp(void) { strcpy(to, "/tmp/oXXXXXX"); }
static void call_mkstemp(void) {
  int f = mkstemp(to);
  close(f);
  unlink(to);
}
static void before_mkdtemp(void) { strcpy(to, "/tmp/oXXXXXX"); }
static void call_mkdtemp(void) { rmdir(mkdtemp(to)); }
static void call_tmpnam_r(void) { tmpnam_r(to); }
static void call_glob(void) { glob("/*", 0, NULL, to); }
static void call_scandir(void) { scandir("/", to, NULL, NULL); }
static void call_fgetpos(void) {
  FILE* f = fopen("/dev/null", "r");
  fgetpos(f, to);
  fclose(f);
}
static void call_open_memstream(void) {
  size_t n;
  FILE* f = open_memstream(to, &n);
  fclose(f);
}
static void before_getline(void) { *(char**)to = NULL; }
static void call_getline(void) {
  FILE* f = fopen("/proc/version", "r");
  size_t n = 0;
  getline(to, &n, f);
  fclose(f);
}
static void call_fgetws(void) {
  FILE* f = fopen("/proc/version", "r");
  fgetws(to, 8, f);
  fclose(f);
}
static void call_fwscanf(void) {
  FILE* f = fopen("/proc/version", "r");
  fwscanf(f, L"%ls", to);
  fclose(f);
}
static void call_eventfd_read(void) {
  int f = eventfd(1, 0);
  eventfd_read(f, to);
  close(f);
}
static void call_pipe(void) { pipe(to); }
static void call_pipe2(void) { pipe2(to, O_CLOEXEC); }
static void call_socketpair(void) { socketpair(AF_UNIX, SOCK_STREAM, 0, to); }
static void before_poll(void) {
  *(struct pollfd*)to = (struct pollfd){.fd = 100, .events = POLLIN};
}
static void call_poll(void) { poll(to, 1, 0); }
static void before_select(void) { FD_ZERO((fd_set*)to); }
static void call_select(void) {
  struct timeval t = {0, 0};
  select(1, to, NULL, NULL, &t);
}
static void call_epoll_wait(void) {
  int e = epoll_create1(0), v = eventfd(1, 0);
  struct epoll_event w = {.events = EPOLLIN};
  epoll_ctl(e, EPOLL_CTL_ADD, v, &w);
  epoll_wait(e, to, 1, 0);
  close(e);
  close(v);
}
static void call_getsockopt(void) {
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  socklen_t n = 4;
  getsockopt(s, SOL_SOCKET, SO_TYPE, to, &n);
  close(s);
}
static void before_getsockopt_length(void) { *(socklen_t*)to = 4; }
static void call_getsockopt_length(void) {
  int s = socket(AF_UNIX, SOCK_STREAM, 0), v;
  getsockopt(s, SOL_SOCKET, SO_TYPE, &v, to);
  close(s);
}
static void call_getsockname(void) {
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  socklen_t n = 100;
  getsockname(s, to, &n);
  close(s);
}
static void before_recvfrom_length(void) { *(socklen_t*)to = sizeof(struct sockaddr_storage); }
static void call_recvfrom_length(void) {
  int s[2];
  char c;
  struct sockaddr_storage a;
  socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
  write(s[0], "a", 1);
  recvfrom(s[1], &c, 1, 0, (void*)&a, to);
  close(s[0]);
  close(s[1]);
}
static void before_recvmsg(void) {
  static char c;
  static struct iovec v = {&c, 1};
  *(struct msghdr*)to = (struct msghdr){.msg_iov = &v, .msg_iovlen = 1};
}
static void call_recvmsg(void) {
  int s[2];
  socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
  write(s[0], "a", 1);
  recvmsg(s[1], to, 0);
  close(s[0]);
  close(s[1]);
}
static void call_getaddrinfo(void) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
  if (getaddrinfo("127.0.0.1", NULL, &hints, to) == 0) freeaddrinfo(*(struct addrinfo**)to);
}
static void call_getnameinfo(void) {
  struct sockaddr_in a = {.sin_family = AF_INET};
  getnameinfo((void*)&a, sizeof a, to, 64, NULL, 0, NI_NUMERICHOST);
}
static void call_inet_aton(void) { inet_aton("1.2.3.4", to); }
static void call_getpwuid_r(void) {
  struct passwd* p;
  getpwuid_r(0, to, bytes + 4096, 4096, &p);
}
static void call_getpwuid_r_found(void) {
  struct passwd p;
  char room[4096];
  getpwuid_r(0, &p, room, sizeof room, to);
}
static void call_getgrgid_r(void) {
  struct group* p;
  getgrgid_r(0, to, bytes + 4096, 4096, &p);
}
static void call_getprotobyname_r(void) {
  struct protoent p;
  char room[1024];
  getprotobyname_r("tcp", &p, room, sizeof room, to);
}
static void call_getresuid(void) {
  uid_t e, s;
  getresuid(to, &e, &s);
}
static void call_getgrouplist(void) {
  int n = 8;
  getgrouplist("root", 0, to, &n);
}
static void call_getloadavg(void) { getloadavg(to, 3); }
static void call_sysinfo(void) { sysinfo(to); }
static void call_getrlimit(void) { getrlimit(RLIMIT_NOFILE, to); }
static void call_prlimit(void) { prlimit(0, RLIMIT_NOFILE, NULL, to); }
static void call_confstr(void) { confstr(_CS_PATH, to, 64); }
static void call_sched_getparam(void) { sched_getparam(0, to); }
static void call_sched_getaffinity(void) { sched_getaffinity(0, sizeof(cpu_set_t), to); }
static void call_getcpu(void) { getcpu(to, NULL); }
static void call_dladdr(void) { dladdr(&stdout, to); }
static void call_fegetenv(void) { fegetenv(to); }
static void call_sigemptyset(void) { sigemptyset(to); }
static void call_sigaddset(void) { sigaddset(to, SIGUSR1); }
static void call_sigaction(void) { sigaction(SIGUSR1, NULL, to); }
static void call_sigprocmask(void) { sigprocmask(SIG_BLOCK, NULL, to); }
static void call_pthread_sigmask(void) { pthread_sigmask(SIG_BLOCK, NULL, to); }
static void call_sigpending(void) { sigpending(to); }
static void call_sigaltstack(void) { sigaltstack(NULL, to); }
static void call_sem_getvalue(void) {
  sem_t s;
  sem_init(&s, 0, 1);
  sem_getvalue(&s, to);
  sem_destroy(&s);
}
static void call_pthread_getname_np(void) { pthread_getname_np(pthread_self(), to, 16); }
static void call_pthread_getaffinity_np(void) {
  pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), to);
}
static void call_pthread_getschedparam(void) {
  struct sched_param p;
  pthread_getschedparam(pthread_self(), to, &p);
}
static void call_pthread_getcpuclockid(void) { pthread_getcpuclockid(pthread_self(), to); }
static void call_pthread_setcancelstate(void) { pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, to); }
static void call_pthread_setcanceltype(void) { pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, to); }
static void call_pthread_create(void) { pthread_create(to, NULL, nothing, NULL); }
static void call_pthread_join(void) {
  pthread_t t;
  pthread_create(&t, NULL, nothing, NULL);
  pthread_join(t, to);
}
static void call_pthread_key_create(void) { pthread_key_create(to, NULL); }
static void call_pthread_attr_init(void) { pthread_attr_init(to); }
static void call_pthread_attr_getstacksize(void) {
  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_getstacksize(&a, to);
}
static void call_pthread_getattr_np(void) { pthread_getattr_np(pthread_self(), to); }
static void call_pthread_mutexattr_settype(void) {
  pthread_mutexattr_settype(to, PTHREAD_MUTEX_RECURSIVE);
}
static void call_pthread_mutexattr_gettype(void) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_gettype(&a, to);
}
static void call_posix_memalign(void) {
  free(posix_memalign(to, 16, 16) == 0 ? *(void**)to : NULL);
}
static void call_posix_spawnattr_getflags(void) {
  posix_spawnattr_t a;
  posix_spawnattr_init(&a);
  posix_spawnattr_getflags(&a, to);
}
static void call_timerfd_gettime(void) {
  int f = timerfd_create(CLOCK_MONOTONIC, 0);
  timerfd_gettime(f, to);
  close(f);
}
static void call_timerfd_settime(void) {
  int f = timerfd_create(CLOCK_MONOTONIC, 0);
  struct itimerspec t = {0};
  timerfd_settime(f, 0, &t, to);
  close(f);
}
static void call_regcomp(void) {
  regcomp(to, "a", 0);
  regfree(to);
}
static void call_regexec(void) {
  regex_t r;
  regcomp(&r, "a", 0);
  regexec(&r, "ba", 1, to, 0);
  regfree(&r);
}
static void call_regerror(void) { regerror(REG_NOMATCH, NULL, to, 32); }
static void call_wordexp(void) {
  if (wordexp("a b", to, 0) == 0) wordfree(to);
}
static void before_tsearch(void) { *(void**)to = NULL; }
static void call_tsearch(void) { tsearch("a", to, compare); }
static void before_lsearch(void) { *(size_t*)to = 0; }
static void call_lsearch(void) {
  char room[8] = "";
  lsearch("a", room, to, 1, compare);
}
static void call_qsort(void) { qsort(to, 4, 4, compare_numbers); }
static void call_mincore(void) {
  void* m = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mincore(m, 4096, to);
  munmap(m, 4096);
}

static const struct scenario {
  const char* name;
  void (*call)(void);
  void (*before)(void);  // by main, before both
} all[] = {
    {"all_locked", NULL, NULL},
    {"frexp", call_frexp, NULL},
    {"modf", call_modf, NULL},
    {"modfl", call_modfl, NULL},
    {"remquo", call_remquo, NULL},
    {"sincos", call_sincos, NULL},
    {"sincos_second", call_sincos_second, NULL},
    {"lgamma_r", call_lgamma_r, NULL},
    {"strtol", call_strtol, NULL},
    {"strtod", call_strtod, NULL},
    {"strtoimax", call_strtoimax, NULL},
    {"wcstol", call_wcstol, NULL},
    {"wcstod", call_wcstod, NULL},
    {"strfromd", call_strfromd, NULL},
    {"ecvt_r", call_ecvt_r, NULL},
    {"gcvt", call_gcvt, NULL},
    {"initstate_r", call_initstate_r, NULL},
    {"random_r", call_random_r, NULL},
    {"drand48_r", call_drand48_r, NULL},
    {"strxfrm", call_strxfrm, NULL},
    {"stpncpy", call_stpncpy, NULL},
    {"strtok_r", call_strtok_r, NULL},
    {"strsep", call_strsep, before_strsep},
    {"wcsxfrm", call_wcsxfrm, NULL},
    {"wcpcpy", call_wcpcpy, NULL},
    {"wcsncpy", call_wcsncpy, NULL},
    {"wcscat", call_wcscat, NULL},
    {"wcsncat", call_wcsncat, NULL},
    {"wcstok", call_wcstok, NULL},
    {"wmempcpy", call_wmempcpy, NULL},
    {"swprintf", call_swprintf, NULL},
    {"swscanf", call_swscanf, NULL},
    {"swscanf_text", call_swscanf_text, NULL},
    {"asprintf", call_asprintf, NULL},
    {"mbtowc", call_mbtowc, NULL},
    {"wctomb", call_wctomb, NULL},
    {"mbrtowc", call_mbrtowc, NULL},
    {"mbrtowc_state", call_mbrtowc_state, NULL},
    {"mbrtoc16", call_mbrtoc16, NULL},
    {"wcrtomb", call_wcrtomb, NULL},
    {"mbstowcs", call_mbstowcs, NULL},
    {"wcstombs", call_wcstombs, NULL},
    {"mbsrtowcs", call_mbsrtowcs, NULL},
    {"wcsrtombs", call_wcsrtombs, NULL},
    {"iconv", call_iconv, NULL},
    {"iconv_moved", call_iconv_moved, before_iconv_moved},
    {"timegm", call_timegm, NULL},
    {"mktime", call_mktime, NULL},
    {"strptime", call_strptime, NULL},
    {"wcsftime", call_wcsftime, NULL},
    {"clock_getres", call_clock_getres, NULL},
    {"clock_getcpuclockid", call_clock_getcpuclockid, NULL},
    {"times", call_times, NULL},
    {"getrusage", call_getrusage, NULL},
    {"getitimer", call_getitimer, NULL},
    {"stat", call_stat, NULL},
    {"lstat", call_lstat, NULL},
    {"fstat", call_fstat, NULL},
    {"fstatat", call_fstatat, NULL},
    {"statvfs", call_statvfs, NULL},
    {"realpath", call_realpath, NULL},
    {"readlink", call_readlink, NULL},
    {"mkstemp", call_mkstemp, before_mkstemp},
    {"mkdtemp", call_mkdtemp, before_mkdtemp},
    {"tmpnam_r", call_tmpnam_r, NULL},
    {"glob", call_glob, NULL},
    {"scandir", call_scandir, NULL},
    {"fgetpos", call_fgetpos, NULL},
    {"open_memstream", call_open_memstream, NULL},
    {"getline", call_getline, before_getline},
    {"fgetws", call_fgetws, NULL},
    {"fwscanf", call_fwscanf, NULL},
    {"eventfd_read", call_eventfd_read, NULL},
    {"pipe", call_pipe, NULL},
    {"pipe2", call_pipe2, NULL},
    {"socketpair", call_socketpair, NULL},
    {"poll", call_poll, before_poll},
    {"select", call_select, before_select},
    {"epoll_wait", call_epoll_wait, NULL},
    {"getsockopt", call_getsockopt, NULL},
    {"getsockopt_length", call_getsockopt_length, before_getsockopt_length},
    {"getsockname", call_getsockname, NULL},
    {"recvfrom_length", call_recvfrom_length, before_recvfrom_length},
    {"recvmsg", call_recvmsg, before_recvmsg},
    {"getaddrinfo", call_getaddrinfo, NULL},
    {"getnameinfo", call_getnameinfo, NULL},
    {"inet_aton", call_inet_aton, NULL},
    {"getpwuid_r", call_getpwuid_r, NULL},
    {"getpwuid_r_found", call_getpwuid_r_found, NULL},
    {"getgrgid_r", call_getgrgid_r, NULL},
    {"getprotobyname_r", call_getprotobyname_r, NULL},
    {"getresuid", call_getresuid, NULL},
    {"getgrouplist", call_getgrouplist, NULL},
    {"getloadavg", call_getloadavg, NULL},
    {"sysinfo", call_sysinfo, NULL},
    {"getrlimit", call_getrlimit, NULL},
    {"prlimit", call_prlimit, NULL},
    {"confstr", call_confstr, NULL},
    {"sched_getparam", call_sched_getparam, NULL},
    {"sched_getaffinity", call_sched_getaffinity, NULL},
    {"getcpu", call_getcpu, NULL},
    {"dladdr", call_dladdr, NULL},
    {"fegetenv", call_fegetenv, NULL},
    {"sigemptyset", call_sigemptyset, NULL},
    {"sigaddset", call_sigaddset, NULL},
    {"sigaction", call_sigaction, NULL},
    {"sigprocmask", call_sigprocmask, NULL},
    {"pthread_sigmask", call_pthread_sigmask, NULL},
    {"sigpending", call_sigpending, NULL},
    {"sigaltstack", call_sigaltstack, NULL},
    {"sem_getvalue", call_sem_getvalue, NULL},
    {"pthread_getname_np", call_pthread_getname_np, NULL},
    {"pthread_getaffinity_np", call_pthread_getaffinity_np, NULL},
    {"pthread_getschedparam", call_pthread_getschedparam, NULL},
    {"pthread_getcpuclockid", call_pthread_getcpuclockid, NULL},
    {"pthread_setcancelstate", call_pthread_setcancelstate, NULL},
    {"pthread_setcanceltype", call_pthread_setcanceltype, NULL},
    {"pthread_create", call_pthread_create, NULL},
    {"pthread_join", call_pthread_join, NULL},
    {"pthread_key_create", call_pthread_key_create, NULL},
    {"pthread_attr_init", call_pthread_attr_init, NULL},
    {"pthread_attr_getstacksize", call_pthread_attr_getstacksize, NULL},
    {"pthread_getattr_np", call_pthread_getattr_np, NULL},
    {"pthread_mutexattr_settype", call_pthread_mutexattr_settype, NULL},
    {"pthread_mutexattr_gettype", call_pthread_mutexattr_gettype, NULL},
    {"posix_memalign", call_posix_memalign, NULL},
    {"posix_spawnattr_getflags", call_posix_spawnattr_getflags, NULL},
    {"timerfd_gettime", call_timerfd_gettime, NULL},
    {"timerfd_settime", call_timerfd_settime, NULL},
    {"regcomp", call_regcomp, NULL},
    {"regexec", call_regexec, NULL},
    {"regerror", call_regerror, NULL},
    {"wordexp", call_wordexp, NULL},
    {"tsearch", call_tsearch, before_tsearch},
    {"lsearch", call_lsearch, before_lsearch},
    {"qsort", call_qsort, NULL},
    {"mincore", call_mincore, NULL},
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
      if (all[i].before != NULL) all[i].before();
      all[i].call();
    }
  }
  if (locks) pthread_mutex_unlock(&mutex);
  return NULL;
}
static void beside(const struct scenario* one) {
  pthread_t t;
  if (one->before != NULL) one->before();
  locks = one == all;
  if (pthread_create(&t, NULL, calls, (void*)one) != 0) abort();
  if (locks) pthread_mutex_lock(&mutex);
  for (int i = 0; i < 64; ++i) seen += bytes[i];
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
