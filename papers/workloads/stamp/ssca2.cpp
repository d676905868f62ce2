// ssca2.cpp -- builds a large directed multigraph's adjacency arrays: many tiny transactions on
// data that is almost never shared.
//
// Source        kernel 1 of the SSCA#2 graph benchmark, as in STAMP (Cao Minh et al., IISWC 2008):
//               vertices in cliques of random sizes, more edges between cliques the nearer they
//               are, parallel edges. Transactions append to a vertex' incoming edges, and add each
//               thread's counts to global ones.
// Deviations    Ours generates edges sorted by where they start, ahead of the timed region, which
//               is kernel 1 alone. No weights of text: kernel 1 only carries them.
// Check         Both directions against arrays that one thread builds, element by element.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "program.h"
#include "transaction.h"

namespace {

using namespace workloads::stamp;
using std::uint32_t;
using std::uint64_t;

const parameters known{
    {"small", "tiny", "sim", "sim+", "paper", "large"},
    {{"scale", "log2 of the number of vertices (suite: -s)", {"17", "7", "13", "14", "20", "21"}},
     {"inter",
      "probability of edges between cliques (suite: -i)",
      {"1.0", "1.0", "1.0", "1.0", "1.0", "1.0"}},
     {"unidirectional",
      "probability that an edge has no way back (suite: -u)",
      {"1.0", "1.0", "1.0", "1.0", "1.0", "1.0"}},
     {"parallel",
      "most parallel edges of two vertices (suite: -p)",
      {"3", "3", "3", "9", "3", "3"}}}};

struct edge {
  uint32_t from, to;
};

class generator {
 public:
  generator(const program& p, uint32_t scale)
      : vertices_(uint32_t{1} << scale),
        inter_(p.real("inter")),
        both_(1 - p.real("unidirectional")),
        parallel_(p.number("parallel", 1)),
        random_(p.random()) {
    const uint64_t largest = uint64_t{1} << std::max<uint32_t>(1, scale / 3);
    for (uint32_t next = 0; next < vertices_;) {
      cliques_.push_back(next);
      next += static_cast<uint32_t>(1 + random_.below(largest));
    }
    cliques_.push_back(vertices_);
  }

  std::vector<edge> edges() {
    for (std::size_t c = 0; c + 1 < cliques_.size(); ++c) {
      const uint32_t first = cliques_[c], last = std::min(cliques_[c + 1], vertices_);
      for (uint32_t a = first; a < last; ++a)
        for (uint32_t b = a + 1; b < last; ++b) connect(a, b);
      join_neighbors(first, last);
    }
    // The numbers of vertices say nothing about cliques.
    std::vector<uint32_t> name(vertices_);
    for (uint32_t v = 0; v < vertices_; ++v) name[v] = v;
    for (uint32_t v = vertices_; v > 1; --v) std::swap(name[v - 1], name[random_.below(v)]);
    for (edge& e : result_) e = {name[e.from], name[e.to]};
    std::sort(result_.begin(), result_.end(), [](const edge& a, const edge& b) {
      return a.from != b.from ? a.from < b.from : a.to < b.to;
    });
    return std::move(result_);
  }

 private:
  bool chance(double p) { return static_cast<double>(random_.below(1 << 24)) < p * (1 << 24); }
  void connect(uint32_t a, uint32_t b) {
    if (random_.below(2) == 0) std::swap(a, b);
    for (uint64_t n = 1 + random_.below(parallel_); n > 0; --n) result_.push_back({a, b});
    if (chance(both_)) result_.push_back({b, a});
  }
  // One edge to a vertex at distance 1, 2, 4, ..., with a probability that halves each time.
  void join_neighbors(uint32_t first, uint32_t last) {
    double p = inter_;
    for (uint32_t distance = 1; distance < vertices_; distance *= 2, p /= 2) {
      const auto a = static_cast<uint32_t>(first + random_.below(last - first));
      const uint32_t b = (last - 1 + distance) % vertices_;
      if ((b < first || b >= last) && chance(p)) connect(a, b);
    }
  }

  const uint32_t vertices_;
  const double inter_, both_;
  const uint64_t parallel_;
  workloads::random_numbers random_;
  std::vector<uint32_t> cliques_;
  std::vector<edge> result_;
};

// A vertex' incoming edges while they are found: most have few.
struct incoming {
  static constexpr uint32_t few = 8;
  shared<uint32_t> count = 0;
  shared<uint32_t> first[few];
  shared<shared<uint32_t>*> more = nullptr;  // those from the ninth on; grows by doubling

  void add(uint32_t from) {
    const uint32_t n = count;
    if (n < few) {
      first[n] = from;
    } else {
      const uint32_t beyond = n - few;
      if (beyond == 0) more = new_array<shared<uint32_t>>(few);
      else if (beyond >= few && (beyond & (beyond - 1)) == 0) grow(beyond);
      more[beyond] = from;
    }
    count = n + 1;
  }
  [[nodiscard]] uint32_t get(uint32_t i) const { return i < few ? first[i] : more[i - few]; }

 private:
  void grow(uint32_t size) {
    shared<uint32_t>* const larger = new_array<shared<uint32_t>>(2 * size);
    for (uint32_t i = 0; i < size; ++i) larger[i] = more[i];
    delete_array(more);
    more = larger;
  }
};

// Where a vertex' edges lie in `ends`: from offsets[v] to offsets[v + 1].
struct adjacency {
  std::vector<uint64_t> offsets;
  std::vector<uint32_t> ends;
  bool operator==(const adjacency&) const = default;
};

class graph {
 public:
  graph(program& p, const std::vector<edge>& edges, uint32_t vertices)
      : p_(p), edges_(edges), vertices_(vertices), found_(vertices), sums_(p.threads() + 1) {
    for (adjacency* a : {&out, &in}) {
      a->offsets.resize(vertices_ + 1);
      a->ends.resize(edges_.size());
    }
  }
  ~graph() {
    for (const incoming& i : found_) delete_array(i.more);
  }

  uint64_t build(uint32_t thread) {
    const auto mine = p_.part(thread, vertices_);
    const auto begin = start_of(mine.first), end = start_of(mine.last);
    uint64_t transactions = 0;
    for (uint64_t e = begin; e < end; ++e) {
      const edge it = edges_[e];
      ++out.offsets[it.from + 1];  // ours: edges are sorted
      out.ends[e] = it.to;
      TRANSACTION { found_[it.to].add(it.from); };
    }
    transactions += end - begin;
    p_.barrier();

    uint64_t edges_in = 0, largest = 0;
    for (uint64_t v = mine.first; v < mine.last; ++v) {
      edges_in += found_[v].count;
      largest = std::max<uint64_t>(largest, found_[v].count);
    }
    TRANSACTION {
      total = total + edges_in;
      if (largest > max_in) max_in = largest;
    };
    sums_[thread + 1] = edges_in;
    p_.barrier();

    uint64_t to = 0;
    for (uint32_t t = 0; t <= thread; ++t) to += sums_[t];
    uint64_t from = begin;
    for (uint64_t v = mine.first; v < mine.last; ++v) {
      from += out.offsets[v + 1];
      for (uint32_t i = 0; i < found_[v].count; ++i) in.ends[to + i] = found_[v].get(i);
      std::sort(&in.ends[to], &in.ends[to] + found_[v].count);
      to += found_[v].count;
      in.offsets[v + 1] = to;
      out.offsets[v + 1] = from;
    }
    return transactions + 1;
  }

  adjacency out, in;
  shared<uint64_t> total = 0, max_in = 0;

 private:
  [[nodiscard]] uint64_t start_of(uint64_t vertex) const {
    const auto at = std::lower_bound(edges_.begin(), edges_.end(), vertex,
                                     [](const edge& e, uint64_t v) { return e.from < v; });
    return static_cast<uint64_t>(at - edges_.begin());
  }

  program& p_;
  const std::vector<edge>& edges_;
  const uint32_t vertices_;
  std::vector<incoming> found_;
  std::vector<uint64_t> sums_;
};

// The same by one thread: each edge seen from its start, or from its end.
adjacency reference(std::vector<edge> edges, uint32_t vertices, bool reversed) {
  if (reversed)
    for (edge& e : edges) std::swap(e.from, e.to);
  std::sort(edges.begin(), edges.end(), [](const edge& a, const edge& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  adjacency result;
  result.offsets.resize(vertices + 1);
  for (const edge& e : edges) {
    ++result.offsets[e.from + 1];
    result.ends.push_back(e.to);
  }
  for (uint32_t v = 0; v < vertices; ++v) result.offsets[v + 1] += result.offsets[v];
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  program p(argc, argv, "ssca2",
            "Builds the adjacency arrays of a large multigraph; each transaction adds one edge.",
            known);
  const uint64_t scale = p.number("scale", 1);
  if (scale > 30) p.refuse("--scale is at most 30");
  if (p.real("inter") > 1 || p.real("unidirectional") > 1) p.refuse("a probability is at most 1");
  const auto vertices = uint32_t{1} << scale;
  const std::vector<edge> edges = generator(p, static_cast<uint32_t>(scale)).edges();
  graph built(p, edges, vertices);
  p.run([&](uint32_t thread) { return built.build(thread); });

  if (p.inject_error()) ++built.in.ends[built.in.ends.size() / 2];
  const adjacency in = reference(edges, vertices, true);
  const bool good = built.total == edges.size() && built.in == in &&
                    built.out == reference(edges, vertices, false);
  p.result("vertices", vertices);
  p.result("edges", edges.size());
  p.result("most_incoming", built.max_in);
  return p.finish(good);
}
