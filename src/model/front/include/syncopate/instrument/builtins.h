/* builtins.h -- included first into every file compiled for a modeled machine (-include).
 *
 * Compilers open-code what they know to be a copy or a comparison, and do not instrument that. The
 * standard library's headers ask for such code by name; here they get calls, which a machine sees.
 */
#pragma once

/* No header is included here: the program's own feature macros come after this. C programs do not
 * name the builtins. */
#if defined(__cplusplus)
#if __cplusplus >= 201103L
#define SYNCOPATE_NOTHROW noexcept
#else
#define SYNCOPATE_NOTHROW throw()
#endif
extern "C" {
void* memcpy(void* __restrict, const void* __restrict, __SIZE_TYPE__) SYNCOPATE_NOTHROW;
void* memmove(void*, const void*, __SIZE_TYPE__) SYNCOPATE_NOTHROW;
void* memset(void*, int, __SIZE_TYPE__) SYNCOPATE_NOTHROW;
}
#undef SYNCOPATE_NOTHROW
#define __builtin_memcpy ::memcpy
#define __builtin_memmove ::memmove
#define __builtin_memset ::memset
#endif
