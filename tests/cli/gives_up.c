// gives_up.c -- a thread tries a hundred times for a lock that another one keeps. Argument "works":
// then it does other work for a while; "tries": it goes on trying. Then the process is killed.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { tries = 100, while_ms = 400 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long work;
static int goes_on;

static long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void* other(void* unused) {
  for (int i = 0; i < tries; ++i)
    if (pthread_mutex_trylock(&mutex) == 0) pthread_mutex_unlock(&mutex);
  const long end = now_ms() + while_ms;
  while (now_ms() < end)
    if (!goes_on) ++work;
    else if (pthread_mutex_trylock(&mutex) == 0) pthread_mutex_unlock(&mutex);
  kill(getpid(), SIGKILL);
  return unused;
}

int main(int count, char** words) {
  goes_on = count > 1 && strcmp(words[1], "tries") == 0;
  pthread_t thread;
  pthread_mutex_lock(&mutex);
  pthread_create(&thread, NULL, other, NULL);
  pthread_join(thread, NULL);
  return 0;
}
