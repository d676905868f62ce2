// netferret.cpp -- a client asks for what is most similar to each of many pictures' features; the
// server ranks the entries of its table.
//
// Follows netferret of PARSEC 3.0, which section 6 of tsx-hpc uses: many small packets. How we
// deviate: features are made by a seed instead of out of pictures, distances are whole numbers, the
// table is searched in full instead of by a hash; the paper runs the input stage before the others,
// and so do we.
#include <algorithm>
#include <array>
#include <string>

#include "harness.h"

namespace {

using byte_vector = std::vector<std::uint8_t>;

constexpr std::size_t features = 14, best = 10;
const workloads::sized query_counts{
    "queries", "of all connections", {300, 4000, 20'000, 3500, 100'000}};
const workloads::sized entry_counts{
    "entries", "of the table, at least 10", {64, 64, 512, 59'695, 59'695}};

using feature_vector = std::array<std::int16_t, features>;

struct query {
  std::uint32_t number;
  feature_vector what;
};

// An entry, and how far it is from what was asked.
struct match {
  std::uint32_t distance, entry;
  auto operator<=>(const match&) const = default;
};
using ranking = std::array<match, best>;

feature_vector make_features(workloads::random_numbers& random) {
  feature_vector result;
  for (std::int16_t& each : result) each = static_cast<std::int16_t>(random.below(2000));
  return result;
}

std::vector<feature_vector> make_table(std::uint64_t seed, std::size_t entries) {
  workloads::random_numbers random(seed, 1'000'000);
  std::vector<feature_vector> result;
  for (std::size_t i = 0; i < entries; ++i) result.push_back(make_features(random));
  return result;
}

std::uint32_t distance(const feature_vector& a, const feature_vector& b) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < features; ++i) {
    const int apart = a[i] - b[i];
    sum += static_cast<std::uint32_t>(apart * apart);
  }
  return sum;
}

ranking search(const std::vector<feature_vector>& table, const feature_vector& what) {
  std::vector<match> all;
  for (std::uint32_t i = 0; i < table.size(); ++i) all.push_back({distance(table[i], what), i});
  ranking result;
  std::partial_sort_copy(all.begin(), all.end(), result.begin(), result.end());
  return result;
}

class netferret final : public net::network_program {
 public:
  explicit netferret(const workloads::options& o)
      : seed_(o.number("seed")),
        asked_(o.number("threads", 1)),
        found_(asked_.size()),
        queries_(query_counts.of(o) / asked_.size() + 1),
        table_(make_table(seed_, entry_counts.of(o))) {}

  // Each query is a call of its own, and so a packet of its own.
  void send(std::size_t connection, net::socket& to) override {
    workloads::random_numbers random(seed_, connection);
    to.send(net::as_bytes(std::vector<std::uint64_t>{queries_}));
    for (std::uint32_t i = 0; i < queries_; ++i)
      to.send(net::as_bytes(std::vector<query>{{i, make_features(random)}}));
  }
  void read(std::size_t connection, net::peer& from) override {
    std::vector<query> queries(from.read_number<std::uint64_t>());
    for (query& each : queries) each = from.read_number<query>();
    asked_[connection] = std::move(queries);
  }
  void compute(std::size_t threads) override {
    net::in_parallel(threads, [&](std::size_t i) { found_[i] = rank(asked_[i]); });
  }
  byte_vector answer(std::size_t connection) override {
    const net::bytes all = net::as_bytes(found_[connection]);
    return {all.begin(), all.end()};
  }
  bool check(const std::vector<byte_vector>& answers) override {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      workloads::random_numbers random(seed_, i);
      std::vector<query> queries(queries_);
      for (query& each : queries) each.what = make_features(random);
      const std::vector<ranking> expected = rank(queries);
      if (!std::ranges::equal(net::as_bytes(expected), answers[i])) return false;
    }
    return true;
  }
  std::string results() override {
    return workloads::member("queries", queries_ * asked_.size()) +
           workloads::member("entries", table_.size());
  }

 private:
  std::vector<ranking> rank(const std::vector<query>& queries) const {
    std::vector<ranking> result;
    for (const query& each : queries) result.push_back(search(table_, each.what));
    return result;
  }

  const std::uint64_t seed_;
  std::vector<std::vector<query>> asked_;
  std::vector<std::vector<ranking>> found_;
  const std::size_t queries_;  // of each connection
  const std::vector<feature_vector> table_;
};

}  // namespace

int main(int argc, char** argv) {
  const workloads::options o(
      argc, argv,
      "Client and server over a user-level TCP/IP stack: similarity search with many small\n"
      "packets. Operations are bytes that the server has read, seconds the time that reading\n"
      "took.",
      net::network_options({query_counts, entry_counts}));
  if (entry_counts.of(o) < best) o.refuse("--entries needs at least " + std::to_string(best));
  netferret program(o);
  return net::run_network_program("netferret", o, program);
}
