/* open_streams.c -- the list of open streams (open_streams.h).
 *
 * Invariants
 *   I1  `first` and what it leads to are read and written under the interpreter lock.
 *   I2  A stream is in the list from its opening until just before it is closed; one that is being
 *       flushed is in use, and so is not closed (blocking_io.c).
 */
#include "open_streams.h"

#include "blocking_io.h"

#include <stdint.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <syncopate/gil.h>

struct open_stream {
  FILE* stream;
  uint64_t flushed; /* the last flush of all that has come here */
  struct open_stream* next;
};

static struct open_stream* first;
static uint64_t flushes;

FILE* lua_mt_opened(FILE* stream) {
  if (stream == NULL) return NULL;
  syncopate_gil_needs_lock();
  struct open_stream* const made = malloc(sizeof *made);
  if (made == NULL) return stream;
  *made = (struct open_stream){.stream = stream, .flushed = flushes, .next = first};
  first = made;
  return stream;
}

void lua_mt_closing(const FILE* stream) {
  syncopate_gil_needs_lock();
  struct open_stream** link = &first;
  while (*link != NULL && (*link)->stream != stream) link = &(*link)->next;
  struct open_stream* const found = *link;
  if (found == NULL) return;
  *link = found->next;
  free(found);
}

/* Whoever waits in it will write, or has begun to: that is not waited for. What was read ahead
 * stays: only fflush() of a stream by its name gives that back. */
static int flush_if_idle(FILE* stream) {
  return lua_mt_in_use(stream) || __fpending(stream) == 0 ? 0 : lua_mt_fflush(stream);
}

/* The next one of this flush; the list may have changed since the last one. NULL: none is left. */
static FILE* next_of(uint64_t flush) {
  struct open_stream* each = first;
  while (each != NULL && each->flushed >= flush) each = each->next;
  if (each == NULL) return NULL;
  each->flushed = flush;
  return each->stream;
}

int lua_mt_flush_all(void) {
  syncopate_gil_needs_lock();
  const uint64_t flush = ++flushes;
  int result = flush_if_idle(stdout) | flush_if_idle(stderr);
  for (FILE* stream = next_of(flush); stream != NULL; stream = next_of(flush)) {
    syncopate_gil_needs_lock(); /* it was let go for the last one */
    result |= flush_if_idle(stream);
  }
  return result;
}
