// matrix_market.h -- the upper triangle of a sparse matrix from a MatrixMarket file (the format is
// described by Boisvert, Pozo & Remington, NISTIR 5935, 1996).
//
// Read are square coordinate matrices that are real, integer or pattern, and general or symmetric;
// of a symmetric one the stored lower triangle is the upper one. Repeated entries add up. A pattern
// has no values: each entry gets one with which the rows' sums stay bounded.
#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "matrix.h"

namespace workloads {

// What is wrong with a file: "FILE:LINE: why", or "FILE: why".
struct bad_matrix : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class matrix_market_reader {
 public:
  explicit matrix_market_reader(const std::string& path) : path_(path), file_(path) {
    if (!file_) throw bad_matrix(path + ": cannot be read");
  }

  // Throws bad_matrix for a file that is not such a matrix, or whose triangle cannot be solved.
  upper_matrix read() {
    read_kind();
    read_size();
    std::vector<matrix_entry> upper;
    std::vector<double> diagonal(rows_, 0);
    for (std::uint64_t i = 0; i < entries_; ++i) {
      matrix_entry e = read_entry();
      if (symmetric_ && e.row < e.column) fail("a symmetric matrix stores its lower triangle only");
      if (symmetric_) std::swap(e.row, e.column);
      if (e.row == e.column) diagonal[e.row] += e.value;
      else if (e.row < e.column) upper.push_back(e);
      show_progress(i);
    }
    if (next_line()) fail("there are more entries than the size line says");
    return pattern_ ? with_values(assemble(rows_, upper))
                    : scaled(assemble(rows_, upper), diagonal);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw bad_matrix(path_ + ":" + std::to_string(line_number_) + ": " + why);
  }

  // The next line that is neither empty nor a comment, in line_; false at the end of the file.
  bool next_line() {
    while (std::getline(file_, line_)) {
      ++line_number_;
      rest_ = line_;
      skip_blanks();
      if (!rest_.empty() && rest_[0] != '%') return true;
    }
    return false;
  }

  void skip_blanks() {
    const std::size_t blanks = rest_.find_first_not_of(" \t\r");
    rest_.remove_prefix(blanks == std::string_view::npos ? rest_.size() : blanks);
  }

  std::string_view word() {
    skip_blanks();
    const std::string_view result = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(result.size());
    return result;
  }

  template <class Number>
  Number number(const char* what) {
    const std::string_view text = word();
    Number result{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc{} || end != text.data() + text.size())
      fail("expected " + std::string(what) + ", found '" + std::string(text) + "'");
    return result;
  }

  void end_of_line() {
    if (const std::string_view more = word(); !more.empty())
      fail("'" + std::string(more) + "' is one word too many");
  }

  void read_kind() {
    std::getline(file_, line_);
    line_number_ = 1;
    for (char& c : line_) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    rest_ = line_;
    if (word() != "%%matrixmarket" || word() != "matrix")
      fail("not a MatrixMarket file: its first line has to begin with '%%MatrixMarket matrix'");
    if (word() != "coordinate") fail("only sparse ('coordinate') matrices can be solved");
    const std::string_view field = word(), symmetry = word();
    if (field != "real" && field != "integer" && field != "pattern")
      fail("values have to be real, integer or pattern, not '" + std::string(field) + "'");
    if (symmetry != "general" && symmetry != "symmetric")
      fail("the matrix has to be general or symmetric, not '" + std::string(symmetry) + "'");
    pattern_ = field == "pattern";
    symmetric_ = symmetry == "symmetric";
    end_of_line();
  }

  void read_size() {
    constexpr std::uint64_t most = 2'000'000'000;
    if (!next_line()) fail("the file ends before its size line");
    const auto rows = number<std::uint64_t>("the number of rows");
    const auto columns = number<std::uint64_t>("the number of columns");
    entries_ = number<std::uint64_t>("the number of entries");
    end_of_line();
    if (rows != columns)
      fail("only square matrices can be solved, not " + std::to_string(rows) + " x " +
           std::to_string(columns));
    if (rows == 0 || rows > most) fail("the number of rows has to be 1 to " + std::to_string(most));
    rows_ = static_cast<std::uint32_t>(rows);
  }

  std::uint32_t index() {
    const auto result = number<std::uint64_t>("a row or column");
    if (result < 1 || result > rows_)
      fail("rows and columns are 1 to " + std::to_string(rows_) + ", not " +
           std::to_string(result));
    return static_cast<std::uint32_t>(result - 1);
  }

  matrix_entry read_entry() {
    if (!next_line())
      fail("the file ends before the " + std::to_string(entries_) +
           " entries that its size line says");
    matrix_entry result{.row = index(), .column = index(), .value = 1};
    if (!pattern_) result.value = number<double>("a number");
    if (!std::isfinite(result.value)) fail("a value is not finite");
    end_of_line();
    return result;
  }

  // Divides each row by its diagonal entry.
  upper_matrix scaled(upper_matrix matrix, const std::vector<double>& diagonal) const {
    for (std::uint32_t row = 0; row < rows_; ++row) {
      if (diagonal[row] == 0)
        throw bad_matrix(path_ + ": row " + std::to_string(row + 1) +
                         " has no diagonal entry: the triangle cannot be solved");
      for (std::uint64_t i = matrix.row_start[row]; i < matrix.row_start[row + 1]; ++i)
        matrix.values[i] /= diagonal[row];
    }
    return matrix;
  }

  // A solution of a pattern's triangle stays as small as the right-hand side.
  upper_matrix with_values(upper_matrix matrix) const {
    for (std::uint32_t row = 0; row < rows_; ++row) {
      const std::uint64_t first = matrix.row_start[row], last = matrix.row_start[row + 1];
      for (std::uint64_t i = first; i < last; ++i)
        matrix.values[i] = 0.5 / static_cast<double>(last - first);
    }
    return matrix;
  }

  void show_progress(std::uint64_t done) {
    if (done % 1'000'000 != 999'999) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::seconds(2)) return;
    shown_ = now;
    std::fprintf(stderr, "%s: %.0f %% read\n", path_.c_str(),
                 100 * static_cast<double>(done) / static_cast<double>(entries_));
  }

  const std::string path_;
  std::ifstream file_;
  std::string line_;
  std::string_view rest_;  // of line_: what has not been read
  std::uint64_t line_number_ = 0;
  std::uint32_t rows_ = 0;
  std::uint64_t entries_ = 0;
  bool symmetric_ = false, pattern_ = false;
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

}  // namespace workloads
