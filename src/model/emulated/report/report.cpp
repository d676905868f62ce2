#include "report.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/text_table.h"
#include "model/emulated/htm/observer.h"
#include "model/emulated/threads/registry.h"
#include "model/front/names/names.h"
#include "model/front/program/options.h"
#include "model/front/program/report_output.h"
#include "model/front/scope.h"
#include "statistics.h"

namespace syncopate::emulated {

namespace {

using report::quantity;
using report::share;
using report::shortened;
using report::text_table;

constexpr std::size_t most_rows = 20;
constexpr std::size_t most_meetings = 3;  // of one line

std::string number(std::uint64_t n) { return quantity(static_cast<double>(n)); }

// "lock at elided.h:20 < count at test.cpp:50": up to main.
std::string site_name(const call_stack& stack) {
  std::size_t count = 0;
  while (count < most_frames && stack[count] != nullptr) ++count;
  if (count == 0) return "(no transaction)";
  std::string text;
  for (const auto& frame : instrument::known_frames(stack.data(), count, 3)) {
    if (!text.empty() && frame.file.empty()) break;  // the C library's
    text += (text.empty() ? "" : " < ") + shortened(frame.text(), 44);
    if (frame.function == "main") break;
  }
  return text;
}

std::string known_place(place where) {
  return where == nullptr ? "" : instrument::code_name(where);
}

void add_section(std::string& all, const char* title, const text_table& table, std::size_t rows) {
  if (table.empty()) return;
  all += std::string("\n") + title;
  if (rows > most_rows) {
    all += " (the first " + std::to_string(most_rows) + " of " + std::to_string(rows) + ")";
  }
  all += "\n" + table.text();
}

template <class Map>
auto list_of(const Map& from) {
  return std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>>(from.begin(),
                                                                                   from.end());
}

std::string average(std::uint64_t sum, std::uint64_t count) {
  return count == 0 ? "-" : quantity(static_cast<double>(sum) / static_cast<double>(count));
}

void add_sites(std::string& all, const totals& of) {
  std::vector<std::size_t> shown;
  std::vector<std::string> headings{"<begun at", "begun", "committed"};
  for (std::size_t i = 0; i < reasons; ++i) {
    const bool occurred = std::any_of(of.sites.begin(), of.sites.end(),
                                      [i](const auto& each) { return each.second.aborts[i] != 0; });
    if (!occurred) continue;
    shown.push_back(i);
    headings.emplace_back(name(static_cast<reason>(i)));
  }
  headings.insert(headings.end(), {"fell back", "lines read", "written", "accesses"});
  text_table table(std::move(headings));
  auto sites = list_of(of.sites);
  std::stable_sort(sites.begin(), sites.end(),
                   [](const auto& a, const auto& b) { return a.second.begun > b.second.begun; });
  for (std::size_t i = 0; i < std::min(sites.size(), most_rows); ++i) {
    const auto& [stack, counts] = sites[i];
    std::vector<std::string> row{
        site_name(stack), number(counts.begun),
        share(static_cast<double>(counts.committed), static_cast<double>(counts.begun))};
    for (const std::size_t why : shown) row.push_back(number(counts.aborts[why]));
    row.push_back(number(counts.fell_back));
    row.push_back(average(counts.read_lines, counts.committed));
    row.push_back(average(counts.written_lines, counts.committed));
    row.push_back(average(counts.accesses, counts.committed));
    table.add(std::move(row));
  }
  add_section(all, "transactions (lines and accesses: average of those that committed)", table,
              sites.size());
}

// Instances of one template look the same: rows that read the same are one.
void add_aborts(std::string& all, const totals& of) {
  std::map<std::vector<std::string>, std::uint64_t> rows;
  for (const auto& [key, count] : of.aborts) {
    std::string cause = name(key.why);
    if (key.why == reason::explicit_) cause += " " + std::to_string(key.code);
    if (key.called != nullptr) cause += std::string(" of ") + shortened(key.called, 40);
    rows[{cause, shortened(known_place(key.begun)), shortened(known_place(key.ended))}] += count;
  }
  auto aborts = list_of(rows);
  std::stable_sort(aborts.begin(), aborts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  text_table table({"<abort", "count", "<begun at", "<ended at"});
  for (std::size_t i = 0; i < std::min(aborts.size(), most_rows); ++i) {
    const auto& [row, count] = aborts[i];
    table.add({row[0], number(count), row[1], row[2]});
  }
  add_section(all, "aborts (conflicts: ended at the access that had the line first)", table,
              aborts.size());
}

void add_lines(std::string& all, const totals& of) {
  const std::vector<hot_line> lines = hot_lines(of);
  text_table table({"conflicts", "<line", "<held by an access", "<wanted by"});
  for (std::size_t i = 0; i < std::min(lines.size(), most_rows); ++i) {
    const hot_line& each = lines[i];
    const std::string title =
        shortened(instrument::range_name(each.at * line_bytes, line_bytes), 80);
    for (std::size_t j = 0; j < std::min(each.meetings.size(), most_meetings); ++j) {
      const auto& [key, count] = each.meetings[j];
      table.add({number(count), j == 0 ? title : "", shortened(known_place(key.victim)),
                 shortened(known_place(key.requester))});
    }
  }
  add_section(all, "cache lines that transactions fought over", table, lines.size());
}

void write_report() {
  const own_memory_scope ours;
  observing = false;
  const totals sums = add_up();
  const std::lock_guard lock(registry);
  report::show_standard_error();
  report::write(
      instrument::option("STATS"), [&] { return json_report(sums); },
      [&] { return text_report(sums); });
}

[[gnu::destructor]] void at_end() {
  if (observing) write_report();
}

}  // namespace

std::string text_report(const totals& of) {
  std::string all = "emulated transactions\n";
  if (of.sites.empty()) return all + "  none was begun\n";
  add_sites(all, of);
  add_aborts(all, of);
  add_lines(all, of);
  return all;
}

void prepare_report() noexcept {
  observing = instrument::option_enabled("STATS");
  if (observing) report::keep_standard_error();
}

}  // namespace syncopate::emulated
