// scope.h -- L0: whether the code that runs now belongs to the program or to the machine.
#pragma once

namespace syncopate::instrument {

// Not thread_local: all fibers share one OS thread. The emulated machine, which has real threads,
// compiles the front end with SYNCOPATE_REAL_THREADS.
#if defined(SYNCOPATE_REAL_THREADS)
inline thread_local constinit int machine_depth [[gnu::tls_model("initial-exec")]] = 1;
#else
inline constinit int machine_depth = 1;  // 1 until the program starts
#endif

// While one exists, accesses are the machine's own: the front end lets them pass unseen, and malloc
// is the C library's. The front end opens one around every call of the engine; the engine's fiber
// switches carry it along, since every fiber that is switched away from is inside one.
class engine_scope {
 public:
  engine_scope() noexcept { ++machine_depth; }
  ~engine_scope() { --machine_depth; }
  engine_scope(const engine_scope&) = delete;
  engine_scope& operator=(const engine_scope&) = delete;
};

inline bool in_program() noexcept { return machine_depth == 0; }

}  // namespace syncopate::instrument
