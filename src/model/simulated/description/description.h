// description.h -- what the simulated machine is made of: every number of machines/*.toml. The
// structures' members, with their meaning, are the rows of parameters.def.
//
// A description is read once, checked as a whole and never changed. All times are cycles of the
// machine's clock unless a name says otherwise. No number has a default: a machine file states each
// one and where it comes from, so that a result can be traced to its sources. What a machine lacks,
// or what is not known of it, has no numbers (htm, monitor; coherence.request and hold) or is taken
// to be absent (coherence.broadcast and owned).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate::simulated {

using hop_matrix = std::vector<std::vector<unsigned>>;

struct topology_description {
#define SYNCOPATE_TOPOLOGY(type, name, ...) type name;
#include "parameters.def"
};

struct core_description {
#define SYNCOPATE_CORE(type, name, ...) type name;
#include "parameters.def"
};

struct cache_description {
#define SYNCOPATE_CACHE(type, name, ...) type name;
#include "parameters.def"

  std::uint64_t sets() const { return size / line / ways; }
};

struct coherence_description {
#define SYNCOPATE_COHERENCE(type, name, ...) type name;
#include "parameters.def"
};

struct atomic_description {
#define SYNCOPATE_ATOMIC(type, name, ...) type name;
#include "parameters.def"
};

struct dram_description {
#define SYNCOPATE_DRAM(type, name, ...) type name;
#include "parameters.def"
};

struct htm_description {
#define SYNCOPATE_HTM(type, name, ...) type name;
#include "parameters.def"
};

struct monitor_depth_description {
#define SYNCOPATE_MONITOR_DEPTH(type, name, ...) type name;
#include "parameters.def"
};

struct monitor_description {
  bool present;
  monitor_depth_description light;
  monitor_depth_description deep;
};

struct os_description {
#define SYNCOPATE_OS(type, name, ...) type name;
#include "parameters.def"
};

struct energy_description {
#define SYNCOPATE_ENERGY(type, name, ...) type name;
#include "parameters.def"
};

struct description {
  std::string name;
  std::string source;
  std::string file;  // where it was read from
  topology_description topology;
  core_description core;
  cache_description l1, l2, llc;
  coherence_description coherence;
  atomic_description atomic;
  dram_description dram;
  htm_description htm;
  monitor_description monitor;
  os_description os;
  energy_description energy;

  unsigned processors() const { return topology.cores * topology.smt; }
  // Processors are numbered as Linux does on most PCs: first one per core, then the siblings.
  unsigned core_of(unsigned processor) const { return processor % topology.cores; }
  unsigned sibling_of(unsigned processor) const { return processor / topology.cores; }
  // Cores are numbered by cluster, node and socket.
  unsigned cluster_of(unsigned core) const { return core / topology.cluster; }
  unsigned node_of(unsigned core) const { return core / (topology.cores / topology.nodes); }
  unsigned socket_of(unsigned core) const { return core / (topology.cores / topology.sockets); }

  double seconds(std::uint64_t cycles) const {
    return static_cast<double>(cycles) / static_cast<double>(topology.frequency_hz);
  }
};

// Limits of the model, checked by the parser.
inline constexpr unsigned max_cores = 1024;
inline constexpr unsigned max_smt = 4;
inline constexpr unsigned max_llc_domains = 64;
inline constexpr unsigned max_cores_per_l2 = 8;

// what() is "FILE:LINE: KEY: what is wrong", or names the machines that exist. It is one line for
// a terminal, whatever the file says: control characters in `text` become \xNN.
class description_error : public std::runtime_error {
 public:
  explicit description_error(const std::string& text);
};

// Throws description_error. `file` is used in messages only.
description parse_description(std::string_view text, const std::string& file);
description read_description(const std::string& path);

// The file of a machine: a path (with a slash or ending in .toml) as it is, or NAME.toml in the
// first of: each folder of $SYNCOPATE_MACHINES (separated by colons), the user's
// ~/.config/syncopate/machines ($XDG_CONFIG_HOME), share/syncopate/machines of the prefix that the
// library lies in. Throws description_error with the names that are near.
std::string find_machine(const std::string& name_or_path);

// The names that find_machine() knows, sorted.
std::vector<std::string> machine_names();

}  // namespace syncopate::simulated
