// section_totals.h -- what is known of a lock's critical sections: counts, and the last
// sections of each thread, which later ones are compared with.
#pragma once

#include "model/simulated/description/description.h"
#include "section_sets.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace syncopate::simulated {

// One that has ended.
struct section {
  unsigned thread = 0;
  bool shared = false;      // of a reader-writer lock
  bool overflowed = false;  // access_set::overflowed
  std::uint64_t begun = 0;  // its number among all sections
  engine::place where = nullptr;
  word_list words;
  std::map<std::pair<const char*, engine::place>, std::uint64_t> calls;
};

struct footprint {
  std::uint32_t read_lines = 0, written_lines = 0;  // a line that is written is not counted as read
  bool fits = true;                                 // a transaction can hold it
};
footprint footprint_of(const section&, const description&);

struct meeting_counts {
  static constexpr std::size_t most_places = 16;

  std::uint64_t pairs = 0;
  std::uint64_t alone = 0;  // pairs that met nowhere else
  std::map<std::pair<engine::place, engine::place>, std::uint64_t> places;

  void add(const meeting&, bool is_alone);
  void add(const meeting_counts&);  // of another pair of fields with the same names
};

struct lock_totals {
  // Distinct fields that are told apart.
  static constexpr std::size_t most_fields = 1024;

  std::uint64_t sections = 0, shared = 0;
  std::uint64_t read_only = 0;  // made no call, wrote nothing but their thread's own memory
  std::uint64_t calling = 0;    // made a call that no transaction survives
  std::uint64_t too_large = 0;  // exceed what a transaction can hold
  std::uint64_t friendly = 0;   // neither
  std::set<unsigned> threads;
  std::map<engine::place, std::uint64_t> sites;  // where the lock is taken
  std::map<std::pair<const char*, engine::place>, std::uint64_t> calls;
  std::map<std::uint32_t, std::uint64_t> read_lines, written_lines;  // sections by footprint

  // Of sections of different threads: all, those that conflict on bytes, those that only share
  // lines.
  std::uint64_t pairs = 0, conflicting = 0, sharing_lines = 0;
  std::map<engine::address, meeting_counts> conflicts;
  std::map<std::pair<engine::address, engine::address>, meeting_counts> shared_lines;
  std::uint64_t left_out = 0;  // meetings beyond most_fields

  void count(const section&, const footprint&);
  void count_pair(const std::vector<meeting>&);
  void add(const lock_totals&);  // of another lock with the same name
};

// The last sections of the threads that used the lock last.
class recent_sections {
 public:
  static constexpr std::size_t most_threads = 16, most_of_thread = 4;

  // Calls what(other) for each one of another thread.
  template <class What>
  void for_others(unsigned thread, What what) const {
    for (const auto& each : by_thread_) {
      if (each.front().thread == thread) continue;
      for (const section& other : each) what(other);
    }
  }

  // Returns: by how many words more are kept now.
  std::int64_t keep(section);

 private:
  std::vector<std::deque<section>> by_thread_;  // each not empty; used last: at the end
};

}  // namespace syncopate::simulated
