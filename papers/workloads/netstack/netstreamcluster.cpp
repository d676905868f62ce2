// netstreamcluster.cpp -- a client streams points; the server clusters each block of them as it
// comes, and at the end the centers of all blocks.
//
// Follows netstreamcluster of PARSEC 3.0, which section 6 of tsx-hpc uses: k-median of a stream by
// local search. How we deviate: coordinates are whole numbers, so that sums do not depend on the
// order; blocks go to the connections in turn, and each thread clusters its own; the search swaps
// one center at a time (the PAM algorithm of Kaufman & Rousseeuw) for candidates that a seed picks.
#include <algorithm>
#include <limits>
#include <string>

#include "harness.h"

namespace {

using byte_vector = std::vector<std::uint8_t>;

struct amount {
  std::size_t points, dimensions, block, candidates;
};
const workloads::sized point_counts{
    "points", "of the stream", {512, 2048, 16384, 65536, 1'000'000}};
const workloads::sized dimension_counts{"dimensions", "of a point", {8, 32, 32, 128, 128}};
const workloads::sized block_sizes{
    "block", "points that are clustered at once", {128, 256, 1024, 4096, 20'000}};
const workloads::sized candidate_counts{
    "candidates", "centers that are tried in a block", {8, 4, 24, 40, 40}};
constexpr std::size_t centers = 10;

// Points of so many dimensions, one after another, and how many points each stands for.
struct point_set {
  std::size_t dimensions;
  std::vector<std::int32_t> coordinates;
  std::vector<std::int64_t> weights;

  [[nodiscard]] std::size_t size() const { return weights.size(); }
  [[nodiscard]] const std::int32_t* at(std::size_t i) const { return &coordinates[i * dimensions]; }
  void add(const std::int32_t* point, std::int64_t weight) {
    coordinates.insert(coordinates.end(), point, point + dimensions);
    weights.push_back(weight);
  }
};

std::int64_t distance(const std::int32_t* a, const std::int32_t* b, std::size_t dimensions) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::int64_t apart = a[i] - b[i];
    sum += apart * apart;
  }
  return sum;
}

class k_median {
 public:
  k_median(const point_set& points, std::uint64_t seed)
      : points_(points), random_(seed, points.size()) {
    for (std::size_t i = 0; i < std::min(centers, points.size()); ++i)
      chosen_.push_back(i * points.size() / std::min(centers, points.size()));
    assign();
  }

  // Tries so many points in the place of each center; keeps what is cheaper.
  void search(std::size_t candidates) {
    for (std::size_t i = 0; i < candidates; ++i) {
      const std::size_t candidate = random_.below(points_.size());
      const std::vector<std::int64_t> costs = costs_with(candidate);
      const auto least = std::ranges::min_element(costs);
      if (*least >= cost_) continue;
      chosen_[static_cast<std::size_t>(least - costs.begin())] = candidate;
      assign();
    }
  }
  // The centers, each with the weight of its points.
  [[nodiscard]] point_set result() const {
    std::vector<std::int64_t> weights(chosen_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) weights[own_[i]] += points_.weights[i];
    point_set found{points_.dimensions, {}, {}};
    for (std::size_t c = 0; c < chosen_.size(); ++c) found.add(points_.at(chosen_[c]), weights[c]);
    return found;
  }

 private:
  [[nodiscard]] std::int64_t between(std::size_t a, std::size_t b) const {
    return distance(points_.at(a), points_.at(b), points_.dimensions);
  }
  // Finds each point's center, and how far the next one is.
  void assign() {
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
    nearest_.assign(points_.size(), far);
    second_.assign(points_.size(), far);
    own_.assign(points_.size(), 0);
    cost_ = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      for (std::size_t c = 0; c < chosen_.size(); ++c) {
        const std::int64_t d = between(i, chosen_[c]);
        second_[i] = std::min(second_[i], std::max(d, nearest_[i]));
        if (d >= nearest_[i]) continue;
        nearest_[i] = d;
        own_[i] = c;
      }
      cost_ += points_.weights[i] * nearest_[i];
    }
  }
  // What it would cost with the candidate in the place of each center.
  [[nodiscard]] std::vector<std::int64_t> costs_with(std::size_t candidate) const {
    std::int64_t kept = 0;  // by points whose center stays
    std::vector<std::int64_t> more(chosen_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const std::int64_t d = between(i, candidate), weight = points_.weights[i];
      kept += weight * std::min(d, nearest_[i]);
      more[own_[i]] += weight * (std::min(d, second_[i]) - std::min(d, nearest_[i]));
    }
    for (std::int64_t& each : more) each += kept;
    return more;
  }

  const point_set& points_;
  workloads::random_numbers random_;
  std::vector<std::size_t> chosen_, own_;
  std::vector<std::int64_t> nearest_, second_;
  std::int64_t cost_ = 0;
};

point_set cluster(const point_set& points, std::uint64_t seed, std::size_t candidates) {
  k_median search(points, seed);
  search.search(candidates);
  return search.result();
}

class netstreamcluster final : public net::network_program {
 public:
  explicit netstreamcluster(const workloads::options& o)
      : seed_(o.number("seed")),
        connections_(o.number("threads", 1)),
        size_{point_counts.of(o), dimension_counts.of(o), block_sizes.of(o),
              candidate_counts.of(o)},
        blocks_(size_.points / size_.block),
        block_centers_(blocks_),
        result_{size_.dimensions, {}, {}} {}

  void send(std::size_t connection, net::socket& to) override {
    for (std::size_t b = connection; b < blocks_; b += connections_)
      to.send(net::as_bytes(make_block(b).coordinates));
  }
  void read(std::size_t connection, net::peer& from) override {
    for (std::size_t b = connection; b < blocks_; b += connections_) {
      point_set block{size_.dimensions, {}, std::vector<std::int64_t>(size_.block, 1)};
      block.coordinates.resize(size_.block * size_.dimensions);
      from.read({reinterpret_cast<std::uint8_t*>(block.coordinates.data()),
                 block.coordinates.size() * sizeof(std::int32_t)});
      block_centers_[b] = cluster(block, seed_, size_.candidates);
    }
  }
  void compute(std::size_t) override { result_ = cluster_centers(block_centers_); }
  byte_vector answer(std::size_t) override { return bytes_of(result_); }
  bool check(const std::vector<byte_vector>& answers) override {
    std::vector<point_set> found;
    for (std::size_t b = 0; b < blocks_; ++b)
      found.push_back(cluster(make_block(b), seed_, size_.candidates));
    const byte_vector expected = bytes_of(cluster_centers(found));
    return std::ranges::all_of(answers, [&](const byte_vector& a) { return a == expected; });
  }
  std::string results() override {
    return workloads::member("points", blocks_ * size_.block) +
           workloads::member("centers", result_.size());
  }

 private:
  // Points around a few places that all blocks have in common.
  [[nodiscard]] point_set make_block(std::size_t number) const {
    workloads::random_numbers random(seed_, number);
    point_set result{size_.dimensions, {}, std::vector<std::int64_t>(size_.block, 1)};
    for (std::size_t i = 0; i < size_.block; ++i) {
      workloads::random_numbers place(seed_, 1'000'000 + random.below(centers));
      for (std::size_t d = 0; d < size_.dimensions; ++d)
        result.coordinates.push_back(
            static_cast<std::int32_t>(place.below(100'000) + random.below(20'000)));
    }
    return result;
  }
  [[nodiscard]] point_set cluster_centers(const std::vector<point_set>& of_blocks) const {
    point_set all{size_.dimensions, {}, {}};
    for (const point_set& block : of_blocks)
      for (std::size_t i = 0; i < block.size(); ++i) all.add(block.at(i), block.weights[i]);
    return cluster(all, seed_, 4 * size_.candidates);
  }
  static byte_vector bytes_of(const point_set& points) {
    const net::bytes coordinates = net::as_bytes(points.coordinates);
    byte_vector result(coordinates.begin(), coordinates.end());
    for (const std::int64_t weight : points.weights) net::append(result, weight);
    return result;
  }

  const std::uint64_t seed_;
  const std::size_t connections_;
  const amount size_;
  const std::size_t blocks_;
  std::vector<point_set> block_centers_;
  point_set result_;
};

}  // namespace

int main(int argc, char** argv) {
  const workloads::options o(
      argc, argv,
      "Client and server over a user-level TCP/IP stack: k-median clustering of a stream of\n"
      "points. Operations are bytes that the server has read, seconds the time that reading took.",
      net::network_options({point_counts, dimension_counts, block_sizes, candidate_counts}));
  if (point_counts.of(o) < block_sizes.of(o)) o.refuse("--points is at least --block");
  netstreamcluster program(o);
  return net::run_network_program("netstreamcluster", o, program);
}
