// text_table.h -- how the reports of the machines write figures and tables.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace syncopate::report {

struct unit {
  double size;
  const char* name;
};

// Three significant digits of a number in [0.9995, 999.5).
std::string three_digits(double number);
// "1.25 G", "40.1 M", "812": three significant digits above a thousand.
std::string quantity(double number);
// "40.1 %", "<0.1 %", "-" for 0 of something and for anything of nothing.
std::string share(double part, double whole);

// At most `most` characters: the middle gives way.
std::string shortened(const std::string& name, std::size_t most = 60);

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

}  // namespace syncopate::report
