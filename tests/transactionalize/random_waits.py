"""C programs that wait at condition variables in random forms: a buffer that two threads fill and
three empty, whose sums do not depend on what the lock is."""

from __future__ import annotations

import random

PROGRAM = """\
#include <pthread.h>
#include <stdio.h>
#define LOCK(x) pthread_mutex_lock(x)
#define UNLOCK(x) pthread_mutex_unlock(x)
#define WAIT(c, x) pthread_cond_wait(c, x)
#define SIGNAL(c) pthread_cond_signal(c)
#define SIZE @SIZE
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
@DECLARED
static int buffer[SIZE], count, done, ended;
static long total, taken, pushed, work;
static void *consumer(void *x) {
  int v, turns = 0;
  for (;;) {
    @CONSUME
    turns++;
  }
  return x;
}
static void *producer(void *x) {
  for (int i = 1; i <= 2000; i++) {
    @PRODUCE
  }
  return x;
}
static void *last(void *x) {
  LOCK(&m);
  while (!ended) WAIT(&over, &m);
  work = total - taken;
  UNLOCK(&m);
  return x;
}
int main(void) {
  pthread_t t[6];
  pthread_create(&t[5], 0, last, 0);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, consumer, 0);
  for (int i = 3; i < 5; i++) pthread_create(&t[i], 0, producer, 0);
  for (int i = 3; i < 5; i++) pthread_join(t[i], 0);
  LOCK(&m);
  done = 1;
  pthread_cond_broadcast(&ready);
  UNLOCK(&m);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  LOCK(&m);
  ended = 1;
  SIGNAL(&over);
  UNLOCK(&m);
  pthread_join(t[5], 0);
  printf("%ld %ld %ld %ld %d\\n", total, taken, pushed, work, count);
  return 0;
}
"""
DECLARED = [
    "static pthread_cond_t ready = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;\n"
    "static pthread_cond_t over = PTHREAD_COND_INITIALIZER;",
    "static pthread_cond_t ready, room, over;",  # zero, as the initial value is
    "static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;\n"
    "static pthread_cond_t room = PTHREAD_COND_INITIALIZER, over = PTHREAD_COND_INITIALIZER;",
]
CONSUME = [
    "@L while (count == 0 && !done) @W if (count == 0) { @U return 0; } @T @U",
    "@L while (count == 0) { if (done) { @U return 0; } @W } @T @U",
    "@L for (;;) { if (count > 0 || done) break; @W } if (count == 0) { @U break; } @T @U",
    "@L again: if (count == 0 && !done) { @W goto again; } if (count == 0) { @U return 0; } @T @U",
    "@L while (!(count > 0 || done)) { @W } if (count == 0) { @U return 0; } @T @U",
    "@L while (count == 0 && done == 0) @W if (count != 0) { @T } else { @U return 0; } @U",
    "@L if (count == 0) { if (done) { @U return 0; } @W @U continue; } @T @U",
    "@L do { if (count > 0 || done) break; @W } while (1); if (count == 0) { @U return 0; } @T @U",
]
PRODUCE = [
    "@L while (count == SIZE) @R buffer[count++] = i; pushed++; @S @U",
    "@L while (count >= SIZE) { @R } buffer[count] = i; count += 1; pushed++; @U @S",
    "@L while (SIZE - count == 0) @R pushed++; buffer[count++] = i;"
    " if (count == 1) pthread_cond_broadcast(&ready); else @S @U",
]
FORMS = {
    "@L": ["pthread_mutex_lock(&m);", "LOCK(&m);"],
    "@U": ["pthread_mutex_unlock(&m);", "UNLOCK(&m);"],
    "@W": ["pthread_cond_wait(&ready, &m);", "WAIT(&ready, &m);"],
    "@R": ["pthread_cond_wait(&room, &m);", "WAIT(&room, &m);"],
    "@S": ["pthread_cond_signal(&ready);", "pthread_cond_broadcast(&ready);", "SIGNAL(&ready);"],
    "@T": ["v = buffer[--count]; taken++; total += v; SIGNAL(&room);",
           "v = buffer[count - 1]; count--; taken++; total += v; pthread_cond_broadcast(&room);"],
}  # fmt: skip


def program(seed: int) -> str:
    choose = random.Random(seed)

    def written(forms: list[str]) -> str:
        text = choose.choice(forms)
        while at := next((mark for mark in FORMS if mark in text), None):
            text = text.replace(at, choose.choice(FORMS[at]), 1)
        return text

    text = PROGRAM.replace("@SIZE", str(choose.choice([1, 2, 8])))
    text = text.replace("@DECLARED", choose.choice(DECLARED))
    return text.replace("@CONSUME", written(CONSUME)).replace("@PRODUCE", written(PRODUCE))
