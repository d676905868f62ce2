// generate.h -- matrices with the parallelism of the paper's three.
//
// The paper's are from the University of Florida Sparse Matrix Collection, which we do not
// distribute. Their rows per level are the paper's numbers; rows and nonzeros per row are the
// collection's, rounded.
//
// A generated matrix is a bundle of strips, as meshes are whose points are numbered line by line:
// a strip is a run of consecutive rows, each of which needs the one before, and some rows of this
// strip and of strips before. So the rows of one level lie far apart in memory. Strips begin and
// end at random levels, and rows have random lengths, so that the work of levels, and of threads in
// one level, differs as it does in meshes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../random_numbers.h"
#include "matrix.h"

namespace workloads {

struct matrix_shape {
  std::string_view name;
  std::uint32_t rows;       // of the collection's matrix
  std::uint32_t per_level;  // rows: the paper's parallelism
  std::uint32_t per_row;    // nonzeros right of the diagonal
};

inline constexpr std::array<matrix_shape, 3> shapes{{
    {.name = "offshore", .rows = 260'000, .per_level = 75, .per_row = 8},
    {.name = "inline_1", .rows = 504'000, .per_level = 288, .per_row = 36},
    {.name = "thermal2", .rows = 1'228'000, .per_level = 991, .per_row = 3},
}};

inline const matrix_shape* find_shape(std::string_view name) {
  for (const matrix_shape& shape : shapes)
    if (shape.name == name) return &shape;
  return nullptr;
}

class matrix_generator {
 public:
  matrix_generator(const matrix_shape& shape, std::uint32_t levels, std::uint64_t seed)
      : shape_(shape), levels_(levels), rows_(levels * shape.per_level), random_(seed, 0) {}

  // A matrix of `levels` levels, with shape.per_level rows each on average.
  upper_matrix make() {
    lay_strips();
    std::vector<matrix_entry> entries;
    entries.reserve(std::size_t{rows_} * shape_.per_row);
    for (std::size_t s = 0; s < strips_.size(); ++s)
      for (std::uint32_t i = 0; i < strips_[s].length; ++i) add_row(s, i, entries);
    return assemble(rows_, entries);
  }

 private:
  // Rows at the levels [first, first + length). Row numbers fall as levels rise.
  struct strip {
    std::uint32_t first, length;
    std::uint32_t before;  // rows of the strips before
  };
  static constexpr std::uint32_t near = 16;  // how many strips, and levels, a row looks back

  void lay_strips() {
    for (std::uint32_t placed = 0; placed < rows_;) {
      // The first one has all levels, so that every other row finds one a level below.
      const auto wish = strips_.empty() ? levels_ : 1 + pick(levels_);
      const std::uint32_t length = std::min(wish, rows_ - placed);
      strips_.push_back({.first = pick(levels_ - length + 1), .length = length, .before = placed});
      placed += length;
    }
  }

  [[nodiscard]] std::uint32_t pick(std::uint32_t bound) {
    return static_cast<std::uint32_t>(random_.below(bound));
  }

  [[nodiscard]] std::uint32_t row_at(const strip& s, std::uint32_t level) const {
    return rows_ - 1 - (s.before + (level - s.first));
  }

  void add_row(std::size_t s, std::uint32_t i, std::vector<matrix_entry>& entries) {
    const strip& own = strips_[s];
    const std::uint32_t level = own.first + i, row = row_at(own, level);
    if (level == 0) return;
    // This one makes the level exactly what it is.
    const strip& source = i > 0 ? own : strips_[0];
    add(row, row_at(source, level - 1), entries);
    const std::uint32_t others = pick(2 * shape_.per_row - 1);
    for (std::uint32_t k = 0; k < others; ++k) {
      const strip& other =
          strips_[s - pick(static_cast<std::uint32_t>(std::min<std::size_t>(s + 1, near)))];
      const std::uint32_t back = 1 + pick(std::min(level, near));
      if (level - back >= other.first && level - back < other.first + other.length)
        add(row, row_at(other, level - back), entries);
      else add(row, row_at(strips_[0], level - back), entries);
    }
  }

  void add(std::uint32_t row, std::uint32_t column, std::vector<matrix_entry>& entries) {
    // The longest rows have 2 * per_row entries: their sum stays below 1, and solutions bounded.
    const double value = (1 + static_cast<double>(pick(1000)) / 1000) / (4.0 * shape_.per_row + 4);
    entries.push_back({.row = row, .column = column, .value = pick(2) == 0 ? value : -value});
  }

  const matrix_shape shape_;
  const std::uint32_t levels_, rows_;
  random_numbers random_;
  std::vector<strip> strips_;
};

}  // namespace workloads
