// fast_tls.h -- how thread-local variables of libraries are reached.
//
// At an offset that is known when the library is loaded: in one instruction, in signal handlers,
// too. A library that is loaded later has little room for such, which is given back never: glibc
// keeps about 1,600 bytes for all of them. One that may be loaded again and again
// (SYNCOPATE_LOADED_AGAIN) has its variables in memory of their own, reached by a call.
#pragma once

#ifdef SYNCOPATE_LOADED_AGAIN
#define SYNCOPATE_FAST_TLS
#else
#define SYNCOPATE_FAST_TLS __attribute__((tls_model("initial-exec")))
#endif
