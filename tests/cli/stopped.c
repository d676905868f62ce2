// stopped.c -- one thread waits for a lock until a time, one sleeps, one polls a pipe. Meanwhile a
// child stops the process for a while, and lets it go on.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { wait_ms = 1500, before_ms = 400, stop_ms = 300 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct timespec end;

static struct timespec length(long ms) {
  return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}
static void nap(long ms) {
  const struct timespec t = length(ms);
  nanosleep(&t, NULL);
}

static void* locks(void* unused) {
  if (pthread_mutex_timedlock(&mutex, &end) == 0) pthread_mutex_unlock(&mutex);
  return unused;
}
static void* sleeps(void* unused) {
  nap(wait_ms);
  return unused;
}
static void* polls(void* unused) {
  int ends[2];
  if (pipe(ends) != 0) return unused;
  struct pollfd one = {ends[0], POLLIN, 0};
  poll(&one, 1, wait_ms);
  return unused;
}

static void stop(pid_t process) {
  nap(before_ms);
  kill(process, SIGSTOP);
  nap(stop_ms);
  kill(process, SIGCONT);
  _exit(0);
}

int main(void) {
  const pid_t child = fork();
  if (child == 0) stop(getppid());
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_nsec += wait_ms % 1000 * 1000000;
  end.tv_sec += wait_ms / 1000 + end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  pthread_mutex_lock(&mutex);
  void* (*const what[])(void*) = {locks, sleeps, polls};
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, what[i], NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  waitpid(child, NULL, 0);
  return 0;
}
