#include "interconnect.h"

#include <algorithm>

namespace syncopate::simulated {

interconnect::interconnect(const description& machine)
    : machine_(machine),
      groups_per_cluster_(machine.topology.cluster / machine.l2.shared_by),
      groups_per_node_(machine.topology.cores / machine.topology.nodes / machine.l2.shared_by),
      groups_per_socket_(machine.topology.cores / machine.topology.sockets / machine.l2.shared_by),
      groups_per_llc_(machine.llc.shared_by / machine.l2.shared_by) {
  const auto begin = [](group g, unsigned size) { return g / size * size; };
  for (group g = 0; g < machine.topology.cores / machine.l2.shared_by; ++g)
    places_.push_back({.node = g / groups_per_node_,
                       .socket = g / groups_per_socket_,
                       .llc = g / groups_per_llc_,
                       .cluster_begin = begin(g, groups_per_cluster_),
                       .node_begin = begin(g, groups_per_node_),
                       .socket_begin = begin(g, groups_per_socket_)});
}

cycles interconnect::extra_hops(unsigned from_socket, unsigned to_socket) const {
  const auto& hops = machine_.coherence.hops;
  if (hops.empty() || from_socket == to_socket) return 0;
  return cycles{hops[from_socket][to_socket] - 1} * machine_.coherence.extra_hop;
}

route interconnect::between(group from, group to) const {
  const coherence_description& costs = machine_.coherence;
  const place& one = places_[from];
  const place& other = places_[to];
  if (one.cluster_begin == other.cluster_begin) return {costs.transfer_cluster, distance::cluster};
  if (one.node == other.node) return {costs.transfer_node, distance::node};
  if (one.socket == other.socket) return {costs.transfer_socket, distance::socket};
  return {costs.transfer_remote + extra_hops(one.socket, other.socket), distance::remote};
}

route interconnect::nearest(const group_set& holders, group to) const {
  const coherence_description& costs = machine_.coherence;
  const place& here = places_[to];
  // Whether someone else is in the block of `size` groups around `to`.
  const auto near = [&](group begin, unsigned size) {
    return holders.any_in(begin, to) || holders.any_in(to + 1, begin + size);
  };
  if (near(here.cluster_begin, groups_per_cluster_))
    return {costs.transfer_cluster, distance::cluster};
  if (near(here.node_begin, groups_per_node_)) return {costs.transfer_node, distance::node};
  if (near(here.socket_begin, groups_per_socket_)) return {costs.transfer_socket, distance::socket};
  route best{~cycles{0}, distance::remote};
  for (unsigned socket = 0; socket < machine_.topology.sockets; ++socket) {
    const group begin = socket * groups_per_socket_;
    if (socket != socket_of(to) && holders.any_in(begin, begin + groups_per_socket_))
      best.latency =
          std::min(best.latency, costs.transfer_remote + extra_hops(socket, socket_of(to)));
  }
  return best;
}

route interconnect::nearest_llc(std::uint64_t llcs, group to) const {
  route best{~cycles{0}, distance::remote};
  for (; llcs; llcs &= llcs - 1) {
    const auto llc = static_cast<unsigned>(std::countr_zero(llcs));
    const route from = between(llc * groups_per_llc_, to);
    if (from.latency < best.latency) best = from;
  }
  return best;
}

cycles interconnect::dram(unsigned node, group to) const {
  if (node == node_of(to)) return machine_.dram.local;
  const unsigned nodes_per_socket = machine_.topology.nodes / machine_.topology.sockets;
  return machine_.dram.remote + extra_hops(node / nodes_per_socket, socket_of(to));
}

dram_channel::dram_channel(const description& machine) {
  const double lines_per_second =
      static_cast<double>(machine.dram.bytes_per_second) / machine.l1.line;
  const double cycles_per_line =
      static_cast<double>(machine.topology.frequency_hz) / lines_per_second;
  per_line_ = static_cast<std::uint64_t>(cycles_per_line * (1u << fraction_bits) + 0.5);
}

}  // namespace syncopate::simulated
