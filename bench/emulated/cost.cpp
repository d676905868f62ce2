// cost.cpp -- what accesses cost on the emulated machine: pieces of code, timed.
// bench/emulated_cost.py compiles it plainly and for the machine, and runs both in turns. With an
// argument each piece runs in a transaction.
#include <syncopate/machine.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

namespace {

namespace htm = syncopate::machine::htm;

bool in_transactions = false;

template <class Work>
void section(Work work) {
  if (in_transactions && htm::begin().started()) {
    work();
    htm::commit();
  } else {
    work();
  }
}

// Nanoseconds of one of `count` pieces that work() runs: the best of 15 times.
template <class Work>
void measure(const char* name, int count, Work work) {
  using clock = std::chrono::steady_clock;
  double best = 1e18;
  for (int i = 0; i < 15; ++i) {
    const clock::time_point start = clock::now();
    for (int n = 0; n < count; ++n) section([&] { work(n); });
    const std::chrono::duration<double, std::nano> time = clock::now() - start;
    best = std::min(best, time.count() / count);
  }
  std::printf("%s %.2f\n", name, best);
}

struct node {
  long key;
  node* left = nullptr;
  node* right = nullptr;
};

node** place_of(node*& root, long key) {
  node** at = &root;
  while (*at != nullptr && (*at)->key != key) at = key < (*at)->key ? &(*at)->left : &(*at)->right;
  return at;
}

long numbers[4096];
volatile long sink;

}  // namespace

int main(int count, char**) {
  in_transactions = count > 1;
  std::map<long, long> map;
  node* tree = nullptr;
  std::vector<long> keys;
  unsigned random = 1;
  for (int i = 0; i < 4096; ++i) {
    random = random * 1103515245 + 12345;
    keys.push_back(random >> 8);
    map[keys.back()] = i;
    node** const at = place_of(tree, keys.back());
    if (*at == nullptr) *at = new node{keys.back()};
  }
  const auto key = [&](int n) { return keys[static_cast<std::size_t>(n) * 2]; };
  measure("map_find", 2000, [&](int n) { sink = map.find(key(n))->second; });
  measure("tree_find", 2000, [&](int n) { sink = (*place_of(tree, key(n)))->key; });
  measure("map_update", 2000, [&](int n) { ++map.find(key(n))->second; });
  measure("map_insert_erase", 1000, [&](int n) { map[n] = 1, map.erase(n); });
  measure("array_2048_add", 50, [&](int n) {
    for (int i = 0; i < 2048; ++i) numbers[i] += n;
  });
  measure("memcpy_4096", 200, [&](int) { std::memcpy(numbers, numbers + 2048, 4096); });
  measure("empty", 2000, [](int) { asm volatile("" ::: "memory"); });
}
