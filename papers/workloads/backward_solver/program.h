// program.h -- what the solver's programs share: options, the matrix, the line of JSON.
#pragma once

#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "../common.h"
#include "../presets.h"
#include "generate.h"
#include "matrix_market.h"
#include "solver.h"

namespace workloads {

inline std::vector<option> solver_options(std::vector<option> more) {
  std::vector<option> result{
      {"matrix", "offshore",
       "a MatrixMarket file, or generated like the paper's offshore, inline_1, thermal2"},
      preset_option("small", {"tiny", "small", "paper", "large"}),
      sized{"levels", "of a generated matrix; 0: as many as the paper's has", {100, 400, 0, 0}}
          .as_option(),
      sized{
          "solves", "how often it is solved, within the time that is measured", {1, 10, 100, 1000}}
          .as_option(),
      threads_option,
      seed_option};
  result.insert(result.end(), more.begin(), more.end());
  return result;
}

// The matrix that the options mean. Throws bad_matrix.
inline upper_matrix read_or_generate(const options& o) {
  const std::string& name = o.text("matrix");
  const matrix_shape* const shape = find_shape(name);
  if (shape == nullptr) return matrix_market_reader(name).read();
  constexpr std::uint64_t most = 20'000;
  const std::uint64_t wish = o.number("levels");
  if (wish > most) o.refuse("--levels needs at most " + std::to_string(most));
  const std::uint64_t levels = wish == 0 ? shape->rows / shape->per_level : wish;
  return matrix_generator(*shape, static_cast<std::uint32_t>(levels), o.number("seed")).make();
}

// What the options mean; ends the program with one line where that cannot be.
inline std::unique_ptr<backward_solve> make_solver(const options& o) {
  constexpr std::uint64_t most = 1000;  // each has a solution of its own
  const std::uint64_t solves = o.number("solves", 1);
  if (solves > most) o.refuse("--solves needs at most " + std::to_string(most));
  std::set_new_handler(nullptr);  // what does not fit is said below
  try {
    return std::make_unique<backward_solve>(read_or_generate(o), solves, o.number("seed"));
  } catch (const bad_matrix& problem) {
    o.refuse(problem.what());
  } catch (const std::bad_alloc&) {
    o.refuse(o.text("matrix") + ": the matrix and its solutions do not fit into memory");
  }
}

// Solves on the threads of `run`, which is run(solver) -> outcome, and reports. Returns the exit
// status: 1 when the residual is too large.
template <class Run>
int solve_and_report(const options& o, const std::string& barrier, Run run) {
  const std::unique_ptr<backward_solve> made = make_solver(o);
  backward_solve& solver = *made;
  const std::uint64_t solves = o.number("solves");
  const outcome result = run(solver);
  const double residual = solver.residual();
  const double bytes = static_cast<double>(solver.bytes()) * static_cast<double>(solves);
  const auto rows = static_cast<double>(solver.matrix().rows());
  char worst[32] = "null", numbers[256];
  if (std::isfinite(residual)) std::snprintf(worst, sizeof worst, "%.3g", residual);
  std::snprintf(numbers, sizeof numbers,
                "\"rows_per_level\": %.1f, \"gigabytes_per_second\": %.4f, "
                "\"residual\": %s, ",
                rows / solver.schedule().levels(), bytes / result.seconds() * 1e-9, worst);
  return report("backward_solver", o, result, residual <= backward_solve::most_residual,
                member("barrier", barrier) + member("matrix", o.text("matrix")) +
                    member("rows", solver.matrix().rows()) +
                    member("nonzeros", solver.matrix().values.size()) +
                    member("levels", solver.schedule().levels()) + member("solves", solves) +
                    numbers);
}

}  // namespace workloads
