/* gvl.h -- for the patched files of Ruby: its global VM lock (GVL) through <syncopate/gil.h>.
 *
 * The main ractor's threads call the component wherever they took, gave back or passed on the GVL.
 * Below it lies Ruby's own GVL, with its queue, timer and signals (runtime.cpp): that is what the
 * component takes when it does not elide. Other ractors keep their GVLs, and while there are any,
 * nothing is elided.
 *
 * Invariants
 *   I1  Before a transaction can begin, the thread's machine context is saved: who aborts it, and
 *       then collects garbage under the lock, finds the values on its stack and in its registers.
 *       An abort takes back each change of where that stack ends.
 *   I2  The ractor's running_ec is written only by who holds the lock; so it is right whenever
 *       garbage, ended threads among it, is collected.
 *   I3  Garbage collection, switches of fibers and second ractors begin under the lock.
 *   I4  What conflicts are removed is fixed before the first thread enters; none unless elided.
 */
#ifndef SYNCOPATE_RUBY_GVL_H
#define SYNCOPATE_RUBY_GVL_H

#include <stdbool.h>
#include <syncopate/gil.h>

#ifdef __cplusplus
extern "C" {
#endif

/* runtime.cpp. Whether yield points have work to do at all. */
bool syncopate_ruby_elides(void);

/* A thread of the main ractor before it enters, once or often; after its last stay; and the last
 * thread, which is inside or unknown: prints the statistics that were asked for. */
void syncopate_ruby_begin_thread(void);
void syncopate_ruby_end_thread(void);
void syncopate_ruby_end(void);

/* thread_pthread.c: Ruby's own lock, for the calling thread. */
void rb_gvl_take(void);
bool rb_gvl_try_take(void);
void rb_gvl_give_back(void);

/* Whether the calling thread runs in a transaction. */
static inline bool rb_gvl_is_elided(void) {
  enum { elided = 2 }; /* syncopate::elide::gil_state */
  return syncopate_gil_self.state == elided;
}

/* The conflicts that are removed (SYNCOPATE_RUBY_REMOVE; runtime.cpp has their names). */
enum rb_gvl_removal {
  rb_gvl_objects = 1,    /* free objects: a list for each thread */
  rb_gvl_counts = 2,     /* of allocated objects: by thread */
  rb_gvl_malloc = 4,     /* bytes allocated since the last collection: by thread, 32 KB at a time */
  rb_gvl_transient = 8,  /* short arrays' and tables' elements: a block for each thread */
  rb_gvl_calls = 16,     /* inline caches of methods: filled once */
  rb_gvl_variables = 32, /* inline caches of instance variables: filled once */
  rb_gvl_vm_lock = 64,   /* the VM's lock between ractors: not taken in transactions */
  rb_gvl_collector = 128, /* a larger first heap; collections run to their end at once */
  rb_gvl_lines = 256,     /* fibers' structures, which threads run in: no line with another's */
};

/* The first, in memory that nobody writes after I4. */
extern unsigned syncopate_ruby_removed[64];

static inline bool rb_gvl_removes(unsigned removals) {
  return (syncopate_ruby_removed[0] & removals) != 0;
}

/* Bytes behind what a thread writes at each step. */
static inline size_t rb_gvl_padding(void) { return rb_gvl_removes(rb_gvl_lines) ? 256 : 0; }

/* gc.c: what the calling thread has of the heap for itself, before its first stay inside and after
 * its last. */
void rb_gc_local_begin(void);
void rb_gc_local_end(void);

/* I1. Ruby's macro stores by assembly, which the emulated machine does not see and would not take
 * back in an abort: Ruby looks how much of the stack is in use also where little of it is, and
 * after the abort the frames below that would be lost. */
#if defined(SET_MACHINE_STACK_END) && defined(__x86_64__) && defined(__GNUC__)
#undef SET_MACHINE_STACK_END
#define SET_MACHINE_STACK_END(p)                                \
  do {                                                          \
    VALUE* stack_end_;                                          \
    __asm__ __volatile__("movq\t%%rsp, %0" : "=r"(stack_end_)); \
    *(p) = stack_end_;                                          \
  } while (0)
#endif

/* I1, in a function that begins a transaction: its frame has all registers that its callers rely
 * on. Ruby's RB_GC_SAVE_MACHINE_CONTEXT leaves them to a function that may have returned since. */
#define RB_GVL_SAVE_MACHINE_CONTEXT(th)                  \
  do {                                                   \
    __builtin_unwind_init();                             \
    SET_MACHINE_STACK_END(&(th)->ec->machine.stack_end); \
  } while (0)

/* I3. Requires: inside, or not a thread of the main ractor (nothing happens then). */
static inline void rb_gvl_needs_lock(void) {
  if (rb_gvl_is_elided()) syncopate_gil_needs_lock();
}

#ifdef __cplusplus
}
#endif
#endif
