// call_table.cpp -- what functions of the C library write, and read, of the program's memory: a
// race with it is found. A line for each; call_rules.h says what the rules mean. Those that take
// lists of arguments, move pointers along or are models here stand elsewhere (call_lists.cpp,
// call_results.cpp, model/front); tests/cli_machines/test_calls.py compares all with the headers.
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <cwchar>

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fenv.h>
#include <getopt.h>
#include <glob.h>
#include <grp.h>
#include <ifaddrs.h>
#include <mntent.h>
#include <mqueue.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pthread.h>
#include <pty.h>
#include <pwd.h>
#include <regex.h>
#include <search.h>
#include <shadow.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/timeb.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <termios.h>
#include <uchar.h>
#include <unistd.h>
#include <utmp.h>
#include <wordexp.h>

#include "call_rules.h"

using namespace syncopate::instrument::rules;

// What stands for states that have no names.
static char state_of_drand48, state_of_conversions, state_of_ttyname, state_of_getlogin,
    state_of_getutent, state_of_getdate, state_of_ptsname;

// clang-format off

// ---- numbers -----------------------------------------------------------------------------------
CALL(frexp, double(double, int*), whole<1>)
CALL(modf, double(double, double*), whole<1>)
CALL(remquo, double(double, double, int*), whole<2>)
CALL(sincos, void(double, double*, double*), whole<1>, whole<2>)
CALL(lgamma_r, double(double, int*), whole<1>)
CALL(canonicalize, int(double*, const double*), reads<1>, if_zero<whole<0>>)
CALL(setpayload, int(double*, double), whole<0>)
CALL(setpayloadsig, int(double*, double), whole<0>)
CALL(strfromd, int(char*, std::size_t, const char*, double), resulting_text<0, 1>)
CALL(frexpf, float(float, int*), whole<1>)
CALL(modff, float(float, float*), whole<1>)
CALL(remquof, float(float, float, int*), whole<2>)
CALL(sincosf, void(float, float*, float*), whole<1>, whole<2>)
CALL(lgammaf_r, float(float, int*), whole<1>)
CALL(canonicalizef, int(float*, const float*), reads<1>, if_zero<whole<0>>)
CALL(setpayloadf, int(float*, float), whole<0>)
CALL(setpayloadsigf, int(float*, float), whole<0>)
CALL(strfromf, int(char*, std::size_t, const char*, float), resulting_text<0, 1>)
CALL(frexpl, long double(long double, int*), whole<1>)
CALL(modfl, long double(long double, long double*), whole<1>)
CALL(remquol, long double(long double, long double, int*), whole<2>)
CALL(sincosl, void(long double, long double*, long double*), whole<1>, whole<2>)
CALL(lgammal_r, long double(long double, int*), whole<1>)
CALL(canonicalizel, int(long double*, const long double*), reads<1>, if_zero<whole<0>>)
CALL(setpayloadl, int(long double*, long double), whole<0>)
CALL(setpayloadsigl, int(long double*, long double), whole<0>)
CALL(strfroml, int(char*, std::size_t, const char*, long double), resulting_text<0, 1>)
CALL(frexpf32, float(float, int*), whole<1>)
CALL(modff32, float(float, float*), whole<1>)
CALL(remquof32, float(float, float, int*), whole<2>)
CALL(sincosf32, void(float, float*, float*), whole<1>, whole<2>)
CALL(lgammaf32_r, float(float, int*), whole<1>)
CALL(canonicalizef32, int(float*, const float*), reads<1>, if_zero<whole<0>>)
CALL(setpayloadf32, int(float*, float), whole<0>)
CALL(setpayloadsigf32, int(float*, float), whole<0>)
CALL(strfromf32, int(char*, std::size_t, const char*, float), resulting_text<0, 1>)
CALL(frexpf64, double(double, int*), whole<1>)
CALL(modff64, double(double, double*), whole<1>)
CALL(remquof64, double(double, double, int*), whole<2>)
CALL(sincosf64, void(double, double*, double*), whole<1>, whole<2>)
CALL(lgammaf64_r, double(double, int*), whole<1>)
CALL(canonicalizef64, int(double*, const double*), reads<1>, if_zero<whole<0>>)
CALL(setpayloadf64, int(double*, double), whole<0>)
CALL(setpayloadsigf64, int(double*, double), whole<0>)
CALL(strfromf64, int(char*, std::size_t, const char*, double), resulting_text<0, 1>)
CALL(frexpf32x, double(double, int*), whole<1>)
CALL(modff32x, double(double, double*), whole<1>)
CALL(remquof32x, double(double, double, int*), whole<2>)
CALL(sincosf32x, void(double, double*, double*), whole<1>, whole<2>)
CALL(lgammaf32x_r, double(double, int*), whole<1>)
CALL(canonicalizef32x, int(double*, const double*), reads<1>, if_zero<whole<0>>)
CALL(setpayloadf32x, int(double*, double), whole<0>)
CALL(setpayloadsigf32x, int(double*, double), whole<0>)
CALL(strfromf32x, int(char*, std::size_t, const char*, double), resulting_text<0, 1>)
CALL(frexpf64x, long double(long double, int*), whole<1>)
CALL(modff64x, long double(long double, long double*), whole<1>)
CALL(remquof64x, long double(long double, long double, int*), whole<2>)
CALL(sincosf64x, void(long double, long double*, long double*), whole<1>, whole<2>)
CALL(lgammaf64x_r, long double(long double, int*), whole<1>)
CALL(canonicalizef64x, int(long double*, const long double*), reads<1>, if_zero<whole<0>>)
CALL(setpayloadf64x, int(long double*, long double), whole<0>)
CALL(setpayloadsigf64x, int(long double*, long double), whole<0>)
CALL(strfromf64x, int(char*, std::size_t, const char*, long double), resulting_text<0, 1>)
CALL(frexpf128, __float128(__float128, int*), whole<1>)
CALL(modff128, __float128(__float128, __float128*), whole<1>)
CALL(remquof128, __float128(__float128, __float128, int*), whole<2>)
CALL(sincosf128, void(__float128, __float128*, __float128*), whole<1>, whole<2>)
CALL(lgammaf128_r, __float128(__float128, int*), whole<1>)
CALL(canonicalizef128, int(__float128*, const __float128*), reads<1>, if_zero<whole<0>>)
CALL(setpayloadf128, int(__float128*, __float128), whole<0>)
CALL(setpayloadsigf128, int(__float128*, __float128), whole<0>)
CALL(strfromf128, int(char*, std::size_t, const char*, __float128), resulting_text<0, 1>)
CALL(strtoimax, long(const char*, char**, int), reads_text<0>, whole<1>)
CALL(strtoumax, long(const char*, char**, int), reads_text<0>, whole<1>)
CALL(strtoq, long(const char*, char**, int), reads_text<0>, whole<1>)
CALL(strtouq, long(const char*, char**, int), reads_text<0>, whole<1>)
CALL(wcstol, long(const wchar_t*, wchar_t**, int), reads_text<0>, whole<1>)
CALL(wcstoul, long(const wchar_t*, wchar_t**, int), reads_text<0>, whole<1>)
CALL(wcstoll, long(const wchar_t*, wchar_t**, int), reads_text<0>, whole<1>)
CALL(wcstoull, long(const wchar_t*, wchar_t**, int), reads_text<0>, whole<1>)
CALL(wcstoimax, long(const wchar_t*, wchar_t**, int), reads_text<0>, whole<1>)
CALL(wcstoumax, long(const wchar_t*, wchar_t**, int), reads_text<0>, whole<1>)
CALL(wcstoq, long(const wchar_t*, wchar_t**, int), reads_text<0>, whole<1>)
CALL(wcstouq, long(const wchar_t*, wchar_t**, int), reads_text<0>, whole<1>)
CALL(wcstod, double(const wchar_t*, wchar_t**), reads_text<0>, whole<1>)
CALL(wcstof, float(const wchar_t*, wchar_t**), reads_text<0>, whole<1>)
CALL(wcstold, long double(const wchar_t*, wchar_t**), reads_text<0>, whole<1>)
CALL(wcstof32, float(const wchar_t*, wchar_t**), reads_text<0>, whole<1>)
CALL(wcstof64, double(const wchar_t*, wchar_t**), reads_text<0>, whole<1>)
CALL(wcstof32x, double(const wchar_t*, wchar_t**), reads_text<0>, whole<1>)
CALL(wcstof64x, long double(const wchar_t*, wchar_t**), reads_text<0>, whole<1>)
CALL(wcstof128, __float128(const wchar_t*, wchar_t**), reads_text<0>, whole<1>)
CALL(strtod_l, double(const char*, char**, locale_t), reads_text<0>, whole<1>)
CALL(strtof_l, float(const char*, char**, locale_t), reads_text<0>, whole<1>)
CALL(strtold_l, long double(const char*, char**, locale_t), reads_text<0>, whole<1>)
CALL(strtof32, float(const char*, char**), reads_text<0>, whole<1>)
CALL(strtof32_l, float(const char*, char**, locale_t), reads_text<0>, whole<1>)
CALL(wcstof32_l, float(const wchar_t*, wchar_t**, locale_t), reads_text<0>, whole<1>)
CALL(strtof64, double(const char*, char**), reads_text<0>, whole<1>)
CALL(strtof64_l, double(const char*, char**, locale_t), reads_text<0>, whole<1>)
CALL(wcstof64_l, double(const wchar_t*, wchar_t**, locale_t), reads_text<0>, whole<1>)
CALL(strtof32x, double(const char*, char**), reads_text<0>, whole<1>)
CALL(strtof32x_l, double(const char*, char**, locale_t), reads_text<0>, whole<1>)
CALL(wcstof32x_l, double(const wchar_t*, wchar_t**, locale_t), reads_text<0>, whole<1>)
CALL(strtof64x, long double(const char*, char**), reads_text<0>, whole<1>)
CALL(strtof64x_l, long double(const char*, char**, locale_t), reads_text<0>, whole<1>)
CALL(wcstof64x_l, long double(const wchar_t*, wchar_t**, locale_t), reads_text<0>, whole<1>)
CALL(strtof128, __float128(const char*, char**), reads_text<0>, whole<1>)
CALL(strtof128_l, __float128(const char*, char**, locale_t), reads_text<0>, whole<1>)
CALL(wcstof128_l, __float128(const wchar_t*, wchar_t**, locale_t), reads_text<0>, whole<1>)
CALL(wcstod_l, double(const wchar_t*, wchar_t**, locale_t), reads_text<0>, whole<1>)
CALL(wcstof_l, float(const wchar_t*, wchar_t**, locale_t), reads_text<0>, whole<1>)
CALL(wcstold_l, long double(const wchar_t*, wchar_t**, locale_t), reads_text<0>, whole<1>)
CALL(strtol_l, long(const char*, char**, int, locale_t), reads_text<0>, whole<1>)
CALL(strtoul_l, long(const char*, char**, int, locale_t), reads_text<0>, whole<1>)
CALL(strtoll_l, long(const char*, char**, int, locale_t), reads_text<0>, whole<1>)
CALL(strtoull_l, long(const char*, char**, int, locale_t), reads_text<0>, whole<1>)
CALL(wcstol_l, long(const wchar_t*, wchar_t**, int, locale_t), reads_text<0>, whole<1>)
CALL(wcstoul_l, long(const wchar_t*, wchar_t**, int, locale_t), reads_text<0>, whole<1>)
CALL(wcstoll_l, long(const wchar_t*, wchar_t**, int, locale_t), reads_text<0>, whole<1>)
CALL(wcstoull_l, long(const wchar_t*, wchar_t**, int, locale_t), reads_text<0>, whole<1>)
CALL(ecvt, char*(double, int, int*, int*), whole<2>, whole<3>, result_text)
CALL(ecvt_r, int(double, int, int*, int*, char*, std::size_t), if_zero<whole<2>, whole<3>, text<4>>)
CALL(fcvt, char*(double, int, int*, int*), whole<2>, whole<3>, result_text)
CALL(fcvt_r, int(double, int, int*, int*, char*, std::size_t), if_zero<whole<2>, whole<3>, text<4>>)
CALL(gcvt, char*(double, int, char*), text<2>)
CALL(qecvt, char*(long double, int, int*, int*), whole<2>, whole<3>, result_text)
CALL(qecvt_r,
     int(long double, int, int*, int*, char*, std::size_t),
     if_zero<whole<2>, whole<3>, text<4>>)
CALL(qfcvt, char*(long double, int, int*, int*), whole<2>, whole<3>, result_text)
CALL(qfcvt_r,
     int(long double, int, int*, int*, char*, std::size_t),
     if_zero<whole<2>, whole<3>, text<4>>)
CALL(qgcvt, char*(long double, int, char*), text<2>)

// ---- random numbers ----------------------------------------------------------------------------
CALL(random_r, int(random_data*, int*), if_zero<whole<0>, whole<1>>)
CALL(srandom_r, int(unsigned, random_data*), if_zero<whole<1>>)
CALL(initstate_r, int(unsigned, char*, std::size_t, random_data*), array<1, 2>, whole<3>)
CALL(setstate_r, int(char*, random_data*), if_zero<whole<1>>)
CALL(initstate, char*(unsigned, char*, std::size_t), array<1, 2>)
CALL(drand48_r, int(drand48_data*, double*), whole<0>, whole<1>)
CALL(lrand48_r, int(drand48_data*, long*), whole<0>, whole<1>)
CALL(mrand48_r, int(drand48_data*, long*), whole<0>, whole<1>)
CALL(erand48_r, int(unsigned short*, drand48_data*, double*), first<0, 3>, whole<1>, whole<2>)
CALL(nrand48_r, int(unsigned short*, drand48_data*, long*), first<0, 3>, whole<1>, whole<2>)
CALL(jrand48_r, int(unsigned short*, drand48_data*, long*), first<0, 3>, whole<1>, whole<2>)
CALL(srand48_r, int(long, drand48_data*), whole<1>)
CALL(seed48_r, int(unsigned short*, drand48_data*), whole<1>)
CALL(lcong48_r, int(unsigned short*, drand48_data*), whole<1>)

// ---- strings -----------------------------------------------------------------------------------
CALL(stpncpy, char*(char*, const char*, std::size_t), array<0, 2>)
CALL(strxfrm, std::size_t(char*, const char*, std::size_t), reads_text<1>, resulting_text<0, 2>)
CALL(strxfrm_l,
     std::size_t(char*, const char*, std::size_t, locale_t),
     reads_text<1>, resulting_text<0, 2>)
CALL(strfry, char*(char*), text<0>)
CALL(memfrob, void*(void*, std::size_t), array<0, 1>)
CALL(wcsxfrm,
     std::size_t(wchar_t*, const wchar_t*, std::size_t),
     reads_text<1>, resulting_text<0, 2>)
CALL(wcsxfrm_l,
     std::size_t(wchar_t*, const wchar_t*, std::size_t, locale_t),
     reads_text<1>, resulting_text<0, 2>)
CALL(wcpcpy, wchar_t*(wchar_t*, const wchar_t*), reads_text<1>, text<0>)
CALL(wcpncpy, wchar_t*(wchar_t*, const wchar_t*, std::size_t), array<0, 2>)
CALL(wcsncpy, wchar_t*(wchar_t*, const wchar_t*, std::size_t), array<0, 2>)
CALL(wcscat, wchar_t*(wchar_t*, const wchar_t*), reads_text<1>, text<0>)
CALL(wcsncat, wchar_t*(wchar_t*, const wchar_t*, std::size_t), text<0>)
CALL(wcstok, wchar_t*(wchar_t*, const wchar_t*, wchar_t**), whole<2>, if_true<text<0>>)
CALL(wmempcpy, wchar_t*(wchar_t*, const wchar_t*, std::size_t), array<0, 2>)
CALL(getsubopt, int(char**, char* const*, char**), whole<0>, whole<2>)
CALL(argz_create, int(char* const*, char**, std::size_t*), if_zero<whole<1>, whole<2>>)
CALL(argz_create_sep,
     int(const char*, int, char**, std::size_t*),
     reads_text<0>, if_zero<whole<2>, whole<3>>)
CALL(argz_add, int(char**, std::size_t*, const char*), whole<0>, whole<1>)
CALL(argz_add_sep, int(char**, std::size_t*, const char*, int), whole<0>, whole<1>)
CALL(argz_append, int(char**, std::size_t*, const char*, std::size_t), whole<0>, whole<1>)
CALL(argz_delete, void(char**, std::size_t*, char*), whole<0>, whole<1>)
CALL(argz_insert, int(char**, std::size_t*, char*, const char*), whole<0>, whole<1>)
CALL(argz_replace,
     int(char**, std::size_t*, const char*, const char*, unsigned*),
     whole<0>, whole<1>, whole<4>)
CALL(argz_stringify, void(char*, std::size_t, int), array<0, 1>)
CALL(argz_extract, void(const char*, std::size_t, char**), whole<2>)
CALL(envz_add, int(char**, std::size_t*, const char*, const char*), whole<0>, whole<1>)
CALL(envz_merge, int(char**, std::size_t*, const char*, std::size_t, int), whole<0>, whole<1>)
CALL(envz_remove, void(char**, std::size_t*, const char*), whole<0>, whole<1>)
CALL(envz_strip, void(char**, std::size_t*), whole<0>, whole<1>)
CALL(parse_printf_format, std::size_t(const char*, std::size_t, int*), reads_text<0>, whole<2>)
CALL(getopt_long, int(int, char* const*, const char*, const option*, int*),
     whole<4>, variables<&optind, &optarg>)
CALL(getopt_long_only, int(int, char* const*, const char*, const option*, int*),
     whole<4>, variables<&optind, &optarg>)

// ---- characters of several bytes ---------------------------------------------------------------
CALL(mbtowc, int(wchar_t*, const char*, std::size_t),
     if_done<whole<0>>, variables<&state_of_conversions>)
CALL(wctomb, int(char*, wchar_t), resulting<0>, variables<&state_of_conversions>)
CALL(mbrlen, std::size_t(const char*, std::size_t, mbstate_t*),
     whole<2>, state_unless<2, &state_of_conversions>)
CALL(mbrtowc,
     std::size_t(wchar_t*, const char*, std::size_t, mbstate_t*),
     if_done<whole<0>>, whole<3>, state_unless<3, &state_of_conversions>)
CALL(mbrtoc16,
     std::size_t(char16_t*, const char*, std::size_t, mbstate_t*),
     if_done<whole<0>>, whole<3>, state_unless<3, &state_of_conversions>)
CALL(mbrtoc32,
     std::size_t(char32_t*, const char*, std::size_t, mbstate_t*),
     if_done<whole<0>>, whole<3>, state_unless<3, &state_of_conversions>)
CALL(wcrtomb, std::size_t(char*, wchar_t, mbstate_t*),
     resulting<0>, whole<2>, state_unless<2, &state_of_conversions>)
CALL(c16rtomb, std::size_t(char*, char16_t, mbstate_t*),
     resulting<0>, whole<2>, state_unless<2, &state_of_conversions>)
CALL(c32rtomb, std::size_t(char*, char32_t, mbstate_t*),
     resulting<0>, whole<2>, state_unless<2, &state_of_conversions>)
CALL(mbstowcs, std::size_t(wchar_t*, const char*, std::size_t), reads_text<1>, resulting_text<0, 2>)
CALL(wcstombs, std::size_t(char*, const wchar_t*, std::size_t), reads_text<1>, resulting_text<0, 2>)
CALL(mbsrtowcs,
     std::size_t(wchar_t*, const char**, std::size_t, mbstate_t*),
     resulting_text<0, 2>, whole<1>, whole<3>, state_unless<3, &state_of_conversions>)
CALL(wcsrtombs,
     std::size_t(char*, const wchar_t**, std::size_t, mbstate_t*),
     resulting_text<0, 2>, whole<1>, whole<3>, state_unless<3, &state_of_conversions>)
CALL(mbsnrtowcs,
     std::size_t(wchar_t*, const char**, std::size_t, std::size_t, mbstate_t*),
     resulting_text<0, 3>, whole<1>, whole<4>, state_unless<4, &state_of_conversions>)
CALL(wcsnrtombs,
     std::size_t(char*, const wchar_t**, std::size_t, std::size_t, mbstate_t*),
     resulting_text<0, 3>, whole<1>, whole<4>, state_unless<4, &state_of_conversions>)

// ---- time --------------------------------------------------------------------------------------
CALL(timegm, std::time_t(std::tm*), whole<0>)
CALL(timelocal, std::time_t(std::tm*), whole<0>)
CALL(strptime, char*(const char*, const char*, std::tm*), reads_text<0>, whole<2>)
CALL(strptime_l, char*(const char*, const char*, std::tm*, locale_t), reads_text<0>, whole<2>)
CALL(strftime_l,
     std::size_t(char*, std::size_t, const char*, const std::tm*, locale_t),
     reads<3>, if_true<resulting_text<0, 1>>)
CALL(wcsftime,
     std::size_t(wchar_t*, std::size_t, const wchar_t*, const std::tm*),
     reads<3>, if_true<resulting_text<0, 1>>)
CALL(wcsftime_l,
     std::size_t(wchar_t*, std::size_t, const wchar_t*, const std::tm*, locale_t),
     reads<3>, if_true<resulting_text<0, 1>>)
CALL(getdate_r, int(const char*, std::tm*), if_zero<whole<1>>)
CALL(ftime, int(timeb*), whole<0>)
CALL(timespec_getres, int(timespec*, int), if_true<whole<0>>)
CALL(clock_getcpuclockid, int(pid_t, clockid_t*), if_zero<whole<1>>)
CALL(adjtime, int(const timeval*, timeval*), if_zero<whole<1>>)
CALL(adjtimex, int(timex*), if_done<whole<0>>)
CALL(clock_adjtime, int(clockid_t, timex*), if_done<whole<1>>)
CALL(ntp_adjtime, int(timex*), if_done<whole<0>>)
CALL(ntp_gettime, int(ntptimeval*), if_done<whole<0>>)
CALL(ntp_gettimex, int(ntptimeval*), if_done<whole<0>>)

// ---- files and paths ---------------------------------------------------------------------------
CALL(stat, int(const char*, struct stat*), reads_text<0>, if_zero<whole<1>>)
CALL(lstat, int(const char*, struct stat*), reads_text<0>, if_zero<whole<1>>)
CALL(fstat, int(int, struct stat*), if_zero<whole<1>>)
CALL(fstatat, int(int, const char*, struct stat*, int), reads_text<1>, if_zero<whole<2>>)
CALL(statfs, int(const char*, struct statfs*), reads_text<0>, if_zero<whole<1>>)
CALL(fstatfs, int(int, struct statfs*), if_zero<whole<1>>)
CALL(statvfs, int(const char*, struct statvfs*), reads_text<0>, if_zero<whole<1>>)
CALL(fstatvfs, int(int, struct statvfs*), if_zero<whole<1>>)
CALL(readdir_r, int(DIR*, dirent*, dirent**), if_zero<whole<1>, whole<2>>)
CALL(fgetpos, int(FILE*, fpos_t*), if_zero<whole<1>>)
CALL(getdirentries, ssize_t(int, char*, std::size_t, off_t*), resulting<1>, if_done<whole<3>>)
CALL(mkstemp, int(char*), text<0>)
CALL(mkostemp, int(char*, int), text<0>)
CALL(mkstemps, int(char*, int), text<0>)
CALL(mkostemps, int(char*, int, int), text<0>)
CALL(glob, int(const char*, int, int (*)(const char*, int), glob_t*), reads_text<0>, whole<3>)
CALL(globfree, void(glob_t*), whole<0>)
CALL(sendfile, ssize_t(int, int, off_t*, std::size_t), if_done<whole<2>>)
CALL(getrlimit, int(__rlimit_resource_t, rlimit*), if_zero<whole<1>>)
CALL(stat64, int(const char*, struct stat64*), reads_text<0>, if_zero<whole<1>>)
CALL(lstat64, int(const char*, struct stat64*), reads_text<0>, if_zero<whole<1>>)
CALL(fstat64, int(int, struct stat64*), if_zero<whole<1>>)
CALL(fstatat64, int(int, const char*, struct stat64*, int), reads_text<1>, if_zero<whole<2>>)
CALL(statfs64, int(const char*, struct statfs64*), reads_text<0>, if_zero<whole<1>>)
CALL(fstatfs64, int(int, struct statfs64*), if_zero<whole<1>>)
CALL(statvfs64, int(const char*, struct statvfs64*), reads_text<0>, if_zero<whole<1>>)
CALL(fstatvfs64, int(int, struct statvfs64*), if_zero<whole<1>>)
CALL(readdir64_r, int(DIR*, dirent64*, dirent64**), if_zero<whole<1>, whole<2>>)
CALL(fgetpos64, int(FILE*, fpos64_t*), if_zero<whole<1>>)
CALL(getdirentries64, ssize_t(int, char*, std::size_t, off64_t*), resulting<1>, if_done<whole<3>>)
CALL(mkstemp64, int(char*), text<0>)
CALL(mkostemp64, int(char*, int), text<0>)
CALL(mkstemps64, int(char*, int), text<0>)
CALL(mkostemps64, int(char*, int, int), text<0>)
CALL(glob64, int(const char*, int, int (*)(const char*, int), glob64_t*), reads_text<0>, whole<3>)
CALL(globfree64, void(glob64_t*), whole<0>)
CALL(sendfile64, ssize_t(int, int, off64_t*, std::size_t), if_done<whole<2>>)
CALL(getrlimit64, int(__rlimit_resource_t, rlimit64*), if_zero<whole<1>>)
CALL(getdents64, ssize_t(int, void*, std::size_t), resulting<1>)
CALL(statx, int(int, const char*, int, unsigned, struct statx*), if_zero<whole<4>>)
CALL(mkdtemp, char*(char*), text<0>)
CALL(mktemp, char*(char*), text<0>)
CALL(tmpnam, char*(char*), result_text)
CALL(tmpnam_r, char*(char*), if_true<text<0>>)
CALL(realpath, char*(const char*, char*), reads_text<0>, if_true<text<1>>)
CALL(readlink, ssize_t(const char*, char*, std::size_t), reads_text<0>, resulting<1>)
CALL(readlinkat, ssize_t(int, const char*, char*, std::size_t), reads_text<1>, resulting<2>)
CALL(dirname, char*(char*), text<0>)
CALL(getwd, char*(char*), if_true<text<0>>)
CALL(copy_file_range,
     ssize_t(int, off64_t*, int, off64_t*, std::size_t, unsigned),
     if_done<whole<1>, whole<3>>)
CALL(splice,
     ssize_t(int, off64_t*, int, off64_t*, std::size_t, unsigned),
     if_done<whole<1>, whole<3>>)
CALL(getxattr, ssize_t(const char*, const char*, void*, std::size_t), resulting<2>)
CALL(lgetxattr, ssize_t(const char*, const char*, void*, std::size_t), resulting<2>)
CALL(fgetxattr, ssize_t(int, const char*, void*, std::size_t), resulting<2>)
CALL(listxattr, ssize_t(const char*, char*, std::size_t), resulting<1>)
CALL(llistxattr, ssize_t(const char*, char*, std::size_t), resulting<1>)
CALL(flistxattr, ssize_t(int, char*, std::size_t), resulting<1>)
CALL(mincore, int(void*, std::size_t, unsigned char*), if_zero<first<2, 1>>)
CALL(fgetws, wchar_t*(wchar_t*, int, FILE*), if_true<text<0>>)
CALL(fgetws_unlocked, wchar_t*(wchar_t*, int, FILE*), if_true<text<0>>)
CALL(open_memstream, FILE*(char**, std::size_t*), if_true<whole<0>, whole<1>>)
CALL(open_wmemstream, FILE*(wchar_t**, std::size_t*), if_true<whole<0>, whole<1>>)

// ---- the process and the system ----------------------------------------------------------------
CALL(wait, pid_t(int*), if_done<whole<0>>)
CALL(waitpid, pid_t(pid_t, int*, int), if_true<if_done<whole<1>>>)
CALL(wait3, pid_t(int*, int, rusage*), if_true<if_done<whole<0>, whole<2>>>)
CALL(wait4, pid_t(pid_t, int*, int, rusage*), if_true<if_done<whole<1>, whole<3>>>)
CALL(waitid, int(idtype_t, id_t, siginfo_t*, int), if_zero<whole<2>>)
CALL(posix_spawn,
     int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
     char* const*, char* const*),
     if_zero<whole<0>>)
CALL(posix_spawnp,
     int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
     char* const*, char* const*),
     if_zero<whole<0>>)
CALL(getgroups, int(int, gid_t*), resulting<1>)
CALL(getgrouplist, int(const char*, gid_t, gid_t*, int*), whole<3>, resulting<2>, makes_once)
CALL(getresuid, int(uid_t*, uid_t*, uid_t*), if_zero<whole<0>, whole<1>, whole<2>>)
CALL(getresgid, int(gid_t*, gid_t*, gid_t*), if_zero<whole<0>, whole<1>, whole<2>>)
CALL(getloadavg, int(double*, int), resulting<0>)
CALL(sysinfo, int(struct sysinfo*), if_zero<whole<0>>)
CALL(getdomainname, int(char*, std::size_t), if_zero<text<0>>)
CALL(getlogin_r, int(char*, std::size_t), if_zero<text<0>>)
CALL(ctermid, char*(char*), result_text)
CALL(cuserid, char*(char*), result_text)
CALL(ttyname_r, int(int, char*, std::size_t), if_zero<text<1>>)
CALL(ptsname_r, int(int, char*, std::size_t), if_zero<text<1>>)
CALL(tcgetattr, int(int, termios*), if_zero<whole<1>>)
CALL(cfmakeraw, void(termios*), whole<0>)
CALL(cfsetispeed, int(termios*, speed_t), if_zero<whole<0>>)
CALL(cfsetospeed, int(termios*, speed_t), if_zero<whole<0>>)
CALL(cfsetspeed, int(termios*, speed_t), if_zero<whole<0>>)
CALL(confstr, std::size_t(int, char*, std::size_t), if_true<text<1>>)
CALL(sched_getparam, int(pid_t, sched_param*), if_zero<whole<1>>)
CALL(sched_rr_get_interval, int(pid_t, timespec*), if_zero<whole<1>>)
CALL(openpty,
     int(int*, int*, char*, const termios*, const winsize*),
     if_zero<whole<0>, whole<1>, text<2>>)
CALL(dladdr, int(const void*, Dl_info*), if_true<whole<1>>)
CALL(dladdr1, int(const void*, Dl_info*, void**, int), if_true<whole<1>, whole<2>>)
CALL(backtrace, int(void**, int), resulting<0>)
CALL(fegetenv, int(fenv_t*), whole<0>)
CALL(feholdexcept, int(fenv_t*), whole<0>)
CALL(fegetmode, int(femode_t*), whole<0>)
CALL(fegetexceptflag, int(fexcept_t*, int), whole<0>)

// ---- signal sets, attributes -------------------------------------------------------------------
CALL(sigemptyset, int(sigset_t*), whole<0>)
CALL(sigfillset, int(sigset_t*), whole<0>)
CALL(sigaddset, int(sigset_t*, int), whole<0>)
CALL(sigdelset, int(sigset_t*, int), whole<0>)
CALL(sigandset, int(sigset_t*, const sigset_t*, const sigset_t*), reads<1>, reads<2>, whole<0>)
CALL(sigorset, int(sigset_t*, const sigset_t*, const sigset_t*), reads<1>, reads<2>, whole<0>)
CALL(pthread_attr_getdetachstate, int(const pthread_attr_t*, int*), reads<0>, if_zero<whole<1>>)
CALL(pthread_attr_getguardsize,
     int(const pthread_attr_t*, std::size_t*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_attr_getinheritsched, int(const pthread_attr_t*, int*), reads<0>, if_zero<whole<1>>)
CALL(pthread_attr_getschedparam,
     int(const pthread_attr_t*, sched_param*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_attr_getschedpolicy, int(const pthread_attr_t*, int*), reads<0>, if_zero<whole<1>>)
CALL(pthread_attr_getscope, int(const pthread_attr_t*, int*), reads<0>, if_zero<whole<1>>)
CALL(pthread_attr_getsigmask_np, int(const pthread_attr_t*, sigset_t*), reads<0>, if_zero<whole<1>>)
CALL(pthread_attr_getstackaddr, int(const pthread_attr_t*, void**), reads<0>, if_zero<whole<1>>)
CALL(pthread_attr_getstacksize,
     int(const pthread_attr_t*, std::size_t*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_attr_getstack,
     int(const pthread_attr_t*, void**, std::size_t*),
     reads<0>, if_zero<whole<1>, whole<2>>)
CALL(pthread_barrierattr_getpshared,
     int(const pthread_barrierattr_t*, int*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_condattr_getclock,
     int(const pthread_condattr_t*, clockid_t*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_condattr_getpshared, int(const pthread_condattr_t*, int*), reads<0>, if_zero<whole<1>>)
CALL(pthread_mutexattr_getprioceiling,
     int(const pthread_mutexattr_t*, int*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_mutexattr_getprotocol,
     int(const pthread_mutexattr_t*, int*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_mutexattr_getpshared,
     int(const pthread_mutexattr_t*, int*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_mutexattr_getrobust,
     int(const pthread_mutexattr_t*, int*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_mutexattr_gettype, int(const pthread_mutexattr_t*, int*), reads<0>, if_zero<whole<1>>)
CALL(pthread_rwlockattr_getkind_np,
     int(const pthread_rwlockattr_t*, int*),
     reads<0>, if_zero<whole<1>>)
CALL(pthread_rwlockattr_getpshared,
     int(const pthread_rwlockattr_t*, int*),
     reads<0>, if_zero<whole<1>>)
CALL(posix_spawnattr_getflags, int(const posix_spawnattr_t*, short*), reads<0>, whole<1>)
CALL(posix_spawnattr_getpgroup, int(const posix_spawnattr_t*, pid_t*), reads<0>, whole<1>)
CALL(posix_spawnattr_getschedparam, int(const posix_spawnattr_t*, sched_param*), reads<0>, whole<1>)
CALL(posix_spawnattr_getschedpolicy, int(const posix_spawnattr_t*, int*), reads<0>, whole<1>)
CALL(posix_spawnattr_getsigdefault, int(const posix_spawnattr_t*, sigset_t*), reads<0>, whole<1>)
CALL(posix_spawnattr_getsigmask, int(const posix_spawnattr_t*, sigset_t*), reads<0>, whole<1>)
CALL(posix_spawnattr_init, int(posix_spawnattr_t*), whole<0>)
CALL(posix_spawn_file_actions_init, int(posix_spawn_file_actions_t*), whole<0>)
CALL(posix_spawnattr_destroy, int(posix_spawnattr_t*), whole<0>)
CALL(posix_spawn_file_actions_destroy, int(posix_spawn_file_actions_t*), whole<0>)
CALL(pthread_attr_init, int(pthread_attr_t*), whole<0>)
CALL(pthread_attr_destroy, int(pthread_attr_t*), whole<0>)
CALL(pthread_attr_setdetachstate, int(pthread_attr_t*, int), if_zero<whole<0>>)
CALL(pthread_attr_setguardsize, int(pthread_attr_t*, std::size_t), if_zero<whole<0>>)
CALL(pthread_attr_setinheritsched, int(pthread_attr_t*, int), if_zero<whole<0>>)
CALL(pthread_attr_setschedpolicy, int(pthread_attr_t*, int), if_zero<whole<0>>)
CALL(pthread_attr_setscope, int(pthread_attr_t*, int), if_zero<whole<0>>)
CALL(pthread_attr_setstackaddr, int(pthread_attr_t*, void*), if_zero<whole<0>>)
CALL(pthread_attr_setstacksize, int(pthread_attr_t*, std::size_t), if_zero<whole<0>>)
CALL(pthread_barrierattr_init, int(pthread_barrierattr_t*), whole<0>)
CALL(pthread_barrierattr_destroy, int(pthread_barrierattr_t*), whole<0>)
CALL(pthread_barrierattr_setpshared, int(pthread_barrierattr_t*, int), if_zero<whole<0>>)
CALL(pthread_condattr_init, int(pthread_condattr_t*), whole<0>)
CALL(pthread_condattr_destroy, int(pthread_condattr_t*), whole<0>)
CALL(pthread_condattr_setclock, int(pthread_condattr_t*, clockid_t), if_zero<whole<0>>)
CALL(pthread_condattr_setpshared, int(pthread_condattr_t*, int), if_zero<whole<0>>)
CALL(pthread_mutexattr_init, int(pthread_mutexattr_t*), whole<0>)
CALL(pthread_mutexattr_destroy, int(pthread_mutexattr_t*), whole<0>)
CALL(pthread_mutexattr_setprioceiling, int(pthread_mutexattr_t*, int), if_zero<whole<0>>)
CALL(pthread_mutexattr_setprotocol, int(pthread_mutexattr_t*, int), if_zero<whole<0>>)
CALL(pthread_mutexattr_setpshared, int(pthread_mutexattr_t*, int), if_zero<whole<0>>)
CALL(pthread_mutexattr_setrobust, int(pthread_mutexattr_t*, int), if_zero<whole<0>>)
CALL(pthread_mutexattr_settype, int(pthread_mutexattr_t*, int), if_zero<whole<0>>)
CALL(pthread_rwlockattr_init, int(pthread_rwlockattr_t*), whole<0>)
CALL(pthread_rwlockattr_destroy, int(pthread_rwlockattr_t*), whole<0>)
CALL(pthread_rwlockattr_setkind_np, int(pthread_rwlockattr_t*, int), if_zero<whole<0>>)
CALL(pthread_rwlockattr_setpshared, int(pthread_rwlockattr_t*, int), if_zero<whole<0>>)
CALL(pthread_attr_getaffinity_np,
     int(const pthread_attr_t*, std::size_t, char*),
     reads<0>, if_zero<array<2, 1>>)
CALL(pthread_attr_setaffinity_np,
     int(pthread_attr_t*, std::size_t, const cpu_set_t*),
     if_zero<whole<0>>)
CALL(pthread_attr_setschedparam,
     int(pthread_attr_t*, const sched_param*),
     reads<1>, if_zero<whole<0>>)
CALL(pthread_attr_setsigmask_np, int(pthread_attr_t*, const sigset_t*), if_zero<whole<0>>)
CALL(pthread_getattr_default_np, int(pthread_attr_t*), if_zero<whole<0>>)
CALL(pthread_attr_setstack, int(pthread_attr_t*, void*, std::size_t), if_zero<whole<0>>)
CALL(pthread_mutex_getprioceiling, int(const pthread_mutex_t*, int*), if_zero<whole<1>>)
CALL(pthread_mutex_setprioceiling, int(pthread_mutex_t*, int, int*), if_zero<whole<2>>)
CALL(posix_spawnattr_setflags, int(posix_spawnattr_t*, short), whole<0>)
CALL(posix_spawnattr_setpgroup, int(posix_spawnattr_t*, pid_t), whole<0>)
CALL(posix_spawnattr_setschedpolicy, int(posix_spawnattr_t*, int), whole<0>)
CALL(posix_spawnattr_setschedparam, int(posix_spawnattr_t*, const sched_param*), reads<1>, whole<0>)
CALL(posix_spawnattr_setsigdefault, int(posix_spawnattr_t*, const sigset_t*), reads<1>, whole<0>)
CALL(posix_spawnattr_setsigmask, int(posix_spawnattr_t*, const sigset_t*), reads<1>, whole<0>)
CALL(posix_spawn_file_actions_addchdir_np, int(posix_spawn_file_actions_t*, const char*), whole<0>)
CALL(posix_spawn_file_actions_addclose, int(posix_spawn_file_actions_t*, int), whole<0>)
CALL(posix_spawn_file_actions_addclosefrom_np, int(posix_spawn_file_actions_t*, int), whole<0>)
CALL(posix_spawn_file_actions_addfchdir_np, int(posix_spawn_file_actions_t*, int), whole<0>)
CALL(posix_spawn_file_actions_addtcsetpgrp_np, int(posix_spawn_file_actions_t*, int), whole<0>)
CALL(posix_spawn_file_actions_adddup2, int(posix_spawn_file_actions_t*, int, int), whole<0>)
CALL(posix_spawn_file_actions_addopen,
     int(posix_spawn_file_actions_t*, int, const char*, int, mode_t),
     whole<0>)

// ---- users, networks, names --------------------------------------------------------------------
CALL(getpwent_r,
     int(passwd*, char*, std::size_t, passwd**),
     whole<3>, if_zero<whole<0>, first<1, 1>>, makes_once)
CALL(fgetpwent_r,
     int(FILE*, passwd*, char*, std::size_t, passwd**),
     whole<4>, if_zero<whole<1>, first<2, 1>>, makes_once)
CALL(getgrgid_r,
     int(gid_t, group*, char*, std::size_t, group**),
     whole<4>, if_zero<whole<1>, first<2, 1>>, makes_once)
CALL(getgrnam_r,
     int(const char*, group*, char*, std::size_t, group**),
     reads_text<0>, whole<4>, if_zero<whole<1>, first<2, 1>>, makes_once)
CALL(getgrent_r, int(group*, char*, std::size_t, group**),
     whole<3>, if_zero<whole<0>, first<1, 1>>, makes_once)
CALL(fgetgrent_r,
     int(FILE*, group*, char*, std::size_t, group**),
     whole<4>, if_zero<whole<1>, first<2, 1>>, makes_once)
CALL(getspnam_r,
     int(const char*, spwd*, char*, std::size_t, spwd**),
     reads_text<0>, whole<4>, if_zero<whole<1>, first<2, 1>>, makes_once)
CALL(getspent_r, int(spwd*, char*, std::size_t, spwd**),
     whole<3>, if_zero<whole<0>, first<1, 1>>, makes_once)
CALL(fgetspent_r,
     int(FILE*, spwd*, char*, std::size_t, spwd**),
     whole<4>, if_zero<whole<1>, first<2, 1>>, makes_once)
CALL(gethostbyname_r,
     int(const char*, hostent*, char*, std::size_t, hostent**, int*),
     reads_text<0>, whole<4>, if_zero<whole<1>, first<2, 1>>, whole<5>, makes_once)
CALL(gethostbyname2_r,
     int(const char*, int, hostent*, char*, std::size_t, hostent**, int*),
     reads_text<0>, whole<5>, if_zero<whole<2>, first<3, 1>>, whole<6>, makes_once)
CALL(gethostbyaddr_r,
     int(const void*, socklen_t, int, hostent*, char*, std::size_t, hostent**, int*),
     whole<6>, if_zero<whole<3>, first<4, 1>>, whole<7>, makes_once)
CALL(getservbyname_r,
     int(const char*, const char*, servent*, char*, std::size_t, servent**),
     reads_text<0>, whole<5>, if_zero<whole<2>, first<3, 1>>, makes_once)
CALL(getservbyport_r,
     int(int, const char*, servent*, char*, std::size_t, servent**),
     whole<5>, if_zero<whole<2>, first<3, 1>>, makes_once)
CALL(getprotobyname_r,
     int(const char*, protoent*, char*, std::size_t, protoent**),
     reads_text<0>, whole<4>, if_zero<whole<1>, first<2, 1>>, makes_once)
CALL(getprotobynumber_r,
     int(int, protoent*, char*, std::size_t, protoent**),
     whole<4>, if_zero<whole<1>, first<2, 1>>, makes_once)
CALL(getmntent_r, mntent*(FILE*, mntent*, char*, int), if_true<whole<1>, text<2>>)
CALL(gethostent_r,
     int(hostent*, char*, std::size_t, hostent**, int*),
     whole<3>, if_zero<whole<0>, first<1, 1>>, whole<4>, makes_once)
CALL(getnetent_r,
     int(netent*, char*, std::size_t, netent**, int*),
     whole<3>, if_zero<whole<0>, first<1, 1>>, whole<4>, makes_once)
CALL(getnetbyname_r,
     int(const char*, netent*, char*, std::size_t, netent**, int*),
     reads_text<0>, whole<4>, if_zero<whole<1>, first<2, 1>>, whole<5>, makes_once)
CALL(getnetbyaddr_r,
     int(std::uint32_t, int, netent*, char*, std::size_t, netent**, int*),
     whole<5>, if_zero<whole<2>, first<3, 1>>, whole<6>, makes_once)
CALL(getprotoent_r,
     int(protoent*, char*, std::size_t, protoent**),
     whole<3>, if_zero<whole<0>, first<1, 1>>, makes_once)
CALL(getservent_r,
     int(servent*, char*, std::size_t, servent**),
     whole<3>, if_zero<whole<0>, first<1, 1>>, makes_once)
CALL(getutid_r, int(const utmp*, utmp*, utmp**), whole<2>, if_zero<whole<1>>)
CALL(getutline_r, int(const utmp*, utmp*, utmp**), whole<2>, if_zero<whole<1>>)
CALL(getutent_r, int(utmp*, utmp**), whole<1>, if_zero<whole<0>>)
CALL(getpw, int(uid_t, char*), if_zero<text<1>>)
CALL(recvmmsg, int(int, mmsghdr*, unsigned, int, timespec*), resulting<1>)
CALL(sendmmsg, int(int, mmsghdr*, unsigned, int), resulting<1>)
CALL(epoll_pwait2, int(int, epoll_event*, int, const timespec*, const sigset_t*), resulting<1>)
CALL(name_to_handle_at,
     int(int, const char*, file_handle*, int*, int),
     reads_text<1>, if_zero<whole<2>, whole<3>>)
CALL(getnameinfo,
     int(const sockaddr*, socklen_t, char*, socklen_t, char*, socklen_t, int),
     if_zero<text<2>, text<4>>, makes_once)
CALL(getifaddrs, int(ifaddrs**), if_zero<whole<0>>)
CALL(if_indextoname, char*(unsigned, char*), if_true<text<1>>)
CALL(inet_aton, int(const char*, in_addr*), reads_text<0>, if_true<whole<1>>)
CALL(inet_net_ntop, char*(int, const void*, int, char*, std::size_t), if_true<text<3>>)
CALL(inet_net_pton, int(int, const char*, void*, std::size_t), reads_text<1>, if_done<first<2, 1>>)
CALL(inet_neta, char*(in_addr_t, char*, std::size_t), if_true<text<1>>)
CALL(ether_aton_r, ether_addr*(const char*, ether_addr*), reads_text<0>, if_true<whole<1>>)
CALL(ether_ntoa_r, char*(const ether_addr*, char*), reads<0>, text<1>)
CALL(ether_line, int(const char*, ether_addr*, char*), reads_text<0>, if_zero<whole<1>, text<2>>)
CALL(ether_hostton, int(const char*, ether_addr*), reads_text<0>, if_zero<whole<1>>, makes_once)
CALL(ether_ntohost, int(char*, const ether_addr*), reads<1>, if_zero<text<0>>, makes_once)
CALL(mq_getattr, int(mqd_t, mq_attr*), if_zero<whole<1>>)
CALL(mq_setattr, int(mqd_t, const mq_attr*, mq_attr*), if_zero<whole<2>>)
CALL(mq_receive, ssize_t(mqd_t, char*, std::size_t, unsigned*), resulting<1>, if_done<whole<3>>)
CALL(mq_timedreceive,
     ssize_t(mqd_t, char*, std::size_t, unsigned*, const timespec*),
     resulting<1>, if_done<whole<3>>)

// ---- patterns, searches, lists -----------------------------------------------------------------
CALL(regcomp, int(regex_t*, const char*, int), reads_text<1>, whole<0>)
CALL(regfree, void(regex_t*), whole<0>)
CALL(regexec,
     int(const regex_t*, const char*, std::size_t, regmatch_t*, int),
     reads<0>, reads_text<1>, if_zero<array<3, 2>>)
CALL(regerror, std::size_t(int, const regex_t*, char*, std::size_t), if_true<text<2>>)
CALL(wordexp, int(const char*, wordexp_t*, int), reads_text<0>, whole<1>)
CALL(wordfree, void(wordexp_t*), whole<0>)
CALL(re_compile_pattern, const char*(const char*, std::size_t, re_pattern_buffer*), whole<2>)
CALL(re_match, int(re_pattern_buffer*, const char*, int, int, re_registers*), if_done<whole<4>>)
CALL(re_search,
     int(re_pattern_buffer*, const char*, int, int, int, re_registers*),
     if_done<whole<5>>)
CALL(insque, void(void**, void**), first<0, 2>, first<1, 1>)
CALL(tsearch, void*(const void*, void**, int (*)(const void*, const void*)), whole<1>)
CALL(tdelete, void*(const void*, void**, int (*)(const void*, const void*)), whole<1>)
CALL(lsearch,
     void*(const void*, void*, std::size_t*, std::size_t, int (*)(const void*, const void*)),
     whole<2>)
CALL(hcreate_r, int(std::size_t, hsearch_data*), if_true<whole<1>>)
CALL(hdestroy_r, void(hsearch_data*), whole<0>)
CALL(hsearch_r, int(ENTRY, ACTION, ENTRY**, hsearch_data*), whole<2>, if_true<whole<3>>)
CALL(scandir,
     int(const char*, dirent***, int (*)(const dirent*), int (*)(const dirent**, const dirent**)),
     reads_text<0>, if_done<whole<1>>)
CALL(scandirat,
     int(int, const char*, dirent***, int (*)(const dirent*), int (*)(const dirent**,
     const dirent**)),
     reads_text<1>, if_done<whole<2>>)
CALL(scandir64,
     int(const char*, dirent64***, int (*)(const dirent64*), int (*)(const dirent64**,
     const dirent64**)),
     reads_text<0>, if_done<whole<1>>)
CALL(scandirat64,
     int(int, const char*, dirent64***, int (*)(const dirent64*), int (*)(const dirent64**,
     const dirent64**)),
     reads_text<1>, if_done<whole<2>>)

// ---- what functions keep --------------------------------------------------------------------
CALL(drand48, double(), variables<&state_of_drand48>)
CALL(lrand48, long(), variables<&state_of_drand48>)
CALL(mrand48, long(), variables<&state_of_drand48>)
CALL(srand48, void(long), variables<&state_of_drand48>)
CALL(seed48, unsigned short*(unsigned short*), variables<&state_of_drand48>)
CALL(lcong48, void(unsigned short*), variables<&state_of_drand48>)
CALL(mblen, int(const char*, std::size_t), variables<&state_of_conversions>)
CALL(getopt, int(int, char* const*, const char*), variables<&optind, &optarg>)
CALL(getpwent, passwd*(), result_kept, makes_once)
CALL(getgrent, group*(), result_kept, makes_once)
CALL(getspent, spwd*(), result_kept, makes_once)
CALL(getspnam, spwd*(const char*), result_kept, makes_once)
CALL(getservent, servent*(), result_kept, makes_once)
CALL(getservbyname, servent*(const char*, const char*), result_kept, makes_once)
CALL(getservbyport, servent*(int, const char*), result_kept, makes_once)
CALL(getprotoent, protoent*(), result_kept, makes_once)
CALL(getprotobyname, protoent*(const char*), result_kept, makes_once)
CALL(getprotobynumber, protoent*(int), result_kept, makes_once)
CALL(gethostent, hostent*(), result_kept, makes_once)
CALL(gethostbyname2, hostent*(const char*, int), result_kept, makes_once)
CALL(gethostbyaddr, hostent*(const void*, socklen_t, int), result_kept, makes_once)
CALL(getnetent, netent*(), result_kept, makes_once)
CALL(getnetbyname, netent*(const char*), result_kept, makes_once)
CALL(getnetbyaddr, netent*(std::uint32_t, int), result_kept, makes_once)
CALL(fgetpwent, passwd*(FILE*), result_kept, makes_once)
CALL(fgetgrent, group*(FILE*), result_kept, makes_once)
CALL(fgetspent, spwd*(FILE*), result_kept, makes_once)
CALL(getutent, utmp*(), variables<&state_of_getutent>, result_kept)
CALL(getutid, utmp*(const utmp*), variables<&state_of_getutent>, result_kept)
CALL(getutline, utmp*(const utmp*), variables<&state_of_getutent>, result_kept)
CALL(pututline, utmp*(const utmp*), variables<&state_of_getutent>, result_kept)
CALL(getmntent, mntent*(FILE*), result_kept)
CALL(getdate, std::tm*(const char*), variables<&state_of_getdate>, result_kept)
CALL(ether_aton, ether_addr*(const char*), result_kept)
CALL(localeconv, lconv*(), result_kept)
CALL(ttyname, char*(int), variables<&state_of_ttyname>, result_text)
CALL(getlogin, char*(), variables<&state_of_getlogin>, result_text)
CALL(ptsname, char*(int), variables<&state_of_ptsname>, result_text)
CALL(l64a, char*(long), result_text)
CALL(ether_ntoa, char*(const ether_addr*), result_text)
CALL(getpass, char*(const char*), result_text)
CALL(getusershell, char*(), result_text)
CALL(readdir, dirent*(DIR*), handle<0>, result_kept)
CALL(readdir64, dirent64*(DIR*), handle<0>, result_kept)
CALL(rewinddir, void(DIR*), handle<0>)
CALL(seekdir, void(DIR*, long), handle<0>)
// clang-format on
