#include "description.h"

#include "toml_fields.h"

#include <bit>
#include <fstream>
#include <sstream>

namespace syncopate::simulated {

namespace {

constexpr std::int64_t most_cycles = 100'000'000;
constexpr double most_watts = 10'000;
constexpr double most_joules = 1e-3;  // for one line

void read_topology(toml_document& from, topology_description& to) {
  from.read("topology",
            {integer("sockets", to.sockets, 1, max_cores), integer("nodes", to.nodes, 1, max_cores),
             integer("cores", to.cores, 1, max_cores), integer("cluster", to.cluster, 1, max_cores),
             integer("smt", to.smt, 1, max_smt),
             integer("frequency_hz", to.frequency_hz, 1'000'000, 100'000'000'000)});
  if (to.nodes % to.sockets != 0)
    from.fail("topology.nodes", "must be a multiple of topology.sockets");
  if (to.cores % to.nodes != 0) from.fail("topology.cores", "must be a multiple of topology.nodes");
  if (to.cores / to.nodes % to.cluster != 0)
    from.fail("topology.cluster", "must divide the cores of a node");
}

void read_core(toml_document& from, core_description& to) {
  from.read("core", {integer("access_cycles", to.access_cycles, 0, most_cycles),
                     integer("relax_cycles", to.relax_cycles, 1, most_cycles),
                     integer("store_cycles", to.store_cycles, 1, most_cycles),
                     integer("store_buffer", to.store_buffer, 1, 4096),
                     real("smt_share", to.smt_share, 0.05, 1)});
}

void read_cache(toml_document& from, const std::string& name, cache_description& to) {
  const std::string section = "cache." + name;
  from.read(section,
            {integer("size", to.size, 64), integer("ways", to.ways, 1, 1024),
             integer("line", to.line, 16, 4096), integer("latency", to.latency, 1, most_cycles),
             integer("shared_by", to.shared_by, 1, max_cores)});
  if (!std::has_single_bit(to.line)) from.fail(section + ".line", "must be a power of two");
  if (to.size % (std::uint64_t{to.line} * to.ways) != 0)
    from.fail(section + ".ways", "ways times line must divide the size");
}

void read_caches(toml_document& from, description& to) {
  from.read("cache", {subtable("l1"), subtable("l2"), subtable("llc")});
  read_cache(from, "l1", to.l1);
  read_cache(from, "l2", to.l2);
  read_cache(from, "llc", to.llc);
  if (!std::has_single_bit(to.l1.sets()))
    from.fail("cache.l1.ways", "the number of sets, size / line / ways, must be a power of two");
  if (to.l1.shared_by != 1) from.fail("cache.l1.shared_by", "must be 1: each core has its L1");
  if (to.l2.line != to.l1.line) from.fail("cache.l2.line", "must be the same at all levels");
  if (to.llc.line != to.l1.line) from.fail("cache.llc.line", "must be the same at all levels");
  if (to.l2.size < to.l1.size * to.l2.shared_by)
    from.fail("cache.l2.size", "must not be smaller than the L1s that it includes");
  if (to.l2.shared_by > max_cores_per_l2)
    from.fail("cache.l2.shared_by", "at most " + std::to_string(max_cores_per_l2));
  if (to.topology.cluster % to.l2.shared_by != 0)
    from.fail("cache.l2.shared_by", "must divide topology.cluster");
  const unsigned socket = to.topology.cores / to.topology.sockets;
  if (socket % to.llc.shared_by != 0)
    from.fail("cache.llc.shared_by", "must divide the cores of a socket");
  if (to.llc.shared_by % to.l2.shared_by != 0)
    from.fail("cache.llc.shared_by", "must be a multiple of cache.l2.shared_by");
  if (to.topology.cores / to.llc.shared_by > max_llc_domains)
    from.fail("cache.llc.shared_by", "more than " + std::to_string(max_llc_domains) + " LLCs");
}

void read_coherence(toml_document& from, const topology_description& topology,
                    coherence_description& to) {
  from.read("coherence",
            {integer("transfer_cluster", to.transfer_cluster, 1, most_cycles),
             integer("transfer_node", to.transfer_node, 1, most_cycles),
             integer("transfer_socket", to.transfer_socket, 1, most_cycles),
             integer("transfer_remote", to.transfer_remote, 1, most_cycles),
             matrix("hops", to.hops), integer("extra_hop", to.extra_hop, 0, most_cycles),
             integer("invalidate_per_sharer", to.invalidate_per_sharer, 0, most_cycles),
             integer("occupancy", to.occupancy, 0, most_cycles), flag("migratory", to.migratory),
             optional(flag("broadcast", to.broadcast)), optional(flag("owned", to.owned)),
             optional(integer("request", to.request, 0, most_cycles)),
             optional(integer("hold", to.hold, 0, most_cycles))});
  if (to.transfer_node < to.transfer_cluster)
    from.fail("coherence.transfer_node", "must not be less than coherence.transfer_cluster");
  if (to.transfer_socket < to.transfer_node)
    from.fail("coherence.transfer_socket", "must not be less than coherence.transfer_node");
  if (to.transfer_remote < to.transfer_socket)
    from.fail("coherence.transfer_remote", "must not be less than coherence.transfer_socket");
  if (to.request > to.transfer_cluster)
    from.fail("coherence.request", "must not be more than coherence.transfer_cluster");
  if (to.hops.empty()) return;
  const std::string square = "must have a row and a column for each socket or node, or be []";
  const std::size_t places = to.hops.size();
  if (places != topology.sockets && places != topology.nodes) from.fail("coherence.hops", square);
  for (std::size_t row = 0; row < to.hops.size(); ++row) {
    if (to.hops[row].size() != places) from.fail("coherence.hops", square);
    for (std::size_t column = 0; column < row; ++column)
      if (to.hops[row][column] == 0 || to.hops[row][column] != to.hops[column][row])
        from.fail("coherence.hops", "must be symmetric, with at least 1 between two of them");
    if (to.hops[row][row] != 0) from.fail("coherence.hops", "must be 0 from each to itself");
  }
}

void read_htm(toml_document& from, htm_description& to) {
  to = {};
  if (!from.is_set("htm", "present")) {  // what the machine lacks has no numbers
    from.read("htm", {flag("present", to.present)});
    return;
  }
  from.read("htm", {flag("present", to.present), flag("always_abort", to.always_abort),
                    flag("write_in_l1", to.write_in_l1), integer("write_lines", to.write_lines, 0),
                    integer("read_lines", to.read_lines, 0),
                    integer("begin_cycles", to.begin_cycles, 0, most_cycles),
                    integer("commit_cycles", to.commit_cycles, 0, most_cycles),
                    integer("abort_cycles", to.abort_cycles, 0, most_cycles),
                    real("interrupts_per_second", to.interrupts_per_second, 0, 1e7),
                    flag("learning", to.learning)});
  if (!to.write_in_l1 && to.write_lines == 0)
    from.fail("htm.write_lines", "must be at least 1 where the L1 does not limit writes");
}

void read_monitor(toml_document& from, monitor_description& to) {
  to = {};
  if (!from.is_set("monitor", "present")) {
    from.read("monitor", {flag("present", to.present)});
    return;
  }
  from.read("monitor", {flag("present", to.present), subtable("light"), subtable("deep")});
  for (const auto& [name, depth] :
       {std::pair{"monitor.light", &to.light}, std::pair{"monitor.deep", &to.deep}})
    from.read(name, {integer("entry_cycles", depth->entry_cycles, 0, most_cycles),
                     integer("wake_cycles", depth->wake_cycles, 0, most_cycles)});
}

void read_os(toml_document& from, os_description& to) {
  from.read("os", {integer("syscall_cycles", to.syscall_cycles, 0, most_cycles),
                   integer("futex_wait_cycles", to.futex_wait_cycles, 0, most_cycles),
                   integer("futex_wake_cycles", to.futex_wake_cycles, 0, most_cycles),
                   integer("context_switch_cycles", to.context_switch_cycles, 0, most_cycles),
                   integer("ipi_cycles", to.ipi_cycles, 0, most_cycles),
                   integer("wakeup_cycles", to.wakeup_cycles, 0, most_cycles),
                   integer("migration_cycles", to.migration_cycles, 0, most_cycles),
                   integer("time_slice_microseconds", to.time_slice_microseconds, 1)});
}

void read_energy(toml_document& from, energy_description& to) {
  from.read(
      "energy",
      {real("running", to.running, 0, most_watts), real("spinning", to.spinning, 0, most_watts),
       real("monitor_light", to.monitor_light, 0, most_watts),
       real("monitor_deep", to.monitor_deep, 0, most_watts), real("idle", to.idle, 0, most_watts),
       real("off", to.off, 0, most_watts), real("base", to.base, 0, most_watts),
       real("transfer_joules", to.transfer_joules, 0, most_joules),
       real("remote_transfer_joules", to.remote_transfer_joules, 0, most_joules),
       real("dram_joules", to.dram_joules, 0, most_joules)});
}

}  // namespace

description parse_description(std::string_view contents, const std::string& file) {
  toml_document from(contents, file);
  description to{};
  to.file = file;
  std::vector<toml_document::field> sections;
  for (const char* name : {"machine", "topology", "core", "cache", "coherence", "atomic", "dram",
                           "htm", "monitor", "os", "energy"})
    sections.push_back(subtable(name));
  from.read("", sections);
  from.read("machine", {text("name", to.name), text("source", to.source)});
  read_topology(from, to.topology);
  read_core(from, to.core);
  read_caches(from, to);
  read_coherence(from, to.topology, to.coherence);
  from.read("atomic", {integer("rmw_cycles", to.atomic.rmw_cycles, 0, most_cycles),
                       integer("fence_cycles", to.atomic.fence_cycles, 0, most_cycles),
                       flag("drains_stores", to.atomic.drains_stores)});
  from.read("dram", {integer("local", to.dram.local, 1, most_cycles),
                     integer("remote", to.dram.remote, 1, most_cycles),
                     integer("bytes_per_second", to.dram.bytes_per_second, 1'000'000)});
  if (to.dram.remote < to.dram.local) from.fail("dram.remote", "must not be less than dram.local");
  read_htm(from, to.htm);
  read_monitor(from, to.monitor);
  read_os(from, to.os);
  read_energy(from, to.energy);
  return to;
}

description read_description(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  if (!file || !(contents << file.rdbuf()))
    throw description_error(path + ": cannot be read (a folder, empty, or not there)");
  return parse_description(contents.str(), path);
}

}  // namespace syncopate::simulated
