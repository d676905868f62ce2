// bits/c++config.h -- libstdc++'s header of this name, for the explored machine: templates that
// libstdc++ has compiled in its library, as strings and streams, are compiled with the program, so
// that their accesses are seen.
#pragma GCC system_header
#include_next <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 0
