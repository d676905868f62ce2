/* wrap_libc.h -- transactions call strlen, strtol, snprintf ... by their own names. C, and C++
   but for strchr (which C++ overloads), with gcc -fgnu-tm; link with -lsyncopate-tm -litm.

   Include it after the C library's headers, and before the code with transactions: in a
   transaction, the compiler then calls libc.h's clones; elsewhere nothing changes, so that the
   compiler's own knowledge of these functions, and their speed, stay as they are. memcpy, memmove,
   memset, malloc, calloc and free need no wrapper; qsort has none, since its `compare` has to be
   declared transaction_safe: call tm_qsort. */
#pragma once

#include <syncopate/tm/libc.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#if defined(__GNUC__) && !defined(__clang__)

#ifdef __cplusplus
extern "C" {
#endif

/* CLONE is _ZGTt, the length of tm_NAME, and tm_NAME. */
#define SYNCOPATE_TM_WRAP_(NAME, CLONE)                           \
  extern __typeof__(NAME) syncopate_tm_wrap_##NAME __asm__(CLONE) \
      __attribute__((transaction_wrap(NAME), transaction_safe))

SYNCOPATE_TM_WRAP_(memcmp, "_ZGTt9tm_memcmp");
SYNCOPATE_TM_WRAP_(realloc, "_ZGTt10tm_realloc");
SYNCOPATE_TM_WRAP_(strlen, "_ZGTt9tm_strlen");
SYNCOPATE_TM_WRAP_(strcmp, "_ZGTt9tm_strcmp");
SYNCOPATE_TM_WRAP_(strncmp, "_ZGTt10tm_strncmp");
SYNCOPATE_TM_WRAP_(strncpy, "_ZGTt10tm_strncpy");
SYNCOPATE_TM_WRAP_(strtol, "_ZGTt9tm_strtol");
SYNCOPATE_TM_WRAP_(strtoul, "_ZGTt10tm_strtoul");
SYNCOPATE_TM_WRAP_(strtod, "_ZGTt9tm_strtod");
SYNCOPATE_TM_WRAP_(atoi, "_ZGTt7tm_atoi");
/* Not every -std= has these. */
#if defined(__USE_XOPEN2K8) || !defined(__GLIBC__)
SYNCOPATE_TM_WRAP_(strnlen, "_ZGTt10tm_strnlen");
#endif
#if defined(__USE_ISOC99) || !defined(__GLIBC__)
SYNCOPATE_TM_WRAP_(strtoull, "_ZGTt11tm_strtoull");
SYNCOPATE_TM_WRAP_(snprintf, "_ZGTt11tm_snprintf");
SYNCOPATE_TM_WRAP_(vsnprintf, "_ZGTt12tm_vsnprintf");
#endif
#ifndef NDEBUG
SYNCOPATE_TM_WRAP_(__assert_fail, "_ZGTt16tm_assert_failed"); /* assert; abort needs none */
#endif
#ifndef __cplusplus
SYNCOPATE_TM_WRAP_(strchr, "_ZGTt9tm_strchr");
#endif
#undef SYNCOPATE_TM_WRAP_

/* These touch no memory of the program's. */
#define SYNCOPATE_TM_IS_PURE_(NAME) extern __typeof__(NAME) NAME __attribute__((transaction_pure))
#ifndef __cplusplus
SYNCOPATE_TM_IS_PURE_(__ctype_b_loc);    /* behind C's macros */
SYNCOPATE_TM_IS_PURE_(__errno_location); /* what is read and written there is instrumented */
#endif
SYNCOPATE_TM_IS_PURE_(isalnum);
SYNCOPATE_TM_IS_PURE_(isalpha);
#if defined(__USE_ISOC99) || !defined(__GLIBC__)
SYNCOPATE_TM_IS_PURE_(isblank);
#endif
SYNCOPATE_TM_IS_PURE_(iscntrl);
SYNCOPATE_TM_IS_PURE_(isdigit);
SYNCOPATE_TM_IS_PURE_(isgraph);
SYNCOPATE_TM_IS_PURE_(islower);
SYNCOPATE_TM_IS_PURE_(isprint);
SYNCOPATE_TM_IS_PURE_(ispunct);
SYNCOPATE_TM_IS_PURE_(isspace);
SYNCOPATE_TM_IS_PURE_(isupper);
SYNCOPATE_TM_IS_PURE_(isxdigit);
SYNCOPATE_TM_IS_PURE_(tolower);
SYNCOPATE_TM_IS_PURE_(toupper);
SYNCOPATE_TM_IS_PURE_(htons);
SYNCOPATE_TM_IS_PURE_(ntohs);
SYNCOPATE_TM_IS_PURE_(htonl);
SYNCOPATE_TM_IS_PURE_(ntohl);
#undef SYNCOPATE_TM_IS_PURE_

#ifdef __cplusplus
}
#endif
#endif
