// self_load.h -- a load without a network, which knows what every answer has to be.
#pragma once

#include <cstdint>

namespace workloads::txcache {

struct self_load_options {
  std::uint64_t seed = 1, operations = 10000;  // of each thread
  unsigned threads = 2;
  std::uint64_t keys = 1000;          // of each thread
  std::uint64_t largest_value = 400;  // bytes
  bool check = true;                  // false: a benchmark, whose values nobody compares
};

// Every thread changes keys of its own, and all change a few shared numbers; all read all. Half
// way, everything is flushed and values become four times as large, so that other slab classes
// need the pages. Prints one line of JSON. Returns whether every answer, the state at the end and
// all invariants were right. Requires: the cache has been started; ends it.
bool self_load(const self_load_options& options);

}  // namespace workloads::txcache
