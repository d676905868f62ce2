// map_bench.cpp -- MapBench: one std::map under one lock.
//
// Source: Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", section
// IV-A.1, figure 8: keys from 10,000 or 10,000,000, half of them present at first; 10 % or 50 % of
// the operations write ("writes" counts inserts and erases that change the map, which half do).
#include "common.h"
#include "presets.h"

#include <map>

namespace {
using namespace workloads;

using tree = std::map<int, int>;

// Half of all keys, in random order of insertion where that is affordable: their nodes then lie in
// memory as those of a map with a history do.
void fill(tree& map, std::uint64_t keys, std::uint64_t seed, bool shuffled) {
  std::vector<int> order;
  for (std::uint64_t key = 0; key < keys; key += 2) order.push_back(static_cast<int>(key));
  random_numbers random(seed, ~std::uint64_t{0});
  if (shuffled)
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (const int key : order) map.emplace_hint(map.end(), key, key);
}
}  // namespace

int main(int argc, char** argv) {
  // Filled in random order, ten million keys take ten seconds.
  const sized orders{
      "shuffled", "0: fill the map in the order of keys, which is faster", {1, 0, 1, 1}};
  const options o(argc, argv, "Threads find, insert and erase in a std::map, under one lock.",
                  {{"lock", "auto", "a lock of `syncopate list`, or pthread"},
                   threads_option,
                   {"keys", "10000", "keys are drawn from so many"},
                   {"changes", "20", "percent of operations that insert or erase, half each"},
                   tiny_preset_option(),
                   orders.as_option(),
                   running_time.as_option(),
                   pin_option,
                   seed_option});
  const std::uint64_t keys = o.number("keys", 2), changes = o.number("changes");
  const std::uint64_t microseconds = o.number("microseconds"), seed = o.number("seed");
  if (changes > 100) o.refuse("--changes is in percent");
  const auto lock = make_lock(o);
  tree map;
  fill(map, keys, seed, o.flag("shuffled"));
  const std::size_t size_before = map.size();

  struct alignas(128) tally {
    std::int64_t net = 0;  // inserted minus erased
    std::uint64_t found = 0;
  };
  std::vector<tally> tallies(o.number("threads", 1));
  const outcome result = run_threads(o, [&](std::uint32_t me) {
    random_numbers random(seed, me);
    const std::uint64_t until = machine::now() + microseconds * 1000;
    std::uint64_t operations = 0;
    std::int64_t net = 0;
    std::uint64_t found = 0;
    do {
      const int key = static_cast<int>(random.below(keys));
      const std::uint64_t dice = random.below(200);
      bool changed = false, there = false;
      lock->lock();
      if (dice < changes) changed = map.emplace(key, key).second;
      else if (dice < 2 * changes) changed = map.erase(key) != 0;
      else there = map.find(key) != map.end();
      lock->unlock();
      if (changed) net += dice < changes ? 1 : -1;
      if (there) ++found;
      ++operations;
    } while (machine::now() < until);
    tallies[me].net = net;
    tallies[me].found = found;
    return operations;
  });

  std::int64_t expected = static_cast<std::int64_t>(size_before);
  std::uint64_t found = 0;
  for (const tally& t : tallies) {
    expected += t.net;
    found += t.found;
  }
  const bool consistent = expected == static_cast<std::int64_t>(map.size());
  return report("map_bench", o, result, consistent,
                member("lock", o.text("lock")) + member("keys", keys) + member("changes", changes) +
                    member("found", found));
}
