// export.h -- marks the functions that stand in for the C library's.
//
// Symbol versions are given in exports.map.in and, where glibc has two, by SYNCOPATE_ALSO_AS beside
// the definition: a program linked against any glibc finds us, whichever version of the name it
// asks for. Compiled into a machine's library (SYNCOPATE_ONE_VERSION), which programs are linked
// with, the names need no versions.
#pragma once

#include "preload/base/glibc_versions.h"

#define SYNCOPATE_EXPORT extern "C" __attribute__((visibility("default")))

#if defined(SYNCOPATE_ONE_VERSION)
#define SYNCOPATE_ALSO_AS(function, name, version)
#define SYNCOPATE_ALSO_OLDER(function, older)
#else
// Exports `function` under another name or an older version as well. The helper symbol that
// .symver needs is dropped again.
#define SYNCOPATE_ALSO_AS(function, name, version) \
  asm(".globl syncopate_old_" #name                \
      "\n"                                         \
      ".set syncopate_old_" #name ", " #function   \
      "\n"                                         \
      ".symver syncopate_old_" #name ", " #name "@" version ", remove");

// The same for a name that glibc has twice, since 2.34 took libpthread into libc: `older`, and the
// default of exports.map.in.
#define SYNCOPATE_ALSO_OLDER(function, older)  \
  SYNCOPATE_ALSO_AS(function, function, older) \
  asm(".symver " #function ", " #function "@@@GLIBC_2.34");
#endif
