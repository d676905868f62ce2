// graph.h -- a weighted graph of cliques, which clusters are to find.
#pragma once

#include "../common.h"

#include <span>

namespace workloads::hpc {

struct neighbor {
  std::uint32_t vertex, weight;
};

// As the SSCA2 benchmark's generator describes its graphs: cliques of random sizes with all edges
// inside; fewer between cliques, the further apart they are numbered; vertices in random order.
class graph {
 public:
  static constexpr std::uint64_t largest_clique = 12, heaviest = 32, spread = 3;

  graph(std::uint64_t vertices, std::uint64_t seed) : lists_(vertices) {
    random_numbers random(seed, ~std::uint64_t{0});
    order_.resize(vertices);
    for (std::uint32_t i = 0; i < vertices; ++i) {
      const auto other = static_cast<std::uint32_t>(random.below(i + 1));
      order_[i] = order_[other];
      order_[other] = i;
    }
    for (std::uint64_t first = 0; first < vertices;) {
      const std::uint64_t size = std::min(1 + random.below(largest_clique), vertices - first);
      for (std::uint64_t i = first; i < first + size; ++i)
        for (std::uint64_t j = i + 1; j < first + size; ++j) connect(i, j, random);
      first += size;
    }
    for (std::uint64_t apart = 1; apart < vertices; apart *= 2 * spread)
      for (std::uint64_t i = 0; i + apart < vertices; i += spread) connect(i, i + apart, random);
  }

  [[nodiscard]] std::size_t size() const { return lists_.size(); }
  [[nodiscard]] std::uint64_t weight() const { return weight_; }  // of all edges
  [[nodiscard]] std::span<const neighbor> around(std::uint32_t vertex) const {
    return lists_[vertex];
  }

 private:
  void connect(std::uint64_t i, std::uint64_t j, random_numbers& random) {
    const auto weight = static_cast<std::uint32_t>(1 + random.below(heaviest));
    weight_ += weight;
    lists_[order_[i]].push_back({order_[j], weight});
    lists_[order_[j]].push_back({order_[i], weight});
  }

  std::vector<std::vector<neighbor>> lists_;
  std::uint64_t weight_ = 0;
  std::vector<std::uint32_t> order_;  // the vertex that stands at a place among the cliques
};

}  // namespace workloads::hpc
