// matrix.h -- an upper triangular sparse matrix, and the order in which its rows can be solved.
//
// The diagonal is 1 and not stored: a row is divided by its diagonal entry when it is made, as the
// paper's loop, which does not divide, needs it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace workloads {

// The part right of the diagonal, row by row.
struct upper_matrix {
  std::vector<std::uint64_t> row_start{0};  // row r: [row_start[r], row_start[r + 1])
  std::vector<std::uint32_t> columns;       // each > its row
  std::vector<double> values;

  [[nodiscard]] std::uint32_t rows() const {
    return static_cast<std::uint32_t>(row_start.size() - 1);
  }
};

struct matrix_entry {
  std::uint32_t row, column;
  double value;
};

// The matrix of `entries`, which may come in any order. Requires: row < column < rows in each.
inline upper_matrix assemble(std::uint32_t rows, const std::vector<matrix_entry>& entries) {
  upper_matrix result;
  result.row_start.assign(rows + std::size_t{1}, 0);
  for (const matrix_entry& e : entries) ++result.row_start[e.row + 1];
  std::partial_sum(result.row_start.begin(), result.row_start.end(), result.row_start.begin());
  std::vector<std::uint64_t> next(result.row_start.begin(), result.row_start.end() - 1);
  result.columns.resize(entries.size());
  result.values.resize(entries.size());
  for (const matrix_entry& e : entries) {
    const std::uint64_t at = next[e.row]++;
    result.columns[at] = e.column;
    result.values[at] = e.value;
  }
  return result;
}

// Rows of one level need only rows of earlier levels.
struct level_schedule {
  std::vector<std::uint32_t> order;        // the rows, level by level: the paper's perm
  std::vector<std::uint32_t> level_start;  // level l: order[level_start[l]] up to the next one's

  [[nodiscard]] std::uint32_t levels() const {
    return static_cast<std::uint32_t>(level_start.size() - 1);
  }
};

inline level_schedule make_schedule(const upper_matrix& matrix) {
  const std::uint32_t rows = matrix.rows();
  std::vector<std::uint32_t> level(rows, 0);
  std::uint32_t levels = 0;
  for (std::uint32_t row = rows; row-- > 0;) {
    for (std::uint64_t i = matrix.row_start[row]; i < matrix.row_start[row + 1]; ++i)
      level[row] = std::max(level[row], level[matrix.columns[i]] + 1);
    levels = std::max(levels, level[row] + 1);
  }
  level_schedule result;
  result.level_start.assign(levels + std::size_t{1}, 0);
  for (const std::uint32_t l : level) ++result.level_start[l + 1];
  std::partial_sum(result.level_start.begin(), result.level_start.end(),
                   result.level_start.begin());
  std::vector<std::uint32_t> next(result.level_start.begin(), result.level_start.end() - 1);
  result.order.resize(rows);
  for (std::uint32_t row = 0; row < rows; ++row) result.order[next[level[row]]++] = row;
  return result;
}

}  // namespace workloads
