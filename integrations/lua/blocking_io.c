/* blocking_io.c -- streams that are waited for outside of the interpreter lock (blocking_io.h).
 *
 * Invariants
 *   I1  A stream that a thread uses outside of the lock is in `uses`; it leaves that list before
 *       the thread enters again. `uses` changes under `guard` only.
 *   I2  Between leave() and back() a thread touches the stream and its own variables, nothing of
 *       Lua's but the bytes of strings and buffers that its stack keeps alive.
 *   I3  A stream is locked here in UNSEEN functions only. The threads of a simulated machine are
 *       one of the system's: did another run meanwhile, and wait in the C library, none ever would
 *       again. It may run where the machine sees an access; here it sees none.
 */
#include "blocking_io.h"

#include "open_streams.h"
#include "places.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <syncopate/gil.h>

struct use {
  FILE* stream;
  struct use* next;
};

static struct use* uses;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void leave(struct use* me, FILE* stream) {
  syncopate_gil_needs_lock();
  me->stream = stream;
  pthread_mutex_lock(&guard);
  me->next = uses;
  uses = me;
  pthread_mutex_unlock(&guard);
  syncopate_gil_block_begin();
}

static void back(struct use* me) {
  const int error = errno;
  pthread_mutex_lock(&guard);
  struct use** link = &uses;
  while (*link != me) link = &(*link)->next;
  *link = me->next;
  pthread_mutex_unlock(&guard);
  syncopate_gil_block_end(lua_mt_places[lua_mt_at_stream]);
  errno = error;
}

bool lua_mt_in_use(FILE* stream) {
  pthread_mutex_lock(&guard);
  const struct use* each = uses;
  while (each != NULL && each->stream != stream) each = each->next;
  pthread_mutex_unlock(&guard);
  return each != NULL;
}

/* What a stream takes or gives is not taken back when a transaction aborts: where the machine is a
 * modeled one, the C library's code is not its to undo. So each function here first has the lock.
 */

/* The expression, computed outside of the lock. */
#define OUTSIDE(type, stream, expression) \
  {                                       \
    struct use me;                        \
    leave(&me, (stream));                 \
    const type result = (expression);     \
    back(&me);                            \
    return result;                        \
  }

#define UNSEEN __attribute__((no_sanitize("thread")))

/* Bytes that can be read, or written, without a system call. Requires: nobody else uses it. */
static UNSEEN size_t readable(const FILE* stream) {
  return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
}
static UNSEEN size_t room(const FILE* stream) {
  const ptrdiff_t bytes = stream->_IO_write_end - stream->_IO_write_ptr;
  return bytes > 0 ? (size_t)bytes : 0; /* a line-buffered stream has its end at its start */
}

/* At once, or not at all: what does not wait for the stream, nor for who reads it or writes to it.
 * Return the character, or the items; EOF, or `not_now`. */
static const size_t not_now = (size_t)-1;

static UNSEEN int getc_at_once(FILE* stream) {
  if (ftrylockfile(stream) != 0) return EOF;
  const int c = readable(stream) != 0 ? getc_unlocked(stream) : EOF;
  funlockfile(stream);
  return c;
}

static UNSEEN size_t fread_at_once(void* to, size_t size, size_t count, FILE* stream) {
  if (ftrylockfile(stream) != 0) return not_now;
  const bool ready = readable(stream) >= size * count;
  const size_t got = ready ? fread_unlocked(to, size, count, stream) : not_now;
  funlockfile(stream);
  return got;
}

/* spare: what has to fit into the buffer. */
static UNSEEN size_t fwrite_at_once(const void* from, size_t size, size_t count, FILE* stream,
                                    size_t spare) {
  if (ftrylockfile(stream) != 0) return not_now;
  const bool fits = room(stream) >= spare;
  const size_t put = fits ? fwrite_unlocked(from, size, count, stream) : not_now;
  funlockfile(stream);
  return put;
}

int lua_mt_getc(FILE* stream) {
  syncopate_gil_needs_lock();
  /* Nobody is in a stream outside of the lock: none is locked. */
  if (__atomic_load_n(&uses, __ATOMIC_RELAXED) == NULL && readable(stream) != 0)
    return getc_unlocked(stream);
  const int c = getc_at_once(stream);
  if (c != EOF) return c;
  OUTSIDE(int, stream, getc(stream))
}

char* lua_mt_fgets(char* to, int room, FILE* stream) {
  int length = 0;
  for (int c = 0; length < room - 1 && c != '\n' && (c = lua_mt_getc(stream)) != EOF;)
    to[length++] = (char)c;
  to[length] = '\0';
  return length != 0 ? to : NULL;
}

size_t lua_mt_fread(void* to, size_t size, size_t count, FILE* stream) {
  syncopate_gil_needs_lock();
  const size_t got = fread_at_once(to, size, count, stream);
  if (got != not_now) return got;
  OUTSIDE(size_t, stream, fread(to, size, count, stream))
}

size_t lua_mt_fwrite(const void* from, size_t size, size_t count, FILE* stream) {
  syncopate_gil_needs_lock();
  const size_t put = fwrite_at_once(from, size, count, stream, size * count + 1);
  if (put != not_now) return put;
  OUTSIDE(size_t, stream, fwrite(from, size, count, stream))
}

size_t lua_mt_print(const char* from, size_t bytes) {
  syncopate_gil_needs_lock();
  enum { small = 1024 }; /* a print flushes what it has written: the buffer has room for some */
  const size_t put = bytes <= small ? fwrite_at_once(from, 1, bytes, stdout, 0) : not_now;
  if (put != not_now) return put;
  OUTSIDE(size_t, stdout, fwrite(from, 1, bytes, stdout))
}

int lua_mt_fprintf(FILE* stream, const char* format, ...) {
  char text[512]; /* a number */
  va_list rest;
  va_start(rest, format);
  const int length = vsnprintf(text, sizeof text, format, rest);
  va_end(rest);
  if (length < 0 || (size_t)length >= sizeof text) return -1;
  return lua_mt_fwrite(text, 1, (size_t)length, stream) == (size_t)length ? length : -1;
}

int lua_mt_fflush(FILE* stream){OUTSIDE(int, stream, fflush(stream))}

/* These wait for who is in the stream, or have to write first what its buffer has. */
off_t lua_mt_ftell(FILE* stream) {
  OUTSIDE(off_t, stream, ftello(stream))
}
int lua_mt_fseek(FILE* stream, off_t to, int from) {
  OUTSIDE(int, stream, fseeko(stream, to, from))
}
int lua_mt_setvbuf(FILE* stream, char* to, int mode, size_t size) {
  OUTSIDE(int, stream, setvbuf(stream, to, mode, size))
}

static UNSEEN bool clearerr_at_once(FILE* stream) {
  if (ftrylockfile(stream) != 0) return false;
  clearerr_unlocked(stream);
  funlockfile(stream);
  return true;
}

void lua_mt_clearerr(FILE* stream) {
  syncopate_gil_needs_lock();
  if (clearerr_at_once(stream)) return;
  struct use me;
  leave(&me, stream);
  clearerr(stream);
  back(&me);
}

static UNSEEN bool ungetc_at_once(int c, FILE* stream, int* result) {
  if (ftrylockfile(stream) != 0) return false;
  *result = ungetc(c, stream);
  funlockfile(stream);
  return true;
}

int lua_mt_ungetc(int c, FILE* stream) {
  syncopate_gil_needs_lock();
  int result = EOF;
  if (ungetc_at_once(c, stream, &result)) return result;
  OUTSIDE(int, stream, ungetc(c, stream))
}

FILE* lua_mt_fopen(const char* name, const char* mode) { /* a named pipe waits for its other end */
  struct use me;
  leave(&me, NULL);
  FILE* const opened = fopen(name, mode);
  back(&me);
  return lua_mt_opened(opened);
}

static int close_by(int (*close)(FILE*), FILE* stream) {
  if (lua_mt_in_use(stream)) {
    errno = EBUSY;
    return EOF;
  }
  lua_mt_closing(stream);
  OUTSIDE(int, stream, close(stream))
}

int lua_mt_fclose(FILE* stream) { return close_by(fclose, stream); }
int lua_mt_pclose(FILE* stream) { return close_by(pclose, stream); }

int lua_mt_system(const char* command) { OUTSIDE(int, NULL, system(command)) }
