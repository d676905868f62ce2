// headway.h -- a watchdog's clock that stands still while the program waits for a processor. Beside
// many busy processes a program may take minutes for what takes it milliseconds; one that hangs
// waits, or polls, and is found after as long as elsewhere. Where its own threads keep the
// processors from each other it goes on: as fast as if nobody else had any.
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The longest that a thread has waited for a processor, in nanoseconds, and a sum over all threads
// that want one now, which changes as soon as one of them runs.
struct headway_look {
  long long longest_delay, wanting;
};

struct headway {
  double begun;  // seconds
  double ran;    // of all threads, in seconds
  struct headway_look look;
};

static inline double headway_now(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// How many processors the program may run on.
static inline int headway_processors(void) {
  unsigned char allowed[1024] = {0};
  const long length = syscall(SYS_sched_getaffinity, 0, sizeof allowed, allowed);
  int count = 0;
  for (long i = 0; i < length * CHAR_BIT; ++i) count += allowed[i / CHAR_BIT] >> i % CHAR_BIT & 1;
  return count > 0 ? count : 1;
}

// Reads a file of a thread's. Empty where there is none (more).
static inline const char* headway_read(int tasks, const char* thread, const char* name, char* text,
                                       size_t room) {
  char path[64];
  text[0] = 0;
  if (strlen(thread) + strlen(name) >= sizeof path) return text;
  const int file = openat(tasks, strcat(strcpy(path, thread), name), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  const ssize_t length = read(file, text, room - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  return text;
}

static inline void headway_add(int tasks, const char* thread, struct headway_look* look) {
  char text[512];
  const char* const state = strrchr(headway_read(tasks, thread, "/stat", text, sizeof text), ')');
  const int wants = state != NULL && state[1] != 0 && state[2] == 'R';
  char* rest = (char*)headway_read(tasks, thread, "/schedstat", text, sizeof text);
  const long long ran = strtoll(rest, &rest, 10), delay = strtoll(rest, &rest, 10);
  if (delay > look->longest_delay) look->longest_delay = delay;
  // A wait is in its delay only when it is over.
  if (wants && strtol(thread, NULL, 10) != syscall(SYS_gettid)) look->wanting += ran + 1;
}

// In signal handlers, too.
static inline struct headway_look headway_look_at_all(void) {
  struct headway_look look = {0, 0};
  char entries[4096];
  const int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  long length;
  while (tasks >= 0 && (length = syscall(SYS_getdents64, tasks, entries, sizeof entries)) > 0) {
    for (long at = 0; at < length;) {
      unsigned short size;  // of the entry, and its name: linux_dirent64's, past two words
      memcpy(&size, entries + at + 16, sizeof size);
      const char* const name = entries + at + 19;
      if (name[0] != '.') headway_add(tasks, name, &look);
      at += size;
    }
  }
  if (tasks >= 0) close(tasks);
  return look;
}

static inline struct headway headway_begin(void) {
  const struct headway h = {headway_now(CLOCK_MONOTONIC), headway_now(CLOCK_PROCESS_CPUTIME_ID),
                            headway_look_at_all()};
  return h;
}

// How many seconds of `seconds` are left: of the time since then, less what a thread was delayed,
// but at least what all of them together have had of each processor. Never 0 before these are used
// up while threads want a processor and none of them gets one. In signal handlers, too.
static inline unsigned headway_left(struct headway* h, unsigned seconds) {
  const double ran = headway_now(CLOCK_PROCESS_CPUTIME_ID) - h->ran;
  const double at_least = ran / headway_processors();  // nobody else has had these
  if (at_least >= seconds) return 0;
  const double looked = headway_now(CLOCK_MONOTONIC);
  const struct headway_look before = headway_look_at_all();
  const struct timespec tenth = {0, 100000000};
  nanosleep(&tenth, NULL);
  const struct headway_look now = headway_look_at_all();
  h->begun += headway_now(CLOCK_MONOTONIC) - looked;  // the look itself is no time of the program's
  if (now.wanting != 0 && now.wanting == before.wanting) return 1;
  const long long delayed = now.longest_delay - h->look.longest_delay;
  const double counts =
      headway_now(CLOCK_MONOTONIC) - h->begun - (delayed > 0 ? (double)delayed * 1e-9 : 0);
  const double had = counts > at_least ? counts : at_least;
  return had < seconds ? (unsigned)(seconds - had) + 1 : 0;
}
