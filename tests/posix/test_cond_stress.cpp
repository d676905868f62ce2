// test_cond_stress.cpp -- no lost wake-up: ping-pong, a bounded buffer, and waits that give up in
// between.
#include "thread.h"

namespace {

constexpr int seconds = 3;  // For each of the four, where waiting costs time slices.

void ping_pong(bool signal_inside) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int turn = 0;
  int errors = 0;
  const auto players = [&](int self, int rounds) {
    int bad = 0;
    for (int i = 0; i < rounds; ++i) {
      bad |= pthread_mutex_lock(&mutex);
      while (turn != self) bad |= pthread_cond_wait(&cond, &mutex);
      turn = 1 - self;
      if (signal_inside) bad |= pthread_cond_signal(&cond);
      bad |= pthread_mutex_unlock(&mutex);
      if (!signal_inside) bad |= pthread_cond_signal(&cond);
    }
    if (bad != 0) add_int(&errors, 1);
  };
  in_parts(100, 8000, seconds, [&](int rounds) {
    run_threads(2, [&](int self) { players(self, rounds); });
    CHECK_EQ(turn, 0);
  });
  CHECK_EQ(errors, 0);
  CHECK_OK(pthread_cond_destroy(&cond));
  CHECK_OK(pthread_mutex_destroy(&mutex));
}

struct Buffer {
  static constexpr int capacity = 4;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
  pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
  int items = 0;
  long taken = 0;
};

// Waits in a form that depends on the seed; a deadline that passes is just another wake-up.
void wait_somehow(pthread_cond_t* cond, pthread_mutex_t* mutex, unsigned* random, int* bad) {
  timespec deadline;
  int error = 0;
  switch (next_random(random) % 4) {
    case 0:
      deadline = in_ms(CLOCK_REALTIME, 1);
      error = pthread_cond_timedwait(cond, mutex, &deadline);
      break;
    case 1:
      deadline = in_ms(CLOCK_MONOTONIC, 1);
      error = pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &deadline);
      break;
    default: error = pthread_cond_wait(cond, mutex);
  }
  if (error != 0 && error != ETIMEDOUT) *bad = error;
}

// Exactly one signal an item: a waiter that gives up must not take a signal with it.
void bounded_buffer(unsigned seed) {
  Buffer buffer;
  constexpr int producers = 3;
  constexpr int consumers = 3;
  int errors = 0;
  long made = 0;
  unsigned random_of[producers + consumers];
  for (int i = 0; i < producers + consumers; ++i)
    random_of[i] = seed + static_cast<unsigned>(i) * 104729u;
  const auto traders = [&](int self, int items) {
    unsigned& random = random_of[self];
    int bad = 0;
    const bool producer = self < producers;
    for (int i = 0; i < items; ++i) {
      if (pthread_mutex_lock(&buffer.mutex) != 0) bad = -1;
      if (producer) {
        while (buffer.items == Buffer::capacity)
          wait_somehow(&buffer.not_full, &buffer.mutex, &random, &bad);
        ++buffer.items;
        if (pthread_cond_signal(&buffer.not_empty) != 0) bad = -1;
      } else {
        while (buffer.items == 0) wait_somehow(&buffer.not_empty, &buffer.mutex, &random, &bad);
        --buffer.items;
        ++buffer.taken;
        if (pthread_cond_signal(&buffer.not_full) != 0) bad = -1;
      }
      if (pthread_mutex_unlock(&buffer.mutex) != 0) bad = -1;
    }
    if (bad != 0) add_int(&errors, 1);
  };
  in_parts(25, 4000, seconds, [&](int items) {
    run_threads(producers + consumers, [&](int self) { traders(self, items); });
    made += producers * items;
    CHECK_EQ(buffer.items, 0);
    CHECK_EQ(buffer.taken, made);
  });
  CHECK_EQ(errors, 0);
}

// A turnstile for many threads by broadcast: everyone passes every generation.
void generations() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  constexpr int threads = 6;
  int arrived = 0;
  int generation = 0;
  int passed = 0;
  const auto visitors = [&](int rounds) {
    int bad = 0;
    for (int round = 0; round < rounds; ++round) {
      bad |= pthread_mutex_lock(&mutex);
      if (++arrived == threads) {
        arrived = 0;
        ++generation;
        bad |= pthread_cond_broadcast(&cond);
      } else {
        const int mine = generation;
        while (generation == mine) bad |= pthread_cond_wait(&cond, &mutex);
      }
      bad |= pthread_mutex_unlock(&mutex);
    }
    CHECK_EQ(bad, 0);
  };
  in_parts(10, 800, seconds, [&](int rounds) {
    run_threads(threads, [&](int) { visitors(rounds); });
    passed += rounds;
    CHECK_EQ(generation, passed);
  });
}

}  // namespace

int main() {
  check_begin();
  const unsigned seed = check_seed();
  ping_pong(true);
  ping_pong(false);
  bounded_buffer(seed);
  generations();
  return check_end();
}
