// Blocks for a while in one system call after the other, and prints how long each took: its state by
// the account, a name, and milliseconds. No other call takes long.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { milliseconds = 60 };
static const struct timespec some = {0, milliseconds * 1000000};
static int file, pipe_[2], semaphore, queue;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

// A call has returned that began then.
static void tell(const char* state, const char* name, double begun) {
  printf("%s %s %.3f\n", state, name, now() - begun);
}

static void on_alarm(int number) { (void)number; }

static void set_alarm(void) {
  const struct itimerval once = {{0, 0}, {0, milliseconds * 1000}};
  setitimer(ITIMER_REAL, &once, NULL);
}

static void by_nanosleep(void) { nanosleep(&some, NULL); }
static void by_clock_nanosleep(void) { clock_nanosleep(CLOCK_MONOTONIC, 0, &some, NULL); }
static void by_poll(void) { poll(NULL, 0, milliseconds); }
static void by_ppoll(void) { ppoll(NULL, 0, &some, NULL); }
static void by_select(void) {
  struct timeval limit = {0, milliseconds * 1000};
  select(0, NULL, NULL, NULL, &limit);
}
static void by_pselect(void) { pselect(0, NULL, NULL, NULL, &some, NULL); }

static void in_pause(void) {
  set_alarm();
  pause();
}
static void in_poll(void) {
  set_alarm();
  poll(NULL, 0, -1);
}
static void in_select(void) {
  set_alarm();
  select(0, NULL, NULL, NULL, NULL);
}
static void in_sigsuspend(void) {
  sigset_t none;
  sigemptyset(&none);
  set_alarm();
  sigsuspend(&none);
}
static void in_sigtimedwait(void) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  sigtimedwait(&one, NULL, &some);
}

static void polls_a_file(void) {
  struct pollfd one = {pipe_[0], POLLIN, 0};
  poll(&one, 1, milliseconds);
}
static void selects_a_file(void) {
  struct timeval limit = {0, milliseconds * 1000};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pipe_[0], &set);
  select(pipe_[0] + 1, &set, NULL, NULL, &limit);
}
static void reads(void) {
  char byte;
  set_alarm();
  if (read(pipe_[0], &byte, 1) == 1) abort();
}

static void lock_file(void) { flock(file, LOCK_EX); }
static void lock_record(void) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  fcntl(file, F_OFD_SETLKW, &all);
}
// What it takes is held by a child of its own for a while, which may not outlive that.
static void held_by_a_child(void (*takes)(void)) {
  int began[2];
  if (pipe(began) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    close(file);
    file = open("blocked_calls.lock", O_RDWR | O_CREAT, 0600);
    takes();
    if (write(began[1], "+", 1) != 1) abort();
    nanosleep(&some, NULL);
    _exit(0);
  }
  char byte;
  double begun = now();
  if (read(began[0], &byte, 1) != 1) abort();
  tell("io", "its child begins", begun);
  begun = now();
  takes();
  tell("file_locks", "lock", begun);
  begun = now();
  waitpid(child, NULL, 0);
  tell("child", "its child ends", begun);
}
static void in_flock(void) {
  held_by_a_child(lock_file);
  flock(file, LOCK_UN);
}
static void in_fcntl(void) { held_by_a_child(lock_record); }

static void in_semop(void) {
  struct sembuf down = {0, -1, 0};
  set_alarm();
  semop(semaphore, &down, 1);
}
static void in_semtimedop(void) {
  struct sembuf down = {0, -1, 0};
  semtimedop(semaphore, &down, 1, &some);
}
static void in_msgrcv(void) {
  char message[sizeof(long) + 8];
  set_alarm();
  msgrcv(queue, message, 8, 0, 0);
}

static void in_waitpid(void) {
  const pid_t child = fork();
  if (child == 0) {
    nanosleep(&some, NULL);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}
static void in_vfork(void) {
  const pid_t child = vfork();
  if (child == 0) {
    nanosleep(&some, NULL);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static const struct {
  const char *state, *name;
  void (*blocks)(void);
} ways[] = {
    {"sleeping", "nanosleep", by_nanosleep},
    {"sleeping", "clock_nanosleep", by_clock_nanosleep},
    {"sleeping", "poll", by_poll},
    {"sleeping", "ppoll", by_ppoll},
    {"sleeping", "select", by_select},
    {"sleeping", "pselect", by_pselect},
    {"signals", "pause", in_pause},
    {"signals", "poll", in_poll},
    {"signals", "select", in_select},
    {"signals", "sigsuspend", in_sigsuspend},
    {"signals", "sigtimedwait", in_sigtimedwait},
    {"io", "poll", polls_a_file},
    {"io", "select", selects_a_file},
    {"io", "read", reads},
    {NULL, "flock", in_flock},  // which tells itself
    {NULL, "fcntl", in_fcntl},
    {"system_v", "semop", in_semop},
    {"system_v", "semtimedop", in_semtimedop},
    {"system_v", "msgrcv", in_msgrcv},
    {"child", "waitpid", in_waitpid},
    {"child", "vfork", in_vfork},
};

int main(void) {
  struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, NULL);
  file = open("blocked_calls.lock", O_RDWR | O_CREAT, 0600);
  semaphore = semget(IPC_PRIVATE, 1, 0600);
  queue = msgget(IPC_PRIVATE, 0600);
  if (file < 0 || semaphore < 0 || queue < 0 || pipe(pipe_) != 0) return 1;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    const double begun = now();
    ways[i].blocks();
    if (ways[i].state != NULL) tell(ways[i].state, ways[i].name, begun);
  }
  semctl(semaphore, 0, IPC_RMID);
  msgctl(queue, IPC_RMID, NULL);
  return 0;
}
