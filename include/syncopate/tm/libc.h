/* libc.h -- functions of the C library that transactions may call. C and C++ with gcc
   -fgnu-tm; link with -lsyncopate-tm -litm (any libitm.so.1).

   Each function tm_NAME is the standard's NAME: outside of transactions, and where a transaction
   runs alone, it jumps to NAME. In a transaction, the compiler calls the clone instead, which
   reads and writes by the transaction: what it wrote is taken back where the transaction rolls
   back, errno included. A transaction pays for that by its log; nothing else does.

   wrap_libc.h lets transactions call the same functions by their standard names.

   Source   the list is that of Ruan, Vyas, Liu & Spear, "Transactionalizing legacy code: an
            experience report using GCC and memcached", ASPLOS 2014, section 3.4. They had to make
            the plain function from the same source as the transactional one, and so slower; here,
            the two are written apart. */
#pragma once

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#define SYNCOPATE_TM_SAFE __attribute__((transaction_safe))
#define SYNCOPATE_TM_PURE_FUNCTION __attribute__((transaction_pure, unused)) static __inline__
#else
#define SYNCOPATE_TM_SAFE
#define SYNCOPATE_TM_PURE_FUNCTION __attribute__((unused)) static __inline__
#endif
#define SYNCOPATE_TM_PRINTS(FORMAT, FIRST) __attribute__((format(printf, FORMAT, FIRST)))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory: the compiler itself knows what to do with the first three ------------------- */

SYNCOPATE_TM_SAFE static __inline__ void* tm_memcpy(void* to, const void* from, size_t size) {
  return memcpy(to, from, size);
}
SYNCOPATE_TM_SAFE static __inline__ void* tm_memmove(void* to, const void* from, size_t size) {
  return memmove(to, from, size);
}
SYNCOPATE_TM_SAFE static __inline__ void* tm_memset(void* to, int value, size_t size) {
  return memset(to, value, size);
}
SYNCOPATE_TM_SAFE int tm_memcmp(const void* a, const void* b, size_t size);
/* The block may stay where it is. What it held is taken back if the transaction rolls back. */
SYNCOPATE_TM_SAFE void* tm_realloc(void* block, size_t size);

/* ---- strings ------------------------------------------------------------------------------ */

SYNCOPATE_TM_SAFE size_t tm_strlen(const char* text);
SYNCOPATE_TM_SAFE size_t tm_strnlen(const char* text, size_t limit);
SYNCOPATE_TM_SAFE int tm_strcmp(const char* a, const char* b);
SYNCOPATE_TM_SAFE int tm_strncmp(const char* a, const char* b, size_t limit);
SYNCOPATE_TM_SAFE char* tm_strchr(const char* text, int what);
SYNCOPATE_TM_SAFE char* tm_strncpy(char* to, const char* from, size_t size);

/* ---- numbers ------------------------------------------------------------------------------ */

SYNCOPATE_TM_SAFE long tm_strtol(const char* text, char** end, int base);
SYNCOPATE_TM_SAFE unsigned long tm_strtoul(const char* text, char** end, int base);
SYNCOPATE_TM_SAFE unsigned long long tm_strtoull(const char* text, char** end, int base);
SYNCOPATE_TM_SAFE double tm_strtod(const char* text, char** end);
SYNCOPATE_TM_SAFE int tm_atoi(const char* text);

/* ---- printing ----------------------------------------------------------------------------- */

/* Every conversion of the C library, and "%2$s". More than 32 arguments, or conversions that the
   program registered itself, make the transaction irrevocable; GCC's library cannot do that (nor
   end the program by tm_assert with its message) where the transaction may be canceled.
   tm_vsnprintf may be called from a transaction_pure function, too: GCC admits va_start there
   alone, so that is how a program's own variadic function prints in a transaction. */
SYNCOPATE_TM_SAFE int tm_snprintf(char* to, size_t size, const char* format, ...)
    SYNCOPATE_TM_PRINTS(3, 4);
SYNCOPATE_TM_SAFE int tm_vsnprintf(char* to, size_t size, const char* format, va_list arguments)
    SYNCOPATE_TM_PRINTS(3, 0);

/* ---- sorting ------------------------------------------------------------------------------ */

/* `compare` gets pointers to copies of the elements. In a transaction, elements that compare equal
   keep their order. */
typedef int (*tm_compare_function)(const void*, const void*) SYNCOPATE_TM_SAFE;
SYNCOPATE_TM_SAFE void tm_qsort(void* base, size_t count, size_t size, tm_compare_function compare);

/* ---- the end of the program --------------------------------------------------------------- */

/* In a transaction: it first begins again with no other one beside it, so that only a state that
   the program can really be in ends it, and the core file shows all that the transaction wrote. */
SYNCOPATE_TM_SAFE void tm_abort(void) __attribute__((noreturn));
SYNCOPATE_TM_SAFE void tm_assert_failed(const char* condition, const char* file, unsigned line,
                                        const char* function) __attribute__((noreturn));
#ifdef NDEBUG
#define tm_assert(condition) ((void)0)
#else
#define tm_assert(condition) \
  ((condition) ? (void)0 : tm_assert_failed(#condition, __FILE__, __LINE__, __func__))
#endif

/* ---- no memory of the program's: the C library's own functions ------------------------------ */

#define SYNCOPATE_TM_CTYPE_(NAME) \
  SYNCOPATE_TM_PURE_FUNCTION int tm_##NAME(int c) { return NAME(c); }
SYNCOPATE_TM_CTYPE_(isalnum)
SYNCOPATE_TM_CTYPE_(isalpha)
#if defined(__USE_ISOC99) || !defined(__GLIBC__)
SYNCOPATE_TM_CTYPE_(isblank)
#endif
SYNCOPATE_TM_CTYPE_(iscntrl)
SYNCOPATE_TM_CTYPE_(isdigit)
SYNCOPATE_TM_CTYPE_(isgraph)
SYNCOPATE_TM_CTYPE_(islower)
SYNCOPATE_TM_CTYPE_(isprint)
SYNCOPATE_TM_CTYPE_(ispunct)
SYNCOPATE_TM_CTYPE_(isspace)
SYNCOPATE_TM_CTYPE_(isupper)
SYNCOPATE_TM_CTYPE_(isxdigit)
SYNCOPATE_TM_CTYPE_(tolower)
SYNCOPATE_TM_CTYPE_(toupper)
#undef SYNCOPATE_TM_CTYPE_

SYNCOPATE_TM_PURE_FUNCTION uint16_t tm_htons(uint16_t host) { return htons(host); }
SYNCOPATE_TM_PURE_FUNCTION uint16_t tm_ntohs(uint16_t net) { return ntohs(net); }
SYNCOPATE_TM_PURE_FUNCTION uint32_t tm_htonl(uint32_t host) { return htonl(host); }
SYNCOPATE_TM_PURE_FUNCTION uint32_t tm_ntohl(uint32_t net) { return ntohl(net); }

#ifdef __cplusplus
}
#endif
