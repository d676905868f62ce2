#include "section_totals.h"

#include <algorithm>

namespace syncopate::simulated {

footprint footprint_of(const section& of, const description& machine) {
  footprint result;
  const std::uint64_t words_per_line = machine.l1.line / word_bytes;
  std::map<std::uint64_t, unsigned> written_in_set;
  for (std::size_t i = 0; i < of.words.size();) {
    const std::uint64_t line = of.words[i].word / words_per_line;
    bool written = false;
    for (; i < of.words.size() && of.words[i].word / words_per_line == line; ++i)
      written = written || of.words[i].written != 0;
    ++(written ? result.written_lines : result.read_lines);
    if (written && ++written_in_set[line % machine.l1.sets()] > machine.l1.ways)
      result.fits = false;
  }
  const auto exceeds = [](std::uint32_t lines, unsigned most) { return most != 0 && lines > most; };
  if (of.overflowed || exceeds(result.written_lines, machine.htm.write_lines) ||
      exceeds(result.read_lines, machine.htm.read_lines))
    result.fits = false;
  return result;
}

void meeting_counts::add(const meeting& where, bool is_alone) {
  ++pairs;
  alone += is_alone ? 1 : 0;
  const auto key = std::minmax(where.first_at, where.second_at);
  if (places.size() < most_places || places.contains(key)) ++places[key];
}

void meeting_counts::add(const meeting_counts& other) {
  pairs += other.pairs;
  alone += other.alone;
  for (const auto& [key, count] : other.places)
    if (places.size() < most_places || places.contains(key)) places[key] += count;
}

void lock_totals::count(const section& each, const footprint& print) {
  ++sections;
  shared += each.shared ? 1 : 0;
  const bool writes = std::ranges::any_of(each.words, [](const auto& w) { return w.written != 0; });
  read_only += writes || !each.calls.empty() ? 0 : 1;
  calling += each.calls.empty() ? 0 : 1;
  too_large += print.fits ? 0 : 1;
  friendly += each.calls.empty() && print.fits ? 1 : 0;
  threads.insert(each.thread);
  ++sites[each.where];
  for (const auto& [call, times] : each.calls) calls[call] += times;
  ++read_lines[print.read_lines];
  ++written_lines[print.written_lines];
}

void lock_totals::count_pair(const std::vector<meeting>& found) {
  ++pairs;
  const auto real = static_cast<std::size_t>(std::ranges::count_if(found, &meeting::is_conflict));
  conflicting += real != 0 ? 1 : 0;
  sharing_lines += real == 0 && !found.empty() ? 1 : 0;
  for (const meeting& each : found) {
    const bool is_conflict = each.is_conflict();
    if (conflicts.size() + shared_lines.size() >= most_fields) {
      ++left_out;
      continue;
    }
    meeting_counts& counts =
        is_conflict ? conflicts[each.first] : shared_lines[std::minmax(each.first, each.second)];
    counts.add(each, is_conflict ? real == 1 : found.size() == 1);
  }
}

void lock_totals::add(const lock_totals& other) {
  for (auto count :
       {&lock_totals::sections, &lock_totals::shared, &lock_totals::read_only,
        &lock_totals::calling, &lock_totals::too_large, &lock_totals::friendly, &lock_totals::pairs,
        &lock_totals::conflicting, &lock_totals::sharing_lines, &lock_totals::left_out})
    this->*count += other.*count;
  threads.insert(other.threads.begin(), other.threads.end());
  for (const auto& [key, count] : other.sites) sites[key] += count;
  for (const auto& [key, count] : other.calls) calls[key] += count;
  for (const auto& [key, count] : other.read_lines) read_lines[key] += count;
  for (const auto& [key, count] : other.written_lines) written_lines[key] += count;
  for (const auto& [key, counts] : other.conflicts) conflicts[key].add(counts);
  for (const auto& [key, counts] : other.shared_lines) shared_lines[key].add(counts);
}

std::int64_t recent_sections::keep(section added) {
  const auto words = [](const section& each) {
    return static_cast<std::int64_t>(each.words.size());
  };
  std::int64_t more = words(added);
  auto of_thread = std::ranges::find_if(
      by_thread_, [&](const auto& each) { return each.front().thread == added.thread; });
  if (of_thread == by_thread_.end()) {
    if (by_thread_.size() == most_threads) {
      for (const section& each : by_thread_.front()) more -= words(each);
      by_thread_.erase(by_thread_.begin());
    }
    by_thread_.emplace_back();
  } else {
    std::rotate(of_thread, of_thread + 1, by_thread_.end());
  }
  std::deque<section>& mine = by_thread_.back();
  mine.push_back(std::move(added));
  if (mine.size() > most_of_thread) {
    more -= words(mine.front());
    mine.pop_front();
  }
  return more;
}

}  // namespace syncopate::simulated
