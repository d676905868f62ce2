// memload.c -- a load for memcached's text protocol: THREADS connections, of a thread each, ask for
// keys that are drawn evenly. First each key is set once. Keys have 8 bytes, values 128. All answers
// are looked at. For `syncopate simulate --client` (simulated.py); elsewhere it runs by itself.
//
//     memload PORT THREADS REQUESTS KEYS SETS SEED [FIRST COUNT]
//
// REQUESTS of each thread, SETS percent of them sets; its threads on processors FIRST and the next.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most = 256, value_bytes = 128 };
static int port, threads, requests, keys, sets, seed, first_processor = -1, processors;
static pthread_barrier_t begin, end;

static void fail(const char* what) {
  fprintf(stderr, "memload: %s (%s)\n", what, strerror(errno));
  exit(1);
}

static void take(int s, char* to, int room, const char* last) {
  const int n = (int)strlen(last);
  for (int have = 0;;) {
    const int got = (int)recv(s, to + have, (size_t)(room - have - 1), 0);
    if (got <= 0) fail("no answer");
    have += got;
    to[have] = 0;
    if (have >= n && !strcmp(to + have - n, last)) return;
  }
}

static void value_of(int key, char* to) { snprintf(to, value_bytes + 1, "%0*d", value_bytes, key); }

static void set(int s, int key) {
  char text[256], value[value_bytes + 1];
  value_of(key, value);
  const int n = snprintf(text, sizeof text, "set k%07d 0 0 %d\r\n%s\r\n", key, value_bytes, value);
  if (send(s, text, (size_t)n, 0) != n) fail("send");
  take(s, text, sizeof text, "\r\n");
  if (strcmp(text, "STORED\r\n")) fail(text);
}

static void get(int s, int key) {
  char text[256], value[value_bytes + 1], want[256];
  value_of(key, value);
  const int n = snprintf(text, sizeof text, "get k%07d\r\n", key);
  if (send(s, text, (size_t)n, 0) != n) fail("send");
  take(s, text, sizeof text, "END\r\n");
  snprintf(want, sizeof want, "VALUE k%07d 0 %d\r\n%s\r\nEND\r\n", key, value_bytes, value);
  if (strcmp(text, want)) fail(text);
}

static void* run(void* which) {
  const int me = (int)(intptr_t)which;
  uint64_t x = 0x9e3779b97f4a7c15u * (uint64_t)(me + 1 + most * seed);
  if (first_processor >= 0) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    for (int p = 0; p < processors; ++p) CPU_SET(first_processor + p, &mine);
    if (pthread_setaffinity_np(pthread_self(), sizeof mine, &mine) != 0) fail("affinity");
  }
  const struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(s, (const struct sockaddr*)&at, sizeof at) != 0) fail("connect");
  for (int key = me; key < keys; key += threads) set(s, key);
  pthread_barrier_wait(&begin);
  for (int i = 0; i < requests; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const int key = (int)((x >> 33) % (uint64_t)keys), percent = (int)((x >> 20) % 100);
    if (percent < sets) set(s, key);
    else get(s, key);
  }
  pthread_barrier_wait(&end);
  close(s);
  return 0;
}

int main(int count, char** words) {
  if (count != 7 && count != 9) {
    fprintf(stderr, "usage: memload PORT THREADS REQUESTS KEYS SETS SEED [FIRST COUNT]\n");
    return 2;
  }
  port = atoi(words[1]), threads = atoi(words[2]), requests = atoi(words[3]);
  keys = atoi(words[4]), sets = atoi(words[5]), seed = atoi(words[6]);
  if (count == 9) first_processor = atoi(words[7]), processors = atoi(words[8]);
  if (threads < 1 || threads > most) return 2;
  pthread_barrier_init(&begin, 0, (unsigned)threads + 1);
  pthread_barrier_init(&end, 0, (unsigned)threads + 1);
  pthread_t all[most];
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], 0, run, (void*)(intptr_t)i);
  struct timespec a, b;
  pthread_barrier_wait(&begin);
  clock_gettime(CLOCK_MONOTONIC, &a);
  pthread_barrier_wait(&end);
  clock_gettime(CLOCK_MONOTONIC, &b);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], 0);
  const double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
  printf("%d threads: %.0f requests a second\n", threads, threads * requests / s);
  return 0;
}
