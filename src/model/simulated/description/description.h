// description.h -- what the simulated machine is made of: every number of machines/*.toml.
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

struct topology_description {
  unsigned sockets;  // of the whole machine, as are nodes and cores
  unsigned nodes;    // NUMA nodes; a multiple of sockets
  unsigned cores;    // a multiple of nodes
  unsigned cluster;  // neighboring cores with the cheapest transfers (module, CCX); divides a node
  unsigned smt;      // hardware threads per core
  std::uint64_t frequency_hz;
};

struct core_description {
  unsigned access_cycles;  // ordinary instructions between two accesses to memory
  unsigned relax_cycles;   // one PAUSE or YIELD
  unsigned store_cycles;   // to put a store into the store buffer
  unsigned store_buffer;   // its entries
  double smt_share;        // speed of a hardware thread whose sibling runs, 0..1
};

struct cache_description {
  std::uint64_t size;  // bytes
  unsigned ways;
  unsigned line;       // bytes, the same at all levels
  unsigned latency;    // load to use
  unsigned shared_by;  // cores; 1 for L1

  std::uint64_t sets() const { return size / line / ways; }
};

struct coherence_description {
  // Latency of a line that comes from another core's cache, by where that core is.
  unsigned transfer_cluster;
  unsigned transfer_node;
  unsigned transfer_socket;
  unsigned transfer_remote;  // another socket, one hop away
  // hops[from][to] between sockets, or between nodes; empty: every other one is one hop away.
  std::vector<std::vector<unsigned>> hops;
  unsigned extra_hop;              // for each hop after the first, transfers and DRAM alike
  unsigned invalidate_per_sharer;  // for each copy to be invalidated, beside the farthest's latency
  unsigned occupancy;              // how long one read request keeps the line from the next request
  bool migratory;                  // a read of a modified line takes it from its owner
  bool broadcast;                  // a write to a line that others share asks every core
  bool owned;                      // MOESI: what others read stays modified (coherence.cpp)
  // How long the core that has a line goes on with it (turns.cpp). Both 0: it loses it at once.
  unsigned request;  // until a request has reached it; a part of each transfer
  unsigned hold;     // once the line has arrived, before it answers a request that waits
};

struct atomic_description {
  unsigned rmw_cycles;    // on top of getting the line exclusively
  unsigned fence_cycles;  // on top of draining the store buffer
  bool drains_stores;     // a read-modify-write waits for the store buffer (x86: yes)
};

struct dram_description {
  unsigned local;                  // latency, the requester's own node
  unsigned remote;                 // another node, at most one hop away
  std::uint64_t bytes_per_second;  // of one node
};

struct htm_description {
  bool present;
  bool always_abort;     // speculation that can never commit is offered
  bool write_in_l1;      // eviction of a written line from L1 aborts
  unsigned write_lines;  // most lines written; 0: limited by the L1 only
  unsigned read_lines;   // most lines read; 0: unlimited
  unsigned begin_cycles;
  unsigned commit_cycles;
  unsigned abort_cycles;
  double interrupts_per_second;  // of one processor, each aborts what runs
  bool learning;                 // a predictor aborts what overflowed before (Haswell)
};

struct monitor_depth_description {
  unsigned entry_cycles;
  unsigned wake_cycles;
};

struct monitor_description {
  bool present;
  monitor_depth_description light;
  monitor_depth_description deep;
};

struct os_description {
  unsigned syscall_cycles;
  unsigned futex_wait_cycles;  // beside the system call and the context switch
  unsigned futex_wake_cycles;  // for each thread woken
  unsigned context_switch_cycles;
  unsigned ipi_cycles;        // until the other processor has taken the interrupt
  unsigned wakeup_cycles;     // from the interrupt to the first instruction on an idle processor
  unsigned migration_cycles;  // what moving to another processor costs beside the cold caches
  unsigned time_slice_microseconds;
};

struct energy_description {
  // Watts of one core in a state.
  double running;
  double spinning;
  double monitor_light;
  double monitor_deep;
  double idle;
  double off;
  double base;  // watts of the rest of the machine, always
  // Joules of one line moved.
  double transfer_joules;         // between cores of a socket, or from the LLC
  double remote_transfer_joules;  // across sockets
  double dram_joules;
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

// what() is "FILE:LINE: KEY: what is wrong", or names the machines that exist.
class description_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws description_error. `file` is used in messages only.
description parse_description(std::string_view text, const std::string& file);
description read_description(const std::string& path);

// The file of a machine: a path (with a slash or ending in .toml) as it is, or NAME.toml in the
// first of: each folder of $SYNCOPATE_MACHINES (separated by colons), the user's
// ~/.config/syncopate/machines ($XDG_CONFIG_HOME), share/syncopate/machines of the prefix that the
// library lies in, the one it was installed to, the source tree's machines. Throws
// description_error with the names that are near.
std::string find_machine(const std::string& name_or_path);

// The names that find_machine() knows, sorted.
std::vector<std::string> machine_names();

}  // namespace syncopate::simulated
