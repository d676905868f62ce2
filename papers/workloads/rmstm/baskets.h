// baskets.h -- the input of apriori.cpp and utility_mine.cpp: what customers have bought.
//
// After the usual synthetic data for such programs (Agrawal & Srikant, VLDB 1994, section 4.1):
// baskets are put together from patterns of items that are often bought at once, with some of a
// pattern's items left out, and items by chance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../random_numbers.h"

namespace workloads::rmstm {

struct purchase {
  std::uint32_t item;
  std::uint32_t value;  // quantity times profit
};

struct basket {
  std::vector<purchase> purchases;  // by item; each item once
  std::uint64_t value = 0;          // of all
};

class baskets {
 public:
  static constexpr std::uint32_t most_purchases = 16;

  baskets(std::uint64_t count, std::uint32_t items, std::uint64_t seed) : items(items) {
    random_numbers random(seed, 0);
    profits_.resize(items);
    for (auto& each : profits_) each = static_cast<std::uint32_t>(1 + random.below(20));
    const auto patterns = make_patterns(random);
    all.resize(count);
    for (basket& each : all) fill(each, patterns, random);
  }

  const std::uint32_t items;
  std::vector<basket> all;

 private:
  using pattern = std::vector<std::uint32_t>;

  [[nodiscard]] std::vector<pattern> make_patterns(random_numbers& random) const {
    std::vector<pattern> result(std::max(4u, items / 8));
    for (pattern& each : result)
      for (std::uint64_t left = 2 + random.below(4); left > 0; --left)
        each.push_back(static_cast<std::uint32_t>(random.below(items)));
    return result;
  }

  void fill(basket& to, const std::vector<pattern>& patterns, random_numbers& random) const {
    const std::uint64_t size = 4 + random.below(most_purchases - 4);
    std::vector<std::uint32_t> chosen;
    while (chosen.size() < size) {
      // The smaller of two: some patterns are more frequent than others.
      const auto which = std::min(random.below(patterns.size()), random.below(patterns.size()));
      for (const std::uint32_t item : patterns[which])
        if (random.below(8) != 0) chosen.push_back(item);
      if (random.below(3) == 0) chosen.push_back(static_cast<std::uint32_t>(random.below(items)));
    }
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    if (chosen.size() > most_purchases) chosen.resize(most_purchases);
    for (const std::uint32_t item : chosen) {
      const auto value = static_cast<std::uint32_t>((1 + random.below(5)) * profits_[item]);
      to.purchases.push_back({item, value});
      to.value += value;
    }
  }

  std::vector<std::uint32_t> profits_;
};

}  // namespace workloads::rmstm
