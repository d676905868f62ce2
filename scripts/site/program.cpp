// program.cpp -- four threads that wait for one lock: what the examples of the site are about.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

std::mutex table_lock;
long table[64];

void work(int thread, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    std::scoped_lock guard(table_lock);
    for (int k = 0; k < 200; ++k) table[(thread + k) % 64] += k;
  }
}

int main(int count, char** words) {
  const int rounds = count > 1 ? std::atoi(words[1]) : 300;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i, rounds);
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld\n", table[0]);
}
