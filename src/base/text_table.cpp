#include "text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace syncopate::report {

std::string three_digits(double number) {
  char text[32];
  const int digits = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

std::string quantity(double number) {
  for (const unit each : {unit{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}) {
    if (number >= each.size * 0.9995) return three_digits(number / each.size) + each.name;
  }
  if (number == std::floor(number)) return std::to_string(std::lround(number));
  return three_digits(number);
}

std::string share(double part, double whole) {
  if (part <= 0 || whole <= 0) return "-";
  const double percent = 100 * part / whole;
  if (percent < 0.1) return "<0.1 %";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", percent);
  return text;
}

std::string shortened(const std::string& name, std::size_t most) {
  if (name.size() <= most) return name;
  const std::size_t end = most / 3;
  return name.substr(0, most - end - 3) + "..." + name.substr(name.size() - end);
}

text_table::text_table(std::vector<std::string> headings) {
  for (std::string& heading : headings) {
    left_.push_back(heading.starts_with('<'));
    if (left_.back()) heading.erase(0, 1);
  }
  rows_.push_back(std::move(headings));
}

void text_table::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string text_table::text() const {
  std::vector<std::size_t> widths(left_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string all;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += "  ";
      line += left_[i] ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  }
  return all;
}

}  // namespace syncopate::report
