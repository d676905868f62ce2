/* gvl.h -- for the patched files of Ruby: its global VM lock (GVL) through <syncopate/gil.h>.
 *
 * The main ractor's threads call the component wherever they took, gave back or passed on the GVL.
 * Below it lies Ruby's own GVL, with its queue, timer and signals (runtime.cpp): that is what the
 * component takes when it does not elide. Other ractors keep their GVLs, and while there are any,
 * nothing is elided.
 *
 * Invariants
 *   I1  Before a transaction can begin, the thread's machine context is saved: who aborts it, and
 *       then collects garbage under the lock, finds the values on its stack (ruby's gc.h,
 *       RB_GC_SAVE_MACHINE_CONTEXT).
 *   I2  The ractor's running_ec is written only by who holds the lock; so it is right whenever
 *       garbage, ended threads among it, is collected.
 *   I3  Garbage collection, switches of fibers and second ractors begin under the lock.
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

/* I3. Requires: inside, or not a thread of the main ractor (nothing happens then). */
static inline void rb_gvl_needs_lock(void) {
  if (rb_gvl_is_elided()) syncopate_gil_needs_lock();
}

#ifdef __cplusplus
}
#endif
#endif
