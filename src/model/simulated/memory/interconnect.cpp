#include "interconnect.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace syncopate::simulated {

interconnect::interconnect(const description& machine)
    : machine_(machine), groups_per_llc_(machine.llc.shared_by / machine.l2.shared_by) {
  const unsigned groups = machine.topology.cores / machine.l2.shared_by;
  const unsigned per_cluster = machine.topology.cluster / machine.l2.shared_by;
  const unsigned per_node = groups / machine.topology.nodes;
  const unsigned per_socket = groups / machine.topology.sockets;
  for (group g = 0; g < groups; ++g)
    places_.push_back({.node = g / per_node,
                       .socket = g / per_socket,
                       .llc = g / groups_per_llc_,
                       .cluster_begin = g / per_cluster * per_cluster,
                       .farthest = 0,
                       .groups = {},
                       .llcs = {}});
  for (group g = 0; g < groups; ++g) add_rings(g);
}

void interconnect::add_rings(group of) {
  const auto add = [](std::vector<ring>& rings, const route& from, std::size_t member,
                      std::size_t words) {
    auto found = std::find_if(rings.begin(), rings.end(), [&](const ring& r) {
      return r.from.latency == from.latency && r.from.far == from.far;
    });
    if (found == rings.end())
      found = rings.insert(found, {std::vector<std::uint64_t>(words), from});
    found->members[member / 64] |= std::uint64_t{1} << member % 64;
  };
  place& here = places_[of];
  const auto groups = static_cast<group>(places_.size());
  for (group g = 0; g < groups; ++g) {
    if (g == of) continue;
    const route from = between(g, of);
    add(here.groups, from, g, (groups + 63) / 64);
    here.farthest = std::max(here.farthest, from.latency);
  }
  for (group g = 0; g < groups; g += groups_per_llc_)
    add(here.llcs, between(g, of), g / groups_per_llc_, 1);
  // A line comes from the nearest level, whatever that costs; from an LLC wherever it costs least.
  std::stable_sort(here.groups.begin(), here.groups.end(), [](const ring& one, const ring& other) {
    return std::tie(one.from.far, one.from.latency) < std::tie(other.from.far, other.from.latency);
  });
  std::stable_sort(here.llcs.begin(), here.llcs.end(), [](const ring& one, const ring& other) {
    return one.from.latency < other.from.latency;
  });
}

// hops has a row for each socket, or for each node.
cycles interconnect::extra_hops(unsigned from_node, unsigned to_node) const {
  const auto& hops = machine_.coherence.hops;
  if (hops.empty() || from_node == to_node) return 0;
  const unsigned each = machine_.topology.nodes / static_cast<unsigned>(hops.size());
  const unsigned from = from_node / each;
  const unsigned to = to_node / each;
  return from == to ? 0 : cycles{hops[from][to] - 1} * machine_.coherence.extra_hop;
}

route interconnect::between(group from, group to) const {
  const coherence_description& costs = machine_.coherence;
  const place& one = places_[from];
  const place& other = places_[to];
  if (one.cluster_begin == other.cluster_begin) return {costs.transfer_cluster, distance::cluster};
  if (one.node == other.node) return {costs.transfer_node, distance::node};
  const cycles extra = extra_hops(one.node, other.node);
  if (one.socket == other.socket) return {costs.transfer_socket + extra, distance::socket};
  return {costs.transfer_remote + extra, distance::remote};
}

route interconnect::nearest(const group_set& holders, group to) const {
  for (const ring& around : places_[to].groups)
    if (holders.any_of(around.members.data())) return around.from;
  return {~cycles{0}, distance::remote};
}

route interconnect::nearest_llc(std::uint64_t llcs, group to) const {
  for (const ring& around : places_[to].llcs)
    if (llcs & around.members[0]) return around.from;
  return {~cycles{0}, distance::remote};
}

cycles interconnect::dram(unsigned node, group to) const {
  if (node == node_of(to)) return machine_.dram.local;
  return machine_.dram.remote + extra_hops(node, node_of(to));
}

dram_channel::dram_channel(const description& machine) {
  const double lines_per_second =
      static_cast<double>(machine.dram.bytes_per_second) / machine.l1.line;
  const double cycles_per_line =
      static_cast<double>(machine.topology.frequency_hz) / lines_per_second;
  per_line_ = static_cast<std::uint64_t>(std::llround(cycles_per_line * (1u << fraction_bits)));
}

}  // namespace syncopate::simulated
