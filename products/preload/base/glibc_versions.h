// glibc_versions.h -- the older versions that glibc gives its names on x86-64. On aarch64 its first
// is 2.17, and these are all that one. Those after 2.17 are the same everywhere, and are written as
// they are. exports.map.in makes the same difference.
#pragma once

#if defined(__x86_64__)
#define SYNCOPATE_GLIBC_2_2_5 "GLIBC_2.2.5"
#define SYNCOPATE_GLIBC_2_3_2 "GLIBC_2.3.2"
#define SYNCOPATE_GLIBC_2_3_3 "GLIBC_2.3.3"
#define SYNCOPATE_GLIBC_2_11 "GLIBC_2.11"
#elif defined(__aarch64__)
#define SYNCOPATE_GLIBC_2_2_5 "GLIBC_2.17"
#define SYNCOPATE_GLIBC_2_3_2 "GLIBC_2.17"
#define SYNCOPATE_GLIBC_2_3_3 "GLIBC_2.17"
#define SYNCOPATE_GLIBC_2_11 "GLIBC_2.17"
#endif
