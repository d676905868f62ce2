// memory_statistics.h -- what the memory system counts. Part of statistics.h.
#pragma once

#include "interconnect.h"

#include <array>

namespace syncopate::simulated {

// One processor's accesses, counted by line touched.
struct access_totals {
  std::uint64_t accesses = 0;
  std::uint64_t l1_misses = 0;  // including writes to lines held shared
  std::uint64_t l2_hits = 0;
  std::uint64_t llc_hits = 0;
  std::array<std::uint64_t, distances> transfers{};  // from another cache, by distance
  std::uint64_t upgrades = 0;                        // held shared, wanted for writing
  std::uint64_t dram_local = 0;
  std::uint64_t dram_remote = 0;
  std::uint64_t invalidations_sent = 0;
  cycles waited = 0;   // for lines in transit to somebody else
  cycles stalled = 0;  // for a free entry of the store buffer, or for it to drain

  access_totals& operator+=(const access_totals& other) {
    accesses += other.accesses;
    l1_misses += other.l1_misses;
    l2_hits += other.l2_hits;
    llc_hits += other.llc_hits;
    for (std::size_t i = 0; i < distances; ++i) transfers[i] += other.transfers[i];
    upgrades += other.upgrades;
    dram_local += other.dram_local;
    dram_remote += other.dram_remote;
    invalidations_sent += other.invalidations_sent;
    waited += other.waited;
    stalled += other.stalled;
    return *this;
  }
};

// One line, from the first time on that coherence moved or invalidated it.
struct line_statistics {
  line what = 0;
  std::uint64_t misses = 0;         // requests that reached the directory
  std::uint64_t transfers = 0;      // of them, from another cache
  std::uint64_t invalidations = 0;  // copies lost to writers
  cycles waited = 0;                // by requesters, for the line to be free
};

}  // namespace syncopate::simulated
