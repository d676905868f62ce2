// scope.h -- whether the code that runs now belongs to the program or to the machine.
#pragma once

namespace syncopate::instrument {

// Not thread_local: all fibers share one OS thread. The emulated machine, which has real threads,
// compiles its part of the front end with SYNCOPATE_REAL_THREADS; all its threads are the
// program's.
#if defined(SYNCOPATE_REAL_THREADS)
inline thread_local constinit int machine_depth [[gnu::tls_model("initial-exec")]] = 0;
#else
inline constinit int machine_depth = 1;  // 1 until the program starts
#endif

// Whether the atomic operation that the engine is about to be given is one that the program wrote,
// with an order that the program chose; not one that this library makes on the program's behalf.
// The front end sets it right before it calls the engine; whoever asks takes it.
#if defined(SYNCOPATE_REAL_THREADS)
inline thread_local constinit bool order_is_programs [[gnu::tls_model("initial-exec")]] = false;
#else
inline constinit bool order_is_programs = false;
#endif

// Files that are themselves instrumented (pthread/, stl/) read the depth unseen by the machine.
#if defined(__SANITIZE_THREAD__)
#define SYNCOPATE_UNSEEN __attribute__((no_sanitize("thread")))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SYNCOPATE_UNSEEN __attribute__((no_sanitize("thread")))
#endif
#endif
#if !defined(SYNCOPATE_UNSEEN)
#define SYNCOPATE_UNSEEN
#endif

// While one exists, accesses are the machine's own: the front end lets them pass unseen, and malloc
// is the C library's. The front end opens one around every call of the engine; the engine's fiber
// switches carry it along, since every fiber that is switched away from is inside one.
class engine_scope {
 public:
  SYNCOPATE_UNSEEN engine_scope() noexcept { ++machine_depth; }
  SYNCOPATE_UNSEEN ~engine_scope() { --machine_depth; }
  engine_scope(const engine_scope&) = delete;
  engine_scope& operator=(const engine_scope&) = delete;
};

// The program's code runs while one exists: around main and the entry of each thread, on its fiber.
class program_scope {
 public:
  SYNCOPATE_UNSEEN program_scope() noexcept : before_(machine_depth) { machine_depth = 0; }
  SYNCOPATE_UNSEEN ~program_scope() { machine_depth = before_; }
  program_scope(const program_scope&) = delete;
  program_scope& operator=(const program_scope&) = delete;

 private:
  int before_;
};

SYNCOPATE_UNSEEN inline bool in_program() noexcept { return machine_depth == 0; }

}  // namespace syncopate::instrument
