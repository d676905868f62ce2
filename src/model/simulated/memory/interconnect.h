// interconnect.h -- how far caches and memories are from each other, in cycles.
#pragma once

#include "directory.h"

namespace syncopate::simulated {

// The nearest level that two different L2 groups have in common.
enum class distance : unsigned char { cluster, node, socket, remote };
inline constexpr std::size_t distances = 4;

struct route {
  cycles latency = 0;
  distance far = distance::cluster;
};

class interconnect {
 public:
  explicit interconnect(const description&);

  route between(group from, group to) const;
  // Latency of the group that is the farthest from this one; 0 if there is no other.
  cycles farthest(group from) const { return places_[from].farthest; }
  // Requires: others than `to` are in the set. The nearest of them.
  route nearest(const group_set& holders, group to) const;
  // From the nearest LLC of a set of them, as bits.
  route nearest_llc(std::uint64_t llcs, group to) const;
  // Latency of a node's memory.
  cycles dram(unsigned node, group to) const;

  unsigned node_of(group g) const { return places_[g].node; }
  unsigned socket_of(group g) const { return places_[g].socket; }
  unsigned llc_of(group g) const { return places_[g].llc; }

 private:
  // Groups, or LLCs, from which a line takes equally long: as bits.
  struct ring {
    std::vector<std::uint64_t> members;
    route from;
  };
  // Where a group is, and what lies around it, the nearest first. Kept, not computed: every miss
  // asks for several of these, and branches on them are hard to predict.
  struct place {
    unsigned node, socket, llc;
    group cluster_begin;
    cycles farthest;
    std::vector<ring> groups;  // but itself
    std::vector<ring> llcs;
  };

  cycles extra_hops(unsigned from_node, unsigned to_node) const;
  void add_rings(group of);

  const description& machine_;
  unsigned groups_per_llc_;
  std::vector<place> places_;
};

// One node's memory channels, as a queue: every line takes its share of the bandwidth.
class dram_channel {
 public:
  explicit dram_channel(const description&);

  // A line requested at `now` leaves the memory's queue at the result; its latency comes on top.
  cycles enter(cycles now) {
    const std::uint64_t scaled = now << fraction_bits;
    const std::uint64_t start = scaled > free_ ? scaled : free_;
    free_ = start + per_line_;
    return start >> fraction_bits;
  }

 private:
  static constexpr unsigned fraction_bits = 10;  // a line may take less than a cycle

  std::uint64_t per_line_;
  std::uint64_t free_ = 0;
};

}  // namespace syncopate::simulated
