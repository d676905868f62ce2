// nufft.cpp -- the adjoint of a 3-D non-uniform FFT: samples anywhere in frequency space are spread
// over the points of a uniform grid.
//
// Source      Yoo et al., SC 2013, section 5.1 and table 2 (nufft): the adjoint operator reduces
//             unevenly spaced spectral indices onto a uniform grid, under an array of locks.
//             Written anew from that description and the textbook method (gridding with a
//             Kaiser-Bessel window; Jackson et al., IEEE Trans. Med. Imaging 10(3), 1991).
// An item     one sample: its value times the window goes to width^3 points. Its parts are the
//             width planes of the grid that it reaches; a lock of the array protects a plane.
// Deviations  The convolution alone is run and timed: the FFT that follows it needs no locks. The
//             samples lie on radial lines, dense at the center, or anywhere (--trajectory).
// Check       The grid of one thread, to 1e-9 of its largest value: sums of floating-point numbers
//             depend on the order of threads.
#include "variants.h"

#include <cmath>
#include <complex>
#include <numbers>
#include <span>

namespace {
using namespace workloads;
using namespace workloads::hpc;

constexpr unsigned width = 4;  // of the window, in points of the grid
static_assert(width <= lockset_sections::most_parts);
using value = std::complex<double>;

struct sample {
  std::array<double, 3> at;  // each in [0, points of the grid on a side)
  value weight;
};

double fraction(random_numbers& random) {
  return static_cast<double>(random.below(1u << 30)) / (1u << 30);
}

// Lines through the center, in all directions, or points anywhere.
std::vector<sample> make_samples(std::uint64_t count, std::uint64_t side, bool radial,
                                 std::uint64_t seed) {
  constexpr std::uint64_t of_line = 64;
  random_numbers random(seed, 0);
  std::vector<sample> result(count);
  std::array<double, 3> direction{};
  const double middle = static_cast<double>(side) / 2;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % of_line == 0) {
      const double up = 2 * fraction(random) - 1, turn = 2 * std::numbers::pi * fraction(random);
      const double flat = std::sqrt(1 - up * up);
      direction = {flat * std::cos(turn), flat * std::sin(turn), up};
    }
    const double radius = middle * (2 * static_cast<double>(i % of_line) / of_line - 1);
    for (unsigned d = 0; d < 3; ++d)
      result[i].at[d] = radial ? middle + 0.99 * radius * direction[d]
                               : static_cast<double>(side) * fraction(random);
    result[i].weight = {fraction(random) - 0.5, fraction(random) - 0.5};
  }
  return result;
}

// The Kaiser-Bessel window, as a table over the distance from its middle.
class window {
 public:
  window() {
    constexpr double shape = 2.34 * width;  // for a grid of twice the image's side
    for (unsigned i = 0; i <= steps; ++i) {
      const double x = static_cast<double>(i) / steps;
      table_[i] = std::cyl_bessel_i(0.0, shape * std::sqrt(1 - x * x)) / width;
    }
  }
  // Requires: |distance| <= width / 2, in points.
  double operator()(double distance) const {
    return table_[static_cast<unsigned>(std::abs(distance) * (2.0 * steps / width))];
  }

 private:
  static constexpr unsigned steps = 512;
  std::array<double, steps + 1> table_;
};

// What a sample reaches in one dimension.
struct reach {
  std::array<std::uint32_t, width> index;
  std::array<double, width> factor;
};

class grid {
 public:
  explicit grid(std::uint64_t side)
      : side_(side), row_(side + 4), plane_(row_ * side + 20), points_(plane_ * side) {}

  [[nodiscard]] reach reach_of(double at, const window& w) const {
    reach result;
    const double first = std::ceil(at - width / 2.0);
    for (unsigned i = 0; i < width; ++i) {
      const double point = first + i;
      result.factor[i] = w(point - at);
      const auto wrapped = static_cast<std::int64_t>(point) + static_cast<std::int64_t>(side_);
      result.index[i] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(wrapped) % side_);
    }
    return result;
  }

  // Adds `amount` times the window to a plane.
  void add(std::uint32_t plane, const reach& y, const reach& z, value amount) {
    for (unsigned j = 0; j < width; ++j) {
      value* const row = &points_[plane * plane_ + y.index[j] * row_];
      const value of_row = amount * y.factor[j];
      for (unsigned k = 0; k < width; ++k) row[z.index[k]] += of_row * z.factor[k];
    }
  }

  [[nodiscard]] bool nearly_equals(const grid& other) const {
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      largest = std::max(largest, std::abs(other.points_[i]));
      error = std::max(error, std::abs(points_[i] - other.points_[i]));
    }
    return error <= 1e-9 * largest;
  }

 private:
  std::uint64_t side_;
  // Points in memory. With padding: where these were powers of two, all rows of a sample would fall
  // into the same few sets of a cache, and exceed what a transaction can hold.
  std::uint64_t row_, plane_;
  std::vector<value> points_;
};

// The published program's: a lock for each plane in turn.
struct plane_locks {
  using lock = std::mutex;
  template <class Parts, class LockOf, class Update>
  static void each(const Parts& parts, LockOf lock_of, Update update) {
    for (const auto& part : parts) {
      const std::lock_guard hold(lock_of(part));
      update(part);
    }
  }
};

template <class Lock>
struct alignas(64) padded {
  Lock lock;
};

struct convolution {
  const options& o;
  const std::vector<sample>& samples;
  const window& weights;
  std::uint64_t side;
  grid sums{side};

  template <class Sections, class Locks>
  void add_sample(const sample& s, Locks& locks) {
    const reach x = sums.reach_of(s.at[0], weights), y = sums.reach_of(s.at[1], weights),
                z = sums.reach_of(s.at[2], weights);
    Sections::each(
        index_range{0, width}, [&](unsigned i) -> auto& { return locks[x.index[i]].lock; },
        [&](unsigned i) { sums.add(x.index[i], y, z, s.weight * x.factor[i]); });
  }

  template <class Sections, class Batch>
  outcome run(Batch batch) {
    const auto threads = static_cast<std::uint32_t>(o.number("threads", 1));
    std::vector<padded<typename Sections::lock>> locks(side);
    return run_threads(o, [&](std::uint32_t me) {
      const std::span mine = share_of{me, threads}.of(samples);
      Batch each = batch;
      each(mine, [&](const sample& s) { add_sample<Sections>(s, locks); });
      return mine.size();
    });
  }

  // What all variants have to find.
  [[nodiscard]] grid alone() const {
    grid result(side);
    for (const sample& s : samples) {
      const reach x = result.reach_of(s.at[0], weights), y = result.reach_of(s.at[1], weights),
                  z = result.reach_of(s.at[2], weights);
      for (unsigned i = 0; i < width; ++i) result.add(x.index[i], y, z, s.weight * x.factor[i]);
    }
    return result;
  }
};
}  // namespace

int main(int argc, char** argv) {
  const sized sides{"side", "points on a side of the grid", {32, 128, 256}};
  const sized counts{"samples", "to spread", {20'000, 1'000'000, 4'000'000}};
  const options o(argc, argv, "Threads spread samples over a uniform grid (adjoint NUFFT).",
                  option_list(all_variants, {sides, counts},
                              {{"trajectory", "radial", "where samples lie: radial or random"}}));
  const auto run = find_runner<convolution, plane_locks, lockset_sections>(o);
  const std::string& trajectory = o.text("trajectory");
  const bool radial = trajectory == "radial";
  if (!radial && trajectory != "random") o.refuse("no trajectory is called '" + trajectory + "'");
  const std::uint64_t side = sides.of(o), count = counts.of(o);
  if (side < width) o.refuse("--side needs at least " + std::to_string(width));

  const std::vector<sample> samples = make_samples(count, side, radial, o.number("seed"));
  const window weights;
  convolution all{.o = o, .samples = samples, .weights = weights, .side = side};
  const outcome result = run(all);
  return report_variant("nufft", o, result, all.sums.nearly_equals(all.alone()),
                        member("trajectory", trajectory) + member("side", side));
}
