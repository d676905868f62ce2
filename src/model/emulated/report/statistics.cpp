#include "statistics.h"

#include <algorithm>

namespace syncopate::emulated {

const char* name(reason why) noexcept {
  switch (why) {
    case reason::conflict: return "conflict";
    case reason::write_capacity: return "write capacity";
    case reason::read_capacity: return "read capacity";
    case reason::explicit_: return "explicit";
    case reason::nesting: return "nesting";
    case reason::time_limit: return "time limit";
    case reason::injected: return "injected";
    case reason::spurious: return "spurious";
    case reason::system_call: return "system call";
    case reason::library_call: return "library call";
    case reason::waiting: return "waiting";
    case reason::signal: return "signal";
    case reason::fault: return "fault";
    case reason::always_abort: return "always abort";
    case reason::refused: return "refused";
    case reason::none:
    case reason::count: break;
  }
  return "none";
}

void site_counts::add(const site_counts& other) noexcept {
  begun += other.begun;
  committed += other.committed;
  fell_back += other.fell_back;
  for (std::size_t i = 0; i < reasons; ++i) aborts[i] += other.aborts[i];
  read_lines += other.read_lines;
  written_lines += other.written_lines;
  accesses += other.accesses;
  most_read_lines = std::max(most_read_lines, other.most_read_lines);
  most_written_lines = std::max(most_written_lines, other.most_written_lines);
}

totals add_up() {
  totals sum;
  thread* t = all_threads.load(std::memory_order_acquire);  // [L]
  for (; t != nullptr; t = t->next_thread) {
    auto* const one = static_cast<thread_statistics*>(t->statistics);
    if (one == nullptr) continue;
    const std::lock_guard lock(one->lock);
    for (const auto& [key, counts] : one->sites) sum.sites[key].add(counts);
    for (const auto& [key, count] : one->aborts) sum.aborts[key] += count;
    for (const auto& [key, count] : one->conflicts) sum.conflicts[key] += count;
  }
  return sum;
}

std::vector<hot_line> hot_lines(const totals& of) {
  std::vector<hot_line> lines;
  for (const auto& [key, count] : of.conflicts) {  // sorted by line
    if (lines.empty() || lines.back().at != key.at) lines.push_back({key.at, 0, {}});
    lines.back().conflicts += count;
    lines.back().meetings.emplace_back(key, count);
  }
  const auto more = [](const auto& a, const auto& b) { return a.second > b.second; };
  for (hot_line& each : lines) std::stable_sort(each.meetings.begin(), each.meetings.end(), more);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const hot_line& a, const hot_line& b) { return a.conflicts > b.conflicts; });
  return lines;
}

}  // namespace syncopate::emulated
