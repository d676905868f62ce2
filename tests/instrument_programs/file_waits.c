// file_waits.c -- threads that wait for each other by pipes, sockets, events and timers: in read
// and write, poll, select, epoll, accept and connect, and by a stream.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "%s:%d: %s does not hold (%d)\n", __FILE__, __LINE__, #condition, errno); \
      _Exit(1);                                                                                 \
    }                                                                                           \
  } while (0)

enum { clients = 4, messages = 20, megabyte = 1 << 20 };

static int to_echo[2], from_echo[2], event;
static struct sockaddr_in server;

static long microseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

static pthread_t start(void* (*routine)(void*), void* argument) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, routine, argument) == 0);
  return thread;
}
static void finish(pthread_t thread) { CHECK(pthread_join(thread, NULL) == 0); }

// ---- pipes --------------------------------------------------------------------------------------

static void* echo(void* unused) {
  char text[64];
  ssize_t n;
  while ((n = read(to_echo[0], text, sizeof text)) > 0)
    CHECK(write(from_echo[1], text, (size_t)n) == n);
  close(from_echo[1]);
  return unused;
}

static void test_pipes(void) {
  CHECK(pipe(to_echo) == 0 && pipe(from_echo) == 0);
  const pthread_t thread = start(echo, NULL);
  for (char i = 'a'; i < 'k'; ++i) {
    char got[8] = "";
    const char sent[3] = {'m', i, 0};
    CHECK(write(to_echo[1], sent, sizeof sent) == sizeof sent);
    CHECK(read(from_echo[0], got, sizeof got) == sizeof sent && strcmp(sent, got) == 0);
  }
  close(to_echo[1]);
  char nothing;
  CHECK(read(from_echo[0], &nothing, 1) == 0);  // its end is closed
  finish(thread);
}

// Far more than a pipe holds: the writer waits, and writes all of it.
static void* write_megabyte(void* end) {
  char* const bytes = calloc(1, megabyte);
  CHECK(bytes != NULL && write(*(int*)end, bytes, megabyte) == megabyte);
  close(*(int*)end);
  free(bytes);
  return NULL;
}

static void test_full_pipe(void) {
  int ends[2];
  char part[5000];
  long sum = 0;
  ssize_t n;
  CHECK(pipe(ends) == 0);
  const pthread_t thread = start(write_megabyte, &ends[1]);
  while ((n = read(ends[0], part, sizeof part)) > 0) sum += n;
  CHECK(sum == megabyte);
  finish(thread);
  close(ends[0]);
}

static void* write_line(void* end) {
  usleep(1000);
  CHECK(write(*(int*)end, "first\nsecond\n", 13) == 13);
  return NULL;
}

static void test_stream(void) {
  int ends[2];
  char line[32];
  CHECK(pipe(ends) == 0);
  FILE* const stream = fdopen(ends[0], "r");
  const pthread_t thread = start(write_line, &ends[1]);
  CHECK(fgets(line, sizeof line, stream) != NULL && strcmp(line, "first\n") == 0);
  CHECK(fgets(line, sizeof line, stream) != NULL && strcmp(line, "second\n") == 0);
  finish(thread);
  fclose(stream);
  close(ends[1]);
}

// A file that the program has switched to it fails instead of waiting.
static void test_without_waiting(void) {
  int ends[2];
  char nothing;
  CHECK(pipe2(ends, O_NONBLOCK) == 0);
  CHECK(read(ends[0], &nothing, 1) == -1 && errno == EAGAIN);
  close(ends[0]);
  close(ends[1]);
}

// ---- events and timers --------------------------------------------------------------------------

static void* signal_later(void* unused) {
  usleep(3000);
  CHECK(eventfd_write(event, 7) == 0);
  return unused;
}

static void test_event(void) {
  eventfd_t value = 0;
  struct pollfd one = {event, POLLIN, 0};
  long began = microseconds();
  pthread_t thread = start(signal_later, NULL);
  CHECK(eventfd_read(event, &value) == 0 && value == 7);
  CHECK(microseconds() - began >= 3000);
  finish(thread);

  began = microseconds();
  CHECK(poll(&one, 1, 5) == 0);
  CHECK(microseconds() - began >= 5000);
  thread = start(signal_later, NULL);
  CHECK(poll(&one, 1, -1) == 1 && one.revents == POLLIN);
  CHECK(eventfd_read(event, &value) == 0);
  finish(thread);

  const int queue = epoll_create1(0);
  struct epoll_event wanted = {.events = EPOLLIN, .data = {.fd = event}}, got[4];
  CHECK(epoll_ctl(queue, EPOLL_CTL_ADD, event, &wanted) == 0);
  thread = start(signal_later, NULL);
  CHECK(epoll_wait(queue, got, 4, -1) == 1 && got[0].data.fd == event);
  CHECK(eventfd_read(event, &value) == 0);
  CHECK(epoll_wait(queue, got, 4, 2) == 0);
  finish(thread);
  close(queue);
}

static void test_timer(void) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const struct itimerspec soon = {.it_interval = {0, 2000000}, .it_value = {0, 1000000}};
  unsigned long long times = 0, more = 0;
  const long began = microseconds();
  CHECK(timerfd_settime(timer, 0, &soon, NULL) == 0);
  CHECK(read(timer, &times, sizeof times) == sizeof times && times >= 1);
  CHECK(microseconds() - began >= 1000);
  usleep(7000);
  CHECK(read(timer, &more, sizeof more) == sizeof more);
  CHECK(times + more >= 4 &&
        times + more <= (unsigned long long)(microseconds() - began) / 2000 + 1);
  struct itimerspec left;
  CHECK(timerfd_gettime(timer, &left) == 0 && left.it_interval.tv_nsec == 2000000);
  close(timer);
}

// ---- sockets ------------------------------------------------------------------------------------

static void* ask(void* number) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(s >= 0 && connect(s, (struct sockaddr*)&server, sizeof server) == 0);
  for (long i = 0; i < messages; ++i) {
    long sent = i * 10 + (long)number, got = 0;
    CHECK(send(s, &sent, sizeof sent, 0) == sizeof sent);
    CHECK(recv(s, &got, sizeof got, 0) == sizeof got && got == sent + 1);
  }
  close(s);
  return NULL;
}

static void* answer(void* connection) {
  const int s = (int)(long)connection;
  long value;
  while (recv(s, &value, sizeof value, 0) == sizeof value) {
    ++value;
    CHECK(send(s, &value, sizeof value, 0) == sizeof value);
  }
  close(s);
  return NULL;
}

static void test_server(void) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  socklen_t bytes = sizeof server;
  pthread_t asking[clients], answering[clients];
  server.sin_family = AF_INET;
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(s >= 0 && bind(s, (struct sockaddr*)&server, sizeof server) == 0 &&
        listen(s, clients) == 0);
  CHECK(getsockname(s, (struct sockaddr*)&server, &bytes) == 0);
  for (long i = 0; i < clients; ++i) asking[i] = start(ask, (void*)i);
  for (long i = 0; i < clients; ++i) {
    const int connection = accept(s, NULL, NULL);
    CHECK(connection >= 0);
    answering[i] = start(answer, (void*)(long)connection);
  }
  for (int i = 0; i < clients; ++i) {
    finish(asking[i]);
    finish(answering[i]);
  }
  close(s);
}

static void test_select(void) {
  int pair[2];
  fd_set set;
  struct timeval limit = {0, 2000};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  FD_ZERO(&set);
  FD_SET(pair[0], &set);
  CHECK(select(pair[0] + 1, &set, NULL, NULL, &limit) == 0 && !FD_ISSET(pair[0], &set));
  CHECK(send(pair[1], "x", 1, 0) == 1);
  FD_SET(pair[0], &set);
  CHECK(select(pair[0] + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(pair[0], &set));
  close(pair[0]);
  close(pair[1]);
}

int main(void) {
  event = eventfd(0, 0);
  test_pipes();
  test_full_pipe();
  test_stream();
  test_without_waiting();
  test_event();
  test_timer();
  test_select();
  test_server();
  return 0;
}
