// solver.h -- U y = b by levels, a barrier after each (always-abort, figure 14), and the check.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "../random_numbers.h"
#include "matrix.h"

namespace workloads {

class backward_solve {
 public:
  // Each solve writes a vector of its own, of NaNs at first: a row that is used before it is solved
  // is seen by the check, whichever solve it was.
  backward_solve(upper_matrix matrix, std::uint64_t solves, std::uint64_t seed)
      : matrix_(std::move(matrix)), schedule_(make_schedule(matrix_)), b_(matrix_.rows()) {
    random_numbers random(seed, 1);
    for (double& value : b_) value = 1 + static_cast<double>(random.below(1'000'000)) * 1e-6;
    solutions_.assign(
        solves, std::vector<double>(matrix_.rows(), std::numeric_limits<double>::quiet_NaN()));
  }

  // What thread `me` of `threads` does; meet() is the barrier. Returns the rows it has solved.
  template <class Meet>
  std::uint64_t work(std::uint32_t me, std::uint32_t threads, Meet meet) {
    std::uint64_t solved = 0;
    for (std::vector<double>& y : solutions_)
      for (std::uint32_t level = 0; level < schedule_.levels(); ++level) {
        const std::uint64_t first = schedule_.level_start[level];
        const std::uint64_t size = schedule_.level_start[level + 1] - first;
        const std::uint64_t from = first + size * me / threads;
        const std::uint64_t to = first + size * (me + 1) / threads;
        solve_rows(from, to, y.data());
        solved += to - from;
        meet();
      }
    return solved;
  }

  // The componentwise backward error (Oettli & Prager, Numer. Math. 6, 1964) of the worst solve,
  // in multiples of the rounding unit times the length of the row: at most 2 or so when each row
  // was computed from the right numbers, in whatever order. NaN where one was not solved.
  [[nodiscard]] double residual() const {
    double worst = 0;
    for (const std::vector<double>& y : solutions_)
      for (std::uint32_t row = 0; row < matrix_.rows(); ++row) {
        double sum = y[row] - b_[row], size = std::abs(y[row]) + std::abs(b_[row]);
        for (std::uint64_t i = matrix_.row_start[row]; i < matrix_.row_start[row + 1]; ++i) {
          const double term = matrix_.values[i] * y[matrix_.columns[i]];
          sum += term;
          size += std::abs(term);
        }
        const auto length =
            static_cast<double>(matrix_.row_start[row + 1] - matrix_.row_start[row] + 2);
        const double error = std::abs(sum) / (size * length * rounding_unit);
        if (!(error <= worst)) worst = error;
        if (std::isnan(worst)) return worst;
      }
    return worst;
  }
  static constexpr double most_residual = 4;

  // What one solve has to move at least, in bytes: each nonzero's value and column; for each row
  // its number in the order, its start, its right-hand side and its solution.
  [[nodiscard]] std::uint64_t bytes() const {
    return matrix_.values.size() * (sizeof(double) + sizeof(std::uint32_t)) +
           matrix_.rows() * (sizeof(std::uint32_t) + sizeof(std::uint64_t) + 2 * sizeof(double));
  }

  [[nodiscard]] const upper_matrix& matrix() const { return matrix_; }
  [[nodiscard]] const level_schedule& schedule() const { return schedule_; }

 private:
  static constexpr double rounding_unit = std::numeric_limits<double>::epsilon() / 2;

  void solve_rows(std::uint64_t from, std::uint64_t to, double* y) const {
    const std::uint64_t* const row_start = matrix_.row_start.data();
    const std::uint32_t* const columns = matrix_.columns.data();
    const double* const values = matrix_.values.data();
    for (std::uint64_t i = from; i < to; ++i) {
      const std::uint32_t row = schedule_.order[i];
      double sum = b_[row];
      for (std::uint64_t j = row_start[row + 1]; j-- > row_start[row];)
        sum -= values[j] * y[columns[j]];
      y[row] = sum;
    }
  }

  const upper_matrix matrix_;
  const level_schedule schedule_;
  std::vector<double> b_;
  std::vector<std::vector<double>> solutions_;
};

}  // namespace workloads
