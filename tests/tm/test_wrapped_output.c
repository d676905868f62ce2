// What transactions print, and the wake-ups that they give, come once, when they have committed, and
// not at all where they are canceled (syncopate/tm/wrap_output.h).
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <syncopate/tm/wrap_output.h>

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      _Exit(1);                                                                     \
    }                                                                               \
  } while (0)

static volatile int one = 1;
__attribute__((transaction_pure)) static int yes(void) { return one; }

static FILE* out;
static char text[1 << 16];
static const char* printed(FILE* stream) {
  fflush(stream);
  rewind(stream);
  text[fread(text, 1, sizeof text - 1, stream)] = '\0';
  rewind(stream);
  CHECK(ftruncate(fileno(stream), 0) == 0);
  return text;
}

static int shared = 7;
static const char* name = "shared";

static void check_each_call(void) {
  char word[] = "before";
  __transaction_atomic {
    fprintf(out, "%s is %d, %.1f\n", name, shared, 2.5);
    ++shared;
    fprintf(out, "then %d\n", shared);
    fputs(name, out);
    fputc(' ', out);
    fwrite(word, 1, 3, out);
    word[0] = 'x'; /* what was printed stays */
    fputc('\n', out);
    fflush(out);
    fprintf(out, "as it is\n"); /* the compiler makes fwrite of it */
  }
  CHECK(strcmp(printed(out), "shared is 7, 2.5\nthen 8\nshared bef\nas it is\n") == 0);
  CHECK(shared == 8);
}

static void check_cancel(void) {
  sem_t posts;
  sem_init(&posts, 0, 0);
  __transaction_atomic {
    fprintf(out, "never %d\n", shared);
    fputs("never", out);
    perror("never");
    sem_post(&posts);
    if (yes()) __transaction_cancel;
  }
  int count = -1;
  sem_getvalue(&posts, &count);
  CHECK(count == 0);
  CHECK(*printed(out) == '\0');
  __transaction_atomic {
    sem_post(&posts);
    sem_post(&posts);
  }
  sem_getvalue(&posts, &count);
  CHECK(count == 2);
}

/* With the errno of the place where it stands, not of its commit. */
__attribute__((transaction_pure)) static void set_errno(int value) { errno = value; }
static void check_perror(void) {
  FILE* const file = tmpfile();
  fflush(stderr);
  const int old = dup(2);
  CHECK(file != NULL && old >= 0 && dup2(fileno(file), 2) == 2);
  __transaction_atomic {
    set_errno(ENOENT);
    perror(name);
    set_errno(EACCES);
  }
  fflush(stderr);
  dup2(old, 2);
  CHECK(strcmp(printed(file), "shared: No such file or directory\n") == 0);
}

enum { threads = 2, rounds = 400 };
static int next;
static void* count_up(void* argument) {
  for (int i = 0; i < rounds; ++i) {
    __transaction_atomic {
      const int mine = next;
      fprintf(out, "%d\n", mine);
      next = mine + 1;
    }
  }
  return argument;
}
static void check_once_each(void) {
  pthread_t all[threads];
  static char seen[threads * rounds];
  next = 0;
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, count_up, NULL);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  int lines = 0;
  for (char* at = (char*)printed(out); *at != '\0'; ++lines) {
    const long value = strtol(at, &at, 10);
    CHECK(*at++ == '\n' && value >= 0 && value < threads * rounds && !seen[value]);
    seen[value] = 1;
  }
  CHECK(lines == threads * rounds);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;
static void* set_ready(void* argument) {
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_mutex_unlock(&mutex);
  __transaction_atomic { pthread_cond_signal(&changed); }
  return argument;
}
static void check_signal(void) {
  pthread_t other;
  pthread_mutex_lock(&mutex);
  pthread_create(&other, NULL, set_ready, NULL);
  while (!ready) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  pthread_join(other, NULL);
}

int main(void) {
  out = tmpfile();
  CHECK(out != NULL);
  check_each_call();
  check_cancel();
  check_perror();
  check_once_each();
  check_signal();
  return 0;
}
