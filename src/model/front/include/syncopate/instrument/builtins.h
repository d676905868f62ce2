/* builtins.h -- included first into every file compiled for a modeled machine (-include).
 *
 * Compilers open-code what they know to be a copy or a comparison, and do not instrument that.
 * Headers and programs ask for such code by name; here they get calls, which a machine sees.
 *
 * Before C++20 and C23, a release sequence goes on through later stores of the thread that began
 * it. Atomic stores of files in those languages are other calls, of the same meaning otherwise.
 */
#pragma once

#if !defined(__ASSEMBLER__) && \
    (defined(__cplusplus) ? __cplusplus <= 201703L : __STDC_VERSION__ + 0 <= 201710L)
__asm__(
    ".set __tsan_atomic8_store, syncopate_atomic8_store_in_sequence\n"
    ".set __tsan_atomic16_store, syncopate_atomic16_store_in_sequence\n"
    ".set __tsan_atomic32_store, syncopate_atomic32_store_in_sequence\n"
    ".set __tsan_atomic64_store, syncopate_atomic64_store_in_sequence\n"
    ".set __tsan_atomic128_store, syncopate_atomic128_store_in_sequence\n");
#endif

/* Structs that calls take or return by value compilers show by plugins of ours only. */
#if !defined(__ASSEMBLER__) && !defined(SYNCOPATE_STRUCTS_SEEN)
__asm__(
    ".pushsection .syncopate.unseen,\"MS\",@progbits,1\n"
    ".asciz \"*\"\n"
    ".popsection\n");
#endif

/* An optimizer may read ahead, and leave out what is not used: who judges a program has to know. */
#if !defined(__ASSEMBLER__) && defined(__OPTIMIZE__)
__asm__(
    ".pushsection .syncopate.unseen,\"MS\",@progbits,1\n"
    ".asciz \"O\"\n"
    ".popsection\n");
#endif

/* The processor's time stamp is the machine's, by a compiler's function or by the instruction in
 * assembly: a macro of the assembler goes before the instruction of its name. Around the call it
 * steps over the red zone (lea -128(%rsp), %rsp and back), in bytes for both syntaxes. */
#if !defined(__ASSEMBLER__)
__asm__(
    ".macro rdtsc\n"
    ".byte 0x48, 0x8d, 0x64, 0x24, 0x80\n"
    "call syncopate_time_stamp@PLT\n"
    ".byte 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0\n"
    ".endm\n"
    ".macro rdtscp\n"
    ".byte 0x48, 0x8d, 0x64, 0x24, 0x80\n"
    "call syncopate_time_stamp_and_processor@PLT\n"
    ".byte 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0\n"
    ".endm\n");
#define __builtin_ia32_rdtsc() ((unsigned long long)syncopate_ticks())
#define __builtin_ia32_rdtscp(processor) ((unsigned long long)syncopate_rdtscp(processor))
#define __builtin_readcyclecounter() ((unsigned long long)syncopate_ticks())
#if !defined(__cplusplus)
__UINT64_TYPE__ syncopate_ticks(void);
__UINT64_TYPE__ syncopate_rdtscp(void*);
#endif
#endif

/* No header is included here: the program's own feature macros come after this. Functions that a
 * program may not declare, or otherwise, have names of ours. */
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
__UINT64_TYPE__ syncopate_ticks() SYNCOPATE_NOTHROW;
__UINT64_TYPE__ syncopate_rdtscp(void*) SYNCOPATE_NOTHROW;
}
#undef SYNCOPATE_NOTHROW
#define __builtin_memcpy ::memcpy
#define __builtin_memmove ::memmove
#define __builtin_memset ::memset
#elif !defined(__ASSEMBLER__)
void* syncopate_memcpy(void*, const void*, __SIZE_TYPE__) __asm__("memcpy");
void* syncopate_memmove(void*, const void*, __SIZE_TYPE__) __asm__("memmove");
void* syncopate_memset(void*, int, __SIZE_TYPE__) __asm__("memset");
#define __builtin_memcpy syncopate_memcpy
#define __builtin_memmove syncopate_memmove
#define __builtin_memset syncopate_memset
#endif

#if !defined(__ASSEMBLER__)
#if defined(__cplusplus)
extern "C" {
#endif
void syncopate_bcopy(const void*, void*, __SIZE_TYPE__) __asm__("bcopy");
void syncopate_bzero(void*, __SIZE_TYPE__) __asm__("bzero");
void* syncopate_mempcpy(void*, const void*, __SIZE_TYPE__) __asm__("mempcpy");
char* syncopate_stpcpy(char*, const char*) __asm__("stpcpy");
char* syncopate_strcat(char*, const char*) __asm__("strcat");
char* syncopate_strcpy(char*, const char*) __asm__("strcpy");
char* syncopate_strncat(char*, const char*, __SIZE_TYPE__) __asm__("strncat");
char* syncopate_strncpy(char*, const char*, __SIZE_TYPE__) __asm__("strncpy");
#if defined(__cplusplus)
}
#endif
#define __builtin_bcopy syncopate_bcopy
#define __builtin_bzero syncopate_bzero
#define __builtin_mempcpy syncopate_mempcpy
#define __builtin_stpcpy syncopate_stpcpy
#define __builtin_strcat syncopate_strcat
#define __builtin_strcpy syncopate_strcpy
#define __builtin_strncat syncopate_strncat
#define __builtin_strncpy syncopate_strncpy
#endif
