"""Signals and timers of a simulated program: what they do is what they do natively, in the
machine's time, and the same in every run."""

import os
import subprocess
from pathlib import Path

import pytest
from modeled import build

PROGRAM = r"""
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t calls, last, where_called, value;
static sem_t posted;
static int ends[2];
static sigjmp_buf back;

static void count(int signal) { ++calls; last = signal; where_called = (int)syscall(SYS_gettid); }
static void take(int, siginfo_t* info, void*) { ++calls; value = info->si_value.sival_int; }
static void send_byte(int) { if (write(ends[1], "x", 1) != 1) _exit(9); }
static void post(int) { sem_post(&posted); }
static void jump(int) { siglongjmp(back, 1); }
static void on_timer(sigval v) { value = v.sival_int; sem_post(&posted); }

static void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction how {};
  how.sa_handler = handler;
  how.sa_flags = flags;
  sigaction(signal, &how, nullptr);
}
static void mask(int how, int signal, sigset_t* before = nullptr) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(how, &set, before);
}
static sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}
static void ring(long first_us, long period_us = 0) {
  const itimerval in{{0, period_us}, {0, first_us}};
  setitimer(ITIMER_REAL, &in, nullptr);
}
static long since(const timespec& begin) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000;
}
static timespec now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t;
}

static void waits() {
  mask(SIG_BLOCK, SIGALRM);
  const sigset_t alarm_only = only(SIGALRM);
  const timespec begin = now();
  ring(2000, 2000);
  int signal = 0;
  for (int i = 0; i < 3; ++i) {
    sigwait(&alarm_only, &signal);
    printf("sigwait %d\n", signal);
  }
  ring(0);
  printf("in time %d\n", since(begin) >= 5900);
  const timespec shortly{0, 3000000};
  while (sigtimedwait(&alarm_only, nullptr, &shortly) > 0) {}
  printf("sigtimedwait %s\n", errno == EAGAIN ? "EAGAIN" : "?");
  handle(SIGALRM, count, 0);
  ring(2000);
  sigset_t none;
  sigemptyset(&none);
  const int suspended = sigsuspend(&none);
  printf("sigsuspend %d %d, %d calls\n", suspended, errno == EINTR, (int)calls);
  mask(SIG_UNBLOCK, SIGALRM);
  ring(2000);
  const int paused = pause();
  printf("pause %d %d, %d calls\n", paused, errno == EINTR, (int)calls);
  ring(2000);
  timespec left{};
  const timespec long_time{5, 0};
  const int slept = nanosleep(&long_time, &left);
  printf("nanosleep %d %d, rest %d\n", slept, errno == EINTR, (int)left.tv_sec);
  alarm(100);
  printf("alarm %u\n", alarm(0));
  ring(3000);
  calls = 0;
  while (calls == 0) {}
  printf("a polled flag\n");
  calls = 0;
  ring(3000);
  while (__atomic_load_n(&calls, __ATOMIC_ACQUIRE) == 0) usleep(100);
  printf("a flag looked at now and then\n");
}

static void files() {
  if (pipe(ends) != 0) return;
  char byte = 0;
  handle(SIGALRM, send_byte, SA_RESTART);
  ring(2000);
  ssize_t got = read(ends[0], &byte, 1);
  printf("read with SA_RESTART %zd %c\n", got, byte);
  handle(SIGALRM, count, 0);
  ring(2000);
  got = read(ends[0], &byte, 1);
  printf("read without %zd %d\n", got, errno == EINTR);
  handle(SIGALRM, count, SA_RESTART);
  ring(2000);
  pollfd one{ends[0], POLLIN, 0};
  const int polled = poll(&one, 1, 5000);
  printf("poll %d %d\n", polled, errno == EINTR);
  mask(SIG_BLOCK, SIGALRM);
  raise(SIGALRM);
  sigset_t none, pending;
  sigemptyset(&none);
  sigpending(&pending);
  const int let_in = ppoll(&one, 1, nullptr, &none);
  printf("pending %d, ppoll %d %d\n", sigismember(&pending, SIGALRM), let_in, errno == EINTR);
  mask(SIG_UNBLOCK, SIGALRM);
  sem_init(&posted, 0, 0);
  handle(SIGALRM, count, 0);
  ring(2000);
  const int waited = sem_wait(&posted);
  printf("sem_wait %d %d\n", waited, errno == EINTR);
  handle(SIGALRM, post, 0);
  ring(2000);
  while (sem_wait(&posted) != 0) {}
  printf("a semaphore posted by a handler\n");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stage, id;

static void* waits_for_stage(void*) {
  id = (int)syscall(SYS_gettid);
  pthread_mutex_lock(&lock);
  stage = 1;
  pthread_cond_signal(&changed);
  while (stage != 2) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return nullptr;
}

static void* pauses(void*) {
  pthread_mutex_lock(&lock);
  id = (int)syscall(SYS_gettid);
  stage = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  pause();
  return nullptr;
}

static pthread_t begin(void* (*routine)(void*)) {
  pthread_t thread;
  stage = 0;
  pthread_create(&thread, nullptr, routine, nullptr);
  pthread_mutex_lock(&lock);
  while (stage == 0) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  usleep(2000);
  return thread;
}

static void finish(pthread_t thread) {
  pthread_mutex_lock(&lock);
  stage = 2;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, nullptr);
}

static void threads() {
  handle(SIGUSR1, count, SA_RESTART);
  calls = 0;
  pthread_t thread = begin(waits_for_stage);
  pthread_kill(thread, SIGUSR1);
  while (calls == 0) usleep(500);
  printf("in the thread %d\n", where_called == id);
  mask(SIG_BLOCK, SIGUSR1);
  kill(getpid(), SIGUSR1);
  while (calls == 1) usleep(500);
  printf("in the one that lets it in %d\n", where_called == id);
  timer_t timer;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = id;
  event.sigev_signo = SIGUSR1;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  const itimerspec soon{{0, 0}, {0, 2000000}};
  timer_settime(timer, 0, &soon, nullptr);
  while (calls == 2) usleep(500);
  printf("SIGEV_THREAD_ID %d\n", where_called == id);
  timer_delete(timer);
  mask(SIG_UNBLOCK, SIGUSR1);
  finish(thread);
  thread = begin(pauses);
  calls = 0;
  pthread_kill(thread, SIGUSR1);
  pthread_join(thread, nullptr);
  printf("pause of a thread ends, %d calls\n", (int)calls);
}

static void timers() {
  struct sigaction how {};
  how.sa_sigaction = take;
  how.sa_flags = SA_SIGINFO;
  sigaction(SIGRTMIN + 1, &how, nullptr);
  timer_t timer;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN + 1;
  event.sigev_value.sival_int = 7;
  timer_create(CLOCK_REALTIME, &event, &timer);
  itimerspec in{{0, 0}, {}};
  clock_gettime(CLOCK_REALTIME, &in.it_value);
  in.it_value.tv_sec += (in.it_value.tv_nsec + 5000000) / 1000000000;
  in.it_value.tv_nsec = (in.it_value.tv_nsec + 5000000) % 1000000000;
  calls = 0;
  timer_settime(timer, TIMER_ABSTIME, &in, nullptr);
  while (calls == 0) pause();
  printf("a value %d\n", (int)value);
  mask(SIG_BLOCK, SIGRTMIN + 1);
  in = {{0, 1000000}, {0, 1000000}};
  timer_settime(timer, 0, &in, nullptr);
  usleep(20500);
  mask(SIG_UNBLOCK, SIGRTMIN + 1);
  printf("%d calls, overrun %d\n", (int)calls > 1, timer_getoverrun(timer) > 10);
  timer_delete(timer);
  sem_init(&posted, 0, 0);
  event = {};
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = on_timer;
  event.sigev_value.sival_int = 9;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  in = {{0, 2000000}, {0, 2000000}};
  timer_settime(timer, 0, &in, nullptr);
  for (int i = 0; i < 3; ++i) while (sem_wait(&posted) != 0) {}
  printf("SIGEV_THREAD %d\n", (int)value);
  timer_delete(timer);
}

static void others() {
  mask(SIG_BLOCK, SIGALRM);
  const sigset_t alarm_only = only(SIGALRM);
  const int file = signalfd(-1, &alarm_only, 0);
  ring(2000);
  signalfd_siginfo info{};
  const ssize_t got = read(file, &info, sizeof info);
  printf("signalfd %d %d\n", got == sizeof info, (int)info.ssi_signo);
  close(file);
  mask(SIG_UNBLOCK, SIGALRM);
  handle(SIGCHLD, count, 0);
  mask(SIG_BLOCK, SIGCHLD);
  calls = 0;
  if (fork() == 0) _exit(3);
  sigset_t none;
  sigemptyset(&none);
  while (calls == 0) sigsuspend(&none);
  int status = 0;
  wait(&status);
  printf("a child's end: %d\n", WEXITSTATUS(status));

  calls = 0;
  if (fork() == 0) _exit(4);
  siginfo_t ended;
  waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);  // its signal is there before it is waited for
  while (calls == 0) sigsuspend(&none);
  wait(&status);
  printf("one that had ended before: %d\n", WEXITSTATUS(status));
}

static void jumps() {
  signal(SIGALRM, jump);
  for (volatile int i = 0; i < 2; ++i) {
    if (sigsetjmp(back, 1) == 0) {
      ring(2000);
      for (;;) pause();
    }
    printf("out of a handler\n");
  }
}

int main(int count_of, char** words) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  if (count_of > 1 && !strcmp(words[1], "profile")) {
    const itimerval in{{0, 0}, {1, 0}};
    return setitimer(ITIMER_PROF, &in, nullptr) == 0 ? 0 : 5;
  }
  if (count_of > 1 && !strcmp(words[1], "default")) {
    ring(2000);
    for (;;) pause();
  }
  waits();
  files();
  threads();
  timers();
  jumps();
  if (count_of == 1) return 0;
  others();
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("signals"), "signals", PROGRAM)


def run(program: Path, *words: str) -> subprocess.CompletedProcess:
    environ = {**os.environ, "SYNCOPATE_MACHINE": "test-4c"}
    return subprocess.run(
        [str(program), *words], env=environ, capture_output=True, text=True, timeout=60
    )


# What it prints natively, where no signal comes before the wait that it is for.
EXPECTED = """\
sigwait 14
sigwait 14
sigwait 14
in time 1
sigtimedwait EAGAIN
sigsuspend -1 1, 1 calls
pause -1 1, 2 calls
nanosleep -1 1, rest 4
alarm 100
a polled flag
a flag looked at now and then
read with SA_RESTART 1 x
read without -1 1
poll -1 1
pending 1, ppoll -1 1
sem_wait -1 1
a semaphore posted by a handler
in the thread 1
in the one that lets it in 1
SIGEV_THREAD_ID 1
pause of a thread ends, 1 calls
a value 7
1 calls, overrun 1
SIGEV_THREAD 9
out of a handler
out of a handler
"""


def test_signals_do_what_they_do_natively_and_in_every_run_the_same(program):
    done = run(program)
    assert (done.returncode, done.stdout) == (0, EXPECTED), done.stderr
    again = run(program)
    assert (again.stdout, again.stderr) == (done.stdout, done.stderr)


def test_signals_read_as_a_file_and_of_children(program):
    done = run(program, "others")
    said = "signalfd 1 14\na child's end: 3\none that had ended before: 4\n"
    assert (done.returncode, done.stdout) == (0, EXPECTED + said), done.stderr


def test_a_signal_without_a_handler_ends_the_program(program):
    done = run(program, "default")
    assert done.returncode == -14
    assert "syncopate: the program was ended by signal 14 (Alarm clock)" in done.stderr
    assert "simulated time: 0.002" in done.stderr


def test_timers_of_processor_time_are_refused_with_a_line(program):
    done = run(program, "profile")
    assert done.returncode == 5
    assert "syncopate: setitimer() for processor time failed" in done.stderr
