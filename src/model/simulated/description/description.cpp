#include "description.h"

#include "toml_fields.h"

#include <bit>
#include <fstream>
#include <limits>
#include <sstream>

namespace syncopate::simulated {

namespace {

constexpr std::int64_t most_cycles = 100'000'000;
constexpr double most_watts = 10'000;
constexpr double most_joules = 1e-3;  // for one line
constexpr std::int64_t any_count = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

void read_topology(toml_document& from, topology_description& to) {
  from.read("topology", {
#define SYNCOPATE_TOPOLOGY(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, to.name, least, most)),
#include "parameters.def"
                        });
  if (to.nodes % to.sockets != 0)
    from.fail("topology.nodes", "must be a multiple of topology.sockets");
  if (to.cores % to.nodes != 0) from.fail("topology.cores", "must be a multiple of topology.nodes");
  if (to.cores / to.nodes % to.cluster != 0)
    from.fail("topology.cluster", "must divide the cores of a node");
}

void read_core(toml_document& from, core_description& to) {
  from.read("core", {
#define SYNCOPATE_CORE(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, to.name, least, most)),
#include "parameters.def"
                    });
}

void read_cache(toml_document& from, const std::string& name, cache_description& to) {
  const std::string section = "cache." + name;
  from.read(section, {
#define SYNCOPATE_CACHE(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, to.name, least, most)),
#include "parameters.def"
                     });
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
  from.read("coherence", {
#define SYNCOPATE_COHERENCE(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, to.name, least, most)),
#include "parameters.def"
                         });
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

void read_atomic(toml_document& from, atomic_description& to) {
  from.read("atomic", {
#define SYNCOPATE_ATOMIC(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, to.name, least, most)),
#include "parameters.def"
                      });
}

void read_dram(toml_document& from, dram_description& to) {
  from.read("dram", {
#define SYNCOPATE_DRAM(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, to.name, least, most)),
#include "parameters.def"
                    });
  if (to.remote < to.local) from.fail("dram.remote", "must not be less than dram.local");
}

void read_htm(toml_document& from, htm_description& to) {
  to = {};
  if (!from.is_set("htm", "present")) {  // what the machine lacks has no numbers
    from.read("htm", {field("present", to.present)});
    return;
  }
  from.read("htm", {
#define SYNCOPATE_HTM(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, to.name, least, most)),
#include "parameters.def"
                   });
  if (!to.write_in_l1 && to.write_lines == 0)
    from.fail("htm.write_lines", "must be at least 1 where the L1 does not limit writes");
}

void read_monitor(toml_document& from, monitor_description& to) {
  to = {};
  if (!from.is_set("monitor", "present")) {
    from.read("monitor", {field("present", to.present)});
    return;
  }
  from.read("monitor", {field("present", to.present), subtable("light"), subtable("deep")});
  for (const auto& [section, depth] :
       {std::pair{"monitor.light", &to.light}, std::pair{"monitor.deep", &to.deep}}) {
    from.read(section, {
#define SYNCOPATE_MONITOR_DEPTH(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, depth->name, least, most)),
#include "parameters.def"
                       });
  }
}

void read_os(toml_document& from, os_description& to) {
  from.read("os", {
#define SYNCOPATE_OS(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, to.name, least, most)),
#include "parameters.def"
                  });
}

void read_energy(toml_document& from, energy_description& to) {
  from.read("energy", {
#define SYNCOPATE_ENERGY(type, name, unit, presence, least, most, meaning) \
  presence(field(#name, to.name, least, most)),
#include "parameters.def"
                      });
}

// UTF-8's control characters: C0, DEL, and C1, which a terminal obeys, too.
std::string shown(const std::string& text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](std::size_t n) {
      return n < text.size() ? static_cast<unsigned char>(text[n]) : 0u;
    };
    const bool is_c1 = i > 0 && at(i - 1) == 0xc2 && at(i) >= 0x80 && at(i) < 0xa0;
    if (at(i) >= 0x20 && at(i) != 0x7f && !is_c1) result += text[i];
    else result += {'\\', 'x', digits[at(i) >> 4], digits[at(i) & 15]};
  }
  return result;
}

}  // namespace

description_error::description_error(const std::string& text) : std::runtime_error(shown(text)) {}

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
  if (shown(to.name) != to.name) from.fail("machine.name", "has control characters");
  read_topology(from, to.topology);
  read_core(from, to.core);
  read_caches(from, to);
  read_coherence(from, to.topology, to.coherence);
  read_atomic(from, to.atomic);
  read_dram(from, to.dram);
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
