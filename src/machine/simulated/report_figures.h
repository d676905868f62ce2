// report_figures.h -- L0: how the reports of the simulated machine compute and write figures.
#pragma once

#include "statistics.h"

#include <string>
#include <string_view>
#include <vector>

namespace syncopate::simulated {

// A quantile of a histogram, 0 <= share <= 1, in cycles: evenly spread within its power of two, at
// most the longest. 0 when nothing was counted.
std::uint64_t quantile(const histogram&, double share);

// Three significant digits: "0 ns", "812 ns", "1.25 us", "40.1 ms", "3.20 s".
std::string duration(double seconds);
// "1.25 G", "40.1 M", "812": three significant digits above a thousand.
std::string quantity(double number);
// "40.1 %", "<0.1 %", "-" for 0 of something and for anything of nothing.
std::string share(double part, double whole);

// A table of text, two spaces between columns, columns as wide as their widest cell.
class text_table {
 public:
  // One string per column; a heading that begins with '<' aligns its column to the left.
  explicit text_table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> left_;
};

// ---- the reports ------------------------------------------------------------------------------

std::string text_report(const statistics&);
// docs/machine-report-schema.md
std::string json_report(const statistics&);
// Chrome's trace events, which Perfetto reads.
std::string trace_report(const statistics&);

}  // namespace syncopate::simulated
