// test_invariants.cpp -- what several threads do under an elided lock leaves the same state as
// under a real one.
// run: yield=20000
// run: spurious=2000,seed=7
// run: ways=1,sets=4
// run: abort_at=3
// run: htm=0
#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "elided.h"

namespace {

// On one processor each conflict may last a time slice of whatever runs beside.
const int turns = syncopate::machine::may_spin() ? 400 : 50;

struct random_numbers {
  unsigned state;
  unsigned next(unsigned below) {
    state = state * 1103515245 + 12345;
    return (state >> 8) % below;
  }
};

long count(elided& lock, unsigned threads) {
  long counter = 0;
  run_threads(threads, [&](unsigned) {
    for (int i = 0; i < turns; ++i) {
      const std::lock_guard guard(lock);
      counter = counter + 1;
    }
  });
  return counter;
}

// Transfers between accounts; one thread sums them up meanwhile.
std::vector<long> bank(elided& lock, unsigned threads) {
  std::vector<long> accounts(61, 100);
  run_threads(threads, [&](unsigned index) {
    random_numbers random{index};
    for (int i = 0; i < turns; ++i) {
      const unsigned from = random.next(61), to = random.next(61);
      const std::lock_guard guard(lock);
      if (index == 0) {
        long sum = 0;
        for (const long each : accounts) sum += each;
        CHECK(sum == 6100);
      } else {
        accounts[from] -= static_cast<long>(index);
        accounts[to] += static_cast<long>(index);
      }
    }
  });
  return accounts;
}

// Each thread inserts and erases keys of its own: the end is the same in every order.
template <class Map>
std::vector<std::pair<int, std::string>> fill(Map& map, elided& lock, unsigned threads) {
  run_threads(threads, [&](unsigned index) {
    random_numbers random{index + 100};
    for (int i = 0; i < turns / 2; ++i) {
      const int key = static_cast<int>(random.next(64) * threads + index);
      const std::lock_guard guard(lock);
      if (random.next(3) == 0) map.erase(key);
      else map[key] += std::string(1 + random.next(20), static_cast<char>('a' + random.next(26)));
    }
  });
  std::vector<std::pair<int, std::string>> contents(map.begin(), map.end());
  std::sort(contents.begin(), contents.end());
  return contents;
}

std::vector<int> queue(elided& lock, unsigned threads) {
  std::list<int> list;
  run_threads(threads, [&](unsigned index) {
    for (int i = 0; i < turns / 2; ++i) {
      const std::lock_guard guard(lock);
      if (i % 2 == 0) list.push_back(static_cast<int>(index));
      else if (i % 4 == 1) list.push_front(static_cast<int>(index));
      else list.remove_if([n = 0, index](int v) mutable { return v == int(index) && n++ == 0; });
    }
  });
  std::vector<int> contents(list.begin(), list.end());
  std::sort(contents.begin(), contents.end());
  return contents;
}

template <class Work>
void same_as_locked(const char* what, Work work) {
  for (const unsigned threads : {2u, 4u, 8u}) {
    elided real(false), lock(true);
    if (work(real, threads) == work(lock, threads)) continue;
    std::fprintf(stderr, "%s with %u threads: another state than under a lock\n", what, threads);
    std::_Exit(1);
  }
}

}  // namespace

int main() {
  same_as_locked("counter", count);
  same_as_locked("bank", bank);
  same_as_locked("list", queue);
  same_as_locked("map", [](elided& lock, unsigned threads) {
    std::map<int, std::string> map;
    return fill(map, lock, threads);
  });
  same_as_locked("unordered_map", [](elided& lock, unsigned threads) {
    std::unordered_map<int, std::string> map;
    return fill(map, lock, threads);
  });
}
