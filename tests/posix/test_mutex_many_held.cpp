// test_mutex_many_held.cpp -- one thread holds thousands of mutexes and releases them in any order.
//
// Queue locks that keep one node per thread, or a fixed number of nodes, break here.
#include <algorithm>
#include <vector>

#include "thread.h"

namespace {

constexpr int count = 5000;
constexpr int contended = 16;

void shuffle(std::vector<int>& order, unsigned* random) {
  for (size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[next_random(random) % (i + 1)]);
}

void hold_all_release_shuffled(std::vector<pthread_mutex_t>& mutexes, unsigned* random) {
  std::vector<int> order(mutexes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  shuffle(order, random);
  int errors = 0;
  for (const int i : order) errors += pthread_mutex_lock(&mutexes[static_cast<size_t>(i)]) != 0;
  CHECK_EQ(errors, 0);
  CHECK_EQ(in_other_thread([&] {
             int busy = 0;
             for (pthread_mutex_t& mutex : mutexes) busy += pthread_mutex_trylock(&mutex) == EBUSY;
             return busy;
           }),
           static_cast<int>(mutexes.size()));
  shuffle(order, random);
  for (const int i : order) errors += pthread_mutex_unlock(&mutexes[static_cast<size_t>(i)]) != 0;
  CHECK_EQ(errors, 0);
  CHECK_EQ(in_other_thread([&] {
             int errors_there = 0;
             for (pthread_mutex_t& mutex : mutexes) {
               errors_there += pthread_mutex_trylock(&mutex) != 0;
               errors_there += pthread_mutex_unlock(&mutex) != 0;
             }
             return errors_there;
           }),
           0);
}

// The same with a waiter on every mutex: each release must wake the right one.
void with_waiters(unsigned* random) {
  std::vector<pthread_mutex_t> mutexes(contended, pthread_mutex_t PTHREAD_MUTEX_INITIALIZER);
  std::vector<int> order(contended);
  for (int i = 0; i < contended; ++i) order[static_cast<size_t>(i)] = i;
  std::vector<int> arrived(contended, 0);
  for (pthread_mutex_t& mutex : mutexes) CHECK_OK(pthread_mutex_lock(&mutex));
  std::deque<Thread> waiters;
  for (size_t i = 0; i < contended; ++i) {
    waiters.emplace_back([&, i] {
      CHECK_OK(pthread_mutex_lock(&mutexes[i]));
      set_int(&arrived[i], 1);
      CHECK_OK(pthread_mutex_unlock(&mutexes[i]));
    });
  }
  sleep_ms(2);
  shuffle(order, random);
  for (const int i : order) {
    CHECK_EQ(get_int(&arrived[static_cast<size_t>(i)]), 0);
    CHECK_OK(pthread_mutex_unlock(&mutexes[static_cast<size_t>(i)]));
    await_int(&arrived[static_cast<size_t>(i)], 1);
  }
}

// Hand over hand, as in a list whose every element has a mutex: held sets overlap between threads.
void hand_over_hand() {
  constexpr int length = 64;
  std::vector<pthread_mutex_t> mutexes(length, pthread_mutex_t PTHREAD_MUTEX_INITIALIZER);
  std::vector<long> visits(length, 0);
  constexpr int walkers = 4;
  constexpr int walks = 100;
  run_threads(walkers, [&](int) {
    for (int walk = 0; walk < walks; ++walk) {
      int errors = pthread_mutex_lock(&mutexes[0]) != 0;
      for (size_t i = 0; i < length; ++i) {
        ++visits[i];
        if (i + 1 < length) errors += pthread_mutex_lock(&mutexes[i + 1]) != 0;
        errors += pthread_mutex_unlock(&mutexes[i]) != 0;
      }
      if (errors != 0) CHECK_EQ(errors, 0);
    }
  });
  for (const long visited : visits) CHECK_EQ(visited, walkers * walks);
}

}  // namespace

int main() {
  check_begin();
  unsigned random = check_seed();
  std::vector<pthread_mutex_t> mutexes(count, pthread_mutex_t PTHREAD_MUTEX_INITIALIZER);
  for (int round = 0; round < 3; ++round) hold_all_release_shuffled(mutexes, &random);
  for (int round = 0; round < 5; ++round) with_waiters(&random);
  hand_over_hand();
  return check_end();
}
