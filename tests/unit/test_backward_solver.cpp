// The parts of papers/workloads/backward_solver: what is read from files, generated, scheduled and
// checked.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "../../papers/workloads/backward_solver/generate.h"
#include "../../papers/workloads/backward_solver/matrix_market.h"
#include "../../papers/workloads/backward_solver/solver.h"

namespace {
using namespace workloads;

class file_with {
 public:
  explicit file_with(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("backward_solver." + std::to_string(::getpid()) + ".mtx")) {
    std::ofstream(path_) << text;
  }
  ~file_with() { std::filesystem::remove(path_); }
  file_with(const file_with&) = delete;
  file_with& operator=(const file_with&) = delete;
  [[nodiscard]] upper_matrix read() const { return matrix_market_reader(path_.string()).read(); }

  // What the reader says of it, without the file's name.
  [[nodiscard]] std::string complaint() const {
    try {
      (void)read();
    } catch (const bad_matrix& problem) {
      return std::string(problem.what()).substr(path_.string().size());
    }
    return "";
  }

 private:
  const std::filesystem::path path_;
};

const std::string general = "%%MatrixMarket matrix coordinate real general\n";

TEST(MatrixMarket, RowsAreDividedByTheirDiagonal) {
  const upper_matrix m =
      file_with(general + "% a comment\n\n3 3 6\n1 1 2.0\n1 3 -4\n2 2 5e0\n2 3 1\n3 3 8\n3 1 7\n")
          .read();
  EXPECT_EQ(m.row_start, (std::vector<std::uint64_t>{0, 1, 2, 2}));
  EXPECT_EQ(m.columns, (std::vector<std::uint32_t>{2, 2}));
  EXPECT_EQ(m.values, (std::vector<double>{-2, 0.2}));
}

TEST(MatrixMarket, ALowerTriangleIsTurned) {
  const upper_matrix m = file_with(
                             "%%MatrixMarket MATRIX Coordinate Integer Symmetric\r\n2 2 3\r\n"
                             "1 1 4\r\n2 1 6\r\n2 2 1\r\n")
                             .read();
  EXPECT_EQ(m.row_start, (std::vector<std::uint64_t>{0, 1, 1}));
  EXPECT_EQ(m.columns, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(m.values, (std::vector<double>{1.5}));
}

TEST(MatrixMarket, APatternGetsValues) {
  const upper_matrix m =
      file_with("%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n1 3\n2 3\n").read();
  EXPECT_EQ(m.values, (std::vector<double>{0.25, 0.25, 0.5}));
}

TEST(MatrixMarket, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(file_with("hello\n").complaint(),
            ":1: not a MatrixMarket file: its first line has to begin with"
            " '%%MatrixMarket matrix'");
  EXPECT_EQ(file_with("").complaint().substr(0, 28), ":1: not a MatrixMarket file:");
  EXPECT_EQ(file_with("%%MatrixMarket matrix array real general\n").complaint(),
            ":1: only sparse ('coordinate') matrices can be solved");
  EXPECT_EQ(file_with("%%MatrixMarket matrix coordinate complex general\n").complaint(),
            ":1: values have to be real, integer or pattern, not 'complex'");
  EXPECT_EQ(file_with("%%MatrixMarket matrix coordinate real hermitian\n").complaint(),
            ":1: the matrix has to be general or symmetric, not 'hermitian'");
  EXPECT_EQ(file_with(general + "%\n").complaint(), ":2: the file ends before its size line");
  EXPECT_EQ(file_with(general + "2 3 1\n").complaint(),
            ":2: only square matrices can be solved, not 2 x 3");
  EXPECT_EQ(file_with(general + "0 0 0\n").complaint(),
            ":2: the number of rows has to be 1 to 2000000000");
  EXPECT_EQ(file_with(general + "2 -2 1\n").complaint(),
            ":2: expected the number of columns, found '-2'");
  EXPECT_EQ(file_with(general + "2 2 2\n1 1 1\n1 5 1\n").complaint(),
            ":4: rows and columns are 1 to 2, not 5");
  EXPECT_EQ(file_with(general + "2 2 1\n1 0 1\n").complaint(),
            ":3: rows and columns are 1 to 2, not 0");
  EXPECT_EQ(file_with(general + "2 2 1\n1 1 x\n").complaint(), ":3: expected a number, found 'x'");
  EXPECT_EQ(file_with(general + "2 2 1\n1 1\n").complaint(), ":3: expected a number, found ''");
  EXPECT_EQ(file_with(general + "2 2 1\n1 1 nan\n").complaint(), ":3: a value is not finite");
  EXPECT_EQ(file_with(general + "2 2 1\n1 1 1 1\n").complaint(), ":3: '1' is one word too many");
  EXPECT_EQ(file_with(general + "2 2 2\n1 1 1\n").complaint(),
            ":3: the file ends before the 2 entries that its size line says");
  EXPECT_EQ(file_with(general + "2 2 1\n1 1 1\n2 2 1\n").complaint(),
            ":4: there are more entries than the size line says");
  EXPECT_EQ(file_with(general + "2 2 2\n1 1 1\n1 2 1\n").complaint(),
            ": row 2 has no diagonal entry: the triangle cannot be solved");
  EXPECT_EQ(
      file_with("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n").complaint(),
      ":3: a symmetric matrix stores its lower triangle only");
  EXPECT_THROW((void)matrix_market_reader("/nonexistent.mtx"), bad_matrix);
}

TEST(Schedule, RowsComeAfterWhatTheyNeed) {
  for (const matrix_shape& shape : shapes) {
    const upper_matrix m = matrix_generator(shape, 20, 7).make();
    const level_schedule s = make_schedule(m);
    ASSERT_EQ(s.levels(), 20u);
    ASSERT_EQ(m.rows(), 20 * shape.per_level);
    const double per_row = static_cast<double>(m.values.size()) / m.rows();
    EXPECT_NEAR(per_row, shape.per_row, 0.25 * shape.per_row) << shape.name;

    std::vector<std::uint32_t> level_of(m.rows());
    for (std::uint32_t l = 0; l < s.levels(); ++l)
      for (std::uint32_t i = s.level_start[l]; i < s.level_start[l + 1]; ++i)
        level_of[s.order[i]] = l;
    for (std::uint32_t row = 0; row < m.rows(); ++row)
      for (std::uint64_t i = m.row_start[row]; i < m.row_start[row + 1]; ++i)
        ASSERT_LT(level_of[m.columns[i]], level_of[row]);
  }
}

TEST(Generator, DependsOnItsSeedAlone) {
  const auto values = [](std::uint64_t seed) {
    return matrix_generator(shapes[0], 10, seed).make().values;
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
}

TEST(Solver, ARightSolutionPasses) {
  backward_solve solver(matrix_generator(shapes[0], 30, 1).make(), 2, 1);
  const std::uint64_t rows = solver.matrix().rows();
  std::uint64_t meetings = 0;
  EXPECT_EQ(solver.work(0, 1, [&] { ++meetings; }), 2 * rows);
  EXPECT_EQ(meetings, 60u);
  EXPECT_LE(solver.residual(), backward_solve::most_residual);
  EXPECT_GT(solver.residual(), 0);
}

TEST(Solver, ThreadsThatDoNotMeetAreSeen) {
  backward_solve solver(matrix_generator(shapes[0], 30, 1).make(), 1, 1);
  const std::uint64_t second = solver.work(1, 2, [] {}), first = solver.work(0, 2, [] {});
  EXPECT_EQ(first + second, solver.matrix().rows());
  EXPECT_TRUE(std::isnan(solver.residual()));
}

TEST(Solver, AnUnsolvedRowIsSeen) {
  backward_solve solver(matrix_generator(shapes[0], 30, 1).make(), 2, 1);
  EXPECT_TRUE(std::isnan(solver.residual()));
}

}  // namespace
