// netlist.h -- elements of a chip, the nets between them, and where each is placed.
#pragma once

#include "../common.h"

#include <cmath>
#include <span>

namespace workloads::hpc {

// Where an element is: row * side + column.
using location = std::uint32_t;
// An element's location is held by a thread that exchanges it.
inline constexpr location busy = ~location{0};

class netlist {
 public:
  static constexpr std::uint32_t nets = 5;  // that begin at each element

  // Elements, most nets of which end nearby in the order of their numbers, at random places.
  netlist(std::uint64_t count, std::uint64_t seed)
      : side_(static_cast<location>(std::ceil(std::sqrt(static_cast<double>(count))))),
        places_(count),
        first_(count + 1) {
    random_numbers random(seed, ~std::uint64_t{0});
    place_anywhere(random);
    connect(random);
  }

  [[nodiscard]] std::size_t size() const { return places_.size(); }
  [[nodiscard]] std::atomic<location>& place(std::uint32_t element) { return places_[element]; }
  // Those that have a net with the element.
  [[nodiscard]] std::span<const std::uint32_t> connected(std::uint32_t element) const {
    return std::span(ends_).subspan(first_[element], first_[element + 1] - first_[element]);
  }

  // The length of a net between two places.
  [[nodiscard]] std::int64_t distance(location a, location b) const {
    const auto apart = [](location x, location y) { return std::int64_t{x > y ? x - y : y - x}; };
    return apart(a / side_, b / side_) + apart(a % side_, b % side_);
  }

  // Of all nets, each from both ends. Requires: no thread is moving elements.
  [[nodiscard]] std::int64_t cost() const {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < size(); ++i)
      for (const std::uint32_t j : connected(i))
        sum += distance(places_[i].load(std::memory_order_relaxed),
                        places_[j].load(std::memory_order_relaxed));
    return sum;
  }

  // Whether each place from 0 up has one element.
  [[nodiscard]] bool is_placement() const {
    std::vector<bool> taken(size());
    for (const auto& place : places_) {
      const location at = place.load(std::memory_order_relaxed);
      if (at >= size() || taken[at]) return false;
      taken[at] = true;
    }
    return true;
  }

 private:
  void place_anywhere(random_numbers& random) {
    std::vector<location> order(size());
    for (std::uint32_t i = 0; i < size(); ++i) {
      const auto other = static_cast<std::uint32_t>(random.below(i + 1));
      order[i] = order[other];
      order[other] = i;
    }
    for (std::uint32_t i = 0; i < size(); ++i)
      places_[i].store(order[i], std::memory_order_relaxed);
  }

  void connect(random_numbers& random) {
    constexpr std::uint64_t nearby = 64;
    std::vector<std::vector<std::uint32_t>> lists(size());
    for (std::uint32_t i = 0; i < size(); ++i)
      for (std::uint32_t net = 0; net < nets; ++net) {
        const std::uint64_t ahead =
            1 + random.below(net == 0 ? size() - 1 : std::min(nearby, size() - 1));
        const auto other = static_cast<std::uint32_t>((i + ahead) % size());
        lists[i].push_back(other);
        lists[other].push_back(i);
      }
    for (std::uint32_t i = 0; i < size(); ++i) {
      ends_.insert(ends_.end(), lists[i].begin(), lists[i].end());
      first_[i + 1] = ends_.size();
    }
  }

  location side_;
  std::vector<std::atomic<location>> places_;
  std::vector<std::size_t> first_;  // where an element's connections begin in ends_
  std::vector<std::uint32_t> ends_;
};

}  // namespace workloads::hpc
