// kmeans.cpp -- Lloyd's clustering: short transactions that add a point to its cluster's sums.
//
// Source        STAMP (Cao Minh et al., IISWC 2008), after MineBench: each
//               iteration assigns all points to the nearest center; threads take points three at a
//               time from a shared counter; one transaction per point adds it to the new center.
//               Few clusters mean high contention.
// Deviations    Coordinates are multiples of 2^-12, so that sums are exact and do not depend on the
//               order of threads: the number of iterations is the same for all variants, which the
//               suite's is not. Input: random clusters, normalized, in place of the suite's files.
// Check         Memberships and centers of a sequential run, bit by bit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "program.h"
#include "transaction.h"

namespace {

using namespace workloads::stamp;
using std::size_t;
using std::uint32_t;
using std::uint64_t;

const parameters known{
    {"high-small", "low-small", "high-tiny", "low-tiny", "high-sim", "low-sim", "high-sim+",
     "low-sim+", "high-paper", "low-paper", "high-large", "low-large"},
    {{"clusters",
      "clusters to find (suite: -m and -n)",
      {"15", "40", "15", "40", "15", "40", "15", "40", "15", "40", "15", "40"}},
     {"threshold",
      "ends when a smaller part of the points moves (suite: -t)",
      {"0.001", "0.001", "0.05", "0.05", "0.05", "0.05", "0.05", "0.05", "0.00001", "0.00001",
       "0.00001", "0.00001"}},
     {"points",
      "number of points (suite: the file's -n)",
      {"65536", "16384", "128", "128", "2048", "2048", "16384", "16384", "65536", "65536", "262144",
       "262144"}},
     {"dimensions",
      "of a point (suite: the file's -d)",
      {"24", "24", "4", "4", "16", "16", "24", "24", "32", "32", "32", "32"}},
     {"centers",
      "around which the points lie (suite: the file's -c)",
      {"16", "16", "16", "16", "16", "16", "16", "16", "16", "16", "16", "16"}}}};

constexpr int most_iterations = 500;  // the suite's

struct points {
  explicit points(const program& p)
      : count(p.number("points", 1)),
        dimensions(p.number("dimensions", 1)),
        at(count * dimensions) {
    auto random = p.random();
    const auto unit = [&] { return static_cast<double>(random.below(1 << 20)) / (1 << 20); };
    const size_t centers = p.number("centers", 1);
    std::vector<double> center(centers * dimensions);
    for (double& c : center) c = unit();
    for (size_t i = 0; i < count; ++i) {
      const size_t c = random.below(centers);
      for (size_t d = 0; d < dimensions; ++d)  // the sum of three is close to a normal distribution
        at[i * dimensions + d] =
            center[c * dimensions + d] + (unit() + unit() + unit() - 1.5) * 0.25;
    }
    for (size_t d = 0; d < dimensions; ++d) normalize(d);
  }

  const size_t count, dimensions;
  std::vector<double> at;

 private:
  // Mean 0 and deviation 1, rounded to multiples of 2^-12.
  void normalize(size_t d) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; ++i) sum += at[i * dimensions + d];
    const double mean = sum / static_cast<double>(count);
    for (size_t i = 0; i < count; ++i) squares += std::pow(at[i * dimensions + d] - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(count));
    for (size_t i = 0; i < count; ++i) {
      double& x = at[i * dimensions + d];
      x = std::round(4096 * (deviation > 0 ? (x - mean) / deviation : 0)) / 4096;
    }
  }
};

// One cluster's sums, on cache lines of its own as in the suite.
struct alignas(64) sums {
  shared<uint64_t> count = 0;
  shared<double>* at = nullptr;

  void add(const double* point, size_t dimensions) {
    count = count + 1;
    for (size_t d = 0; d < dimensions; ++d) at[d] = at[d] + point[d];
  }
};

class clustering {
 public:
  clustering(const points& all, size_t clusters, double threshold, uint64_t seed_index)
      : all_(all),
        clusters_(clusters),
        threshold_(threshold),
        centers(clusters * all.dimensions),
        members(all.count, clusters),
        sums_(clusters),
        padded_((all.dimensions + 15) / 8 * 8),
        memory_(clusters * padded_ + 8) {
    // Starting centers: points spread over the input.
    for (size_t c = 0; c < clusters; ++c)
      for (size_t d = 0; d < all.dimensions; ++d)
        centers[c * all.dimensions + d] =
            all.at[(seed_index + c * all.count / clusters) % all.count * all.dimensions + d];
    auto line = reinterpret_cast<std::uintptr_t>(memory_.data());
    line = (line + 63) / 64 * 64;
    for (size_t c = 0; c < clusters; ++c)
      sums_[c].at = reinterpret_cast<shared<double>*>(line) + c * padded_;
  }

  // One iteration's share of a thread.
  uint64_t assign() {
    constexpr uint64_t chunk = 3;  // the suite's
    uint64_t transactions = 1, moved = 0;
    for (;;) {
      uint64_t first = 0;
      TRANSACTION {
        first = next_;
        next_ = first + chunk;
      };
      ++transactions;
      if (first >= all_.count) break;
      for (uint64_t i = first; i < std::min(first + chunk, all_.count); ++i, ++transactions) {
        const size_t c = nearest(i);
        if (members[i] != c) ++moved;
        members[i] = c;
        sums& to = sums_[c];
        const double* const point = &all_.at[i * all_.dimensions];
        const size_t dimensions = all_.dimensions;
        TRANSACTION { to.add(point, dimensions); };
      }
    }
    TRANSACTION { moved_ = moved_ + moved; };
    return transactions;
  }

  // Ends an iteration; by one thread. Returns whether another one is needed.
  bool step() {
    const size_t dimensions = all_.dimensions;
    for (size_t c = 0; c < clusters_; ++c) {
      for (size_t d = 0; d < dimensions; ++d) {
        if (sums_[c].count > 0)
          centers[c * dimensions + d] = sums_[c].at[d] / static_cast<double>(sums_[c].count);
        sums_[c].at[d] = 0;
      }
      sums_[c].count = 0;
    }
    ++iterations;
    const double part = static_cast<double>(moved_) / static_cast<double>(all_.count);
    moved_ = 0;
    next_ = 0;
    return part > threshold_ && iterations < most_iterations;
  }

 private:
  [[nodiscard]] size_t nearest(size_t point) const {
    size_t best = 0;
    double least = HUGE_VAL;
    for (size_t c = 0; c < clusters_; ++c) {
      double distance = 0;
      for (size_t d = 0; d < all_.dimensions; ++d) {
        const double by = all_.at[point * all_.dimensions + d] - centers[c * all_.dimensions + d];
        distance += by * by;
      }
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    return best;
  }

  const points& all_;
  const size_t clusters_;
  const double threshold_;

 public:
  std::vector<double> centers;
  std::vector<size_t> members;
  int iterations = 0;

 private:
  std::vector<sums> sums_;
  const size_t padded_;
  std::vector<double> memory_;
  alignas(64) shared<uint64_t> next_ = 0;
  alignas(64) shared<uint64_t> moved_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  program p(argc, argv, "kmeans",
            "Clusters points; each transaction adds a point to the sums of its cluster.", known);
  const points all(p);
  const size_t clusters = p.number("clusters", 1);
  const double threshold = p.real("threshold");
  const uint64_t seed_index = p.random(-2).below(all.count);
  clustering ours(all, clusters, threshold, seed_index);
  bool more = true;
  p.run([&](uint32_t thread) {
    uint64_t transactions = 0;
    while (more) {
      transactions += ours.assign();
      p.barrier();
      if (thread == 0) more = ours.step();
      p.barrier();
    }
    return transactions;
  });

  clustering reference(all, clusters, threshold, seed_index);
  do reference.assign();
  while (reference.step());
  if (p.inject_error()) ours.centers.back() += 1.0 / 4096;
  p.result("iterations", static_cast<uint64_t>(ours.iterations));
  return p.finish(ours.members == reference.members && ours.centers == reference.centers &&
                  ours.iterations == reference.iterations);
}
