// topology.cpp -- the memory node of each processor, from hwloc.
//
// hwloc is asked once, at the first question; the answer is a table that never changes. hwloc
// honors HWLOC_SYNTHETIC ("node:2 pu:4"), so a machine of another shape can be had for tests.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <hwloc.h>

#include <syncopate/machine.h>

namespace syncopate::machine {
namespace {

struct topology {
  std::vector<std::uint16_t> node_of_processor;  // by the kernel's processor number
  unsigned nodes = 1;
};

void read_nodes(hwloc_topology_t source, topology& result) {
  const int nodes = hwloc_get_nbobjs_by_type(source, HWLOC_OBJ_NUMANODE);
  if (nodes < 1) return;
  result.nodes = static_cast<unsigned>(nodes);
  for (hwloc_obj_t pu = nullptr;
       (pu = hwloc_get_next_obj_by_type(source, HWLOC_OBJ_PU, pu)) != nullptr;) {
    // The nodes local to this processor; the first is its own (others are memory-only kinds).
    const int id = hwloc_bitmap_first(pu->nodeset);
    const hwloc_obj_t node =
        id < 0 ? nullptr : hwloc_get_numanode_obj_by_os_index(source, static_cast<unsigned>(id));
    if (node == nullptr) continue;
    auto& table = result.node_of_processor;
    table.resize(std::max<std::size_t>(table.size(), pu->os_index + 1u));
    table[pu->os_index] = static_cast<std::uint16_t>(node->logical_index);
  }
}

topology* read_topology() {
  auto* result = new topology;
  hwloc_topology_t source;
  if (hwloc_topology_init(&source) != 0) return result;
  if (hwloc_topology_load(source) == 0) read_nodes(source, *result);
  hwloc_topology_destroy(source);
  return result;
}

// Never destroyed: threads may still ask while static objects of the program are torn down.
const topology& known_topology() {
  static const topology* const known = read_topology();
  return *known;
}

}  // namespace

unsigned node() noexcept {
  const auto& table = known_topology().node_of_processor;
  const unsigned current = processor();
  return current < table.size() ? table[current] : 0;
}

unsigned node_count() noexcept { return known_topology().nodes; }

}  // namespace syncopate::machine
