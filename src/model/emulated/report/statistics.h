// statistics.h -- what the observer counts, for the report.
//
// Memory order (each tag stands at its site below)
//   [L]  acquire load of the list of threads -- synchronizes with the push (threads/thread.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "model/emulated/threads/real_mutex.h"
#include "model/emulated/threads/thread.h"

namespace syncopate::emulated {

inline constexpr std::size_t reasons = static_cast<std::size_t>(reason::count);
const char* name(reason) noexcept;  // "write capacity"

// Where a transaction begins: the return address of begin, then those of its callers.
inline constexpr std::size_t most_frames = 4;
using call_stack = std::array<place, most_frames>;

struct site_counts {
  std::uint64_t begun = 0, committed = 0, fell_back = 0;
  std::array<std::uint64_t, reasons> aborts{};
  // Of those that committed.
  std::uint64_t read_lines = 0, written_lines = 0, accesses = 0;
  std::uint32_t most_read_lines = 0, most_written_lines = 0;

  void add(const site_counts&) noexcept;
};

struct abort_key {
  place begun, ended;  // the begin's return address; the access or call that ended it
  reason why;
  std::uint8_t code;
  const char* called;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees the 0 that = default compares with
  auto operator<=>(const abort_key&) const = default;
};

struct conflict_key {
  line at;
  place victim, requester;  // the victim's first access to the line; the access that won
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees the 0 that = default compares with
  auto operator<=>(const conflict_key&) const = default;
};

struct thread_statistics {
  real_mutex lock;  // against the report, while the thread still runs
  std::map<call_stack, site_counts> sites;
  std::map<abort_key, std::uint64_t> aborts;
  std::map<conflict_key, std::uint64_t> conflicts;
  call_stack site{};  // of the running transaction, or the last one
};

// Of all threads. An array of maps would be no clearer.
struct totals {
  std::map<call_stack, site_counts> sites;
  std::map<abort_key, std::uint64_t> aborts;
  std::map<conflict_key, std::uint64_t> conflicts;
};
totals add_up();

// A line that transactions fought over, with the pairs of places that met there most.
struct hot_line {
  line at;
  std::uint64_t conflicts = 0;
  std::vector<std::pair<conflict_key, std::uint64_t>> meetings;  // most first
};
std::vector<hot_line> hot_lines(const totals&);  // hottest first

std::string text_report(const totals&);
std::string json_report(const totals&);

}  // namespace syncopate::emulated
