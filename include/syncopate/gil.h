/* gil.h -- a global interpreter lock that threads do not wait for; for runtimes in C.
 *
 * A runtime keeps its one big lock: each thread is inside while it runs interpreter code, lets go
 * around what may block, and yields at points where others may see its state. Behind these calls
 * the lock is either taken, or elided: the code between two yields runs as a hardware transaction
 * (docs/gil.md). elide/gil.h is the same for C++.
 *
 *   attach, enter, { yield ... }, leave, detach         each thread
 *   block_begin, (system call that may sleep), block_end  inside
 *
 * One file of the runtime, in C++, includes <syncopate/elide/gil_c_interface.h>, which defines
 * them. All return 0, or an error number with nothing done: the caller's bugs are reported once on
 * standard error and never end the program.
 *
 * Memory order (the tag stands at its site below)
 *   [W]  relaxed: a hint; who sees it late counts one point more, or one less.
 */
#ifndef SYNCOPATE_GIL_H
#define SYNCOPATE_GIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a thread has for itself, in cache lines of its own (256 B: the longest of any machine
 * that we know). Only `countdown` is for others than the component. */
struct syncopate_gil_thread {
  int64_t countdown; /* yield points to pass until the next one has work to do */
  uint32_t state;    /* syncopate::elide::gil_state */
  uint32_t point;    /* of the table: where the transaction began */
  uint32_t length;   /* yield points it was to have */
  uint32_t generation;
  uint64_t since;  /* ticks: when this stay began to do useful work */
  uint64_t slice;  /* ticks: when the lock was taken */
  uint64_t fallen; /* whether the lock was taken after aborts */
  uint64_t useful; /* ticks, as the next ones: see syncopate::elide::gil_cycles */
  uint64_t aborted;
  uint64_t waiting;
  uint64_t overhead;
  uint64_t cost_since; /* ticks: since when cost_points were passed, in that epoch */
  uint64_t cost_points;
  uint32_t epoch;
  struct syncopate_gil_record* records; /* per yield point */
} __attribute__((aligned(256)));

extern __thread struct syncopate_gil_thread syncopate_gil_self;

/* Whether yield points have to be counted: the lock is elided, or a thread waits for it. Read it
 * by way of the functions below. */
extern uint32_t syncopate_gil_wanted;

/* Makes the calling thread known, outside of the lock. ENOMEM; EDEADLK: it is known already. */
int syncopate_gil_attach(void);
/* The reverse. EPERM: not attached, or inside. */
int syncopate_gil_detach(void);

/* Enters: until leave() or the next yield the calling thread runs as if alone. `pc` is the place,
 * for learning; any address that stands for it. Blocks. EPERM: not attached; EDEADLK: inside
 * already; EOWNERDEAD: this process was forked while a thread that it has not was inside. */
int syncopate_gil_enter(const void* pc);
/* EPERM: not inside. */
int syncopate_gil_leave(void);

/* Around what may block, or lasts long and needs nothing of the interpreter: leave, enter again. */
int syncopate_gil_block_begin(void);
int syncopate_gil_block_end(const void* pc);

/* Returns with the lock really held: what follows cannot be undone, or does not fit into a
 * transaction (garbage collection, output). A transaction starts over to that end. EPERM. */
int syncopate_gil_needs_lock(void);

int syncopate_gil_yield_slow(const void* pc);

/* A yield point: others may run, and may see and change all that the lock protects. EPERM: not
 * inside; nothing happens. */
static __inline__ int syncopate_gil_yield(const void* pc) {
  return --syncopate_gil_self.countdown <= 0 ? syncopate_gil_yield_slow(pc) : 0;
}

/* Whether yield points have to be counted now: memory that nobody writes while this stays as it
 * is. An interpreter may have two tables of instructions, and in one of them no yield points. */
static __inline__ int syncopate_gil_is_counted(void) {
  const uint32_t wanted = __atomic_load_n(&syncopate_gil_wanted, __ATOMIC_RELAXED); /* [W] */
  return __builtin_expect(wanted != 0, 0);
}

/* yield() in two parts, for an interpreter's loop: whether yield_slow() has to be called now.
 * Requires: inside. A call of yield() counts always, and finds the caller's bugs. */
static __inline__ int syncopate_gil_is_due(void) {
  return syncopate_gil_is_counted() && --syncopate_gil_self.countdown <= 0;
}

/* Names the yield points that were used so far, for the statistics: a runtime calls this while it
 * still has its code, and not in a transaction. `name` gets each pc and `context`, and writes what
 * people call that place ("file.lua:12"), at most `room` bytes, a zero at the end; or nothing. It
 * is not called unless statistics are asked for. */
void syncopate_gil_name_points(void (*name)(const void* pc, char* to, size_t room, void* context),
                               void* context);

/* Prints the statistics as SYNCOPATE_GIL_STATS asks (docs/gil.md); nothing unless asked. Of the
 * threads that have detached; and of the calling one where it has not, and holds the lock or is
 * outside: then the program ends at once, others may still run, and no trace is written. */
void syncopate_gil_report(void);

#ifdef __cplusplus
}
#endif
#endif
