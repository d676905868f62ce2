// graph_cluster.cpp -- partitions a graph into clusters so that light edges are cut.
//
// Source      Yoo et al., SC 2013, section 5.1, listing 1 and table 2 (graphCluster), after kernel
//             4 of SSCA2 (Bader & Madduri, HiPC 2005): vertices are observed in parallel and, by
//             what their neighbors are in, join or leave clusters; per-vertex locks protect the
//             status of vertices. Written anew from those descriptions.
// An item     one vertex that moves to another cluster. First it changes the sizes of both, which
//             their first vertices hold: two locks. Then it tells its neighbors, whose parts are
//             the statuses of these, one lock each, tried first and then waited for (listing 1).
// Deviations  Rounds with barriers, in which every other vertex may move, so that the result does
//             not depend on the order of threads. A cluster that is full when a round begins takes
//             nobody; those that join in the same round may overfill it.
// Check       The clusters of a sequential run, exactly; each status is what its neighbors give.
#include "graph.h"
#include "variants.h"

namespace {
using namespace workloads;
using namespace workloads::hpc;

// The published program's locks: listing 1, and two in order.
struct tried_mutexes {
  using lock = std::mutex;
  template <class Parts, class LockOf, class Update>
  static void each(const Parts& parts, LockOf lock_of, Update update) {
    for (const auto& part : parts) {
      const auto act = [&] { update(part); };
      elide::try_then_block(lock_of(part), act, act);
    }
  }
  template <class Update>
  static void both(lock& first, lock& second, Update update) {
    const std::lock_guard hold_first(first);
    const std::lock_guard hold_second(second);
    update();
  }
};

// The check and the wait of listing 1 are one transaction, and so are two locks.
struct tried_locksets : lockset_sections {
  template <class Parts, class LockOf, class Update>
  static void each(const Parts& parts, LockOf lock_of, Update update) {
    for (const auto& part : parts) {
      const auto act = [&] { update(part); };
      elide::try_then_block(lock_of(part), act, act);
    }
  }
};

constexpr std::uint32_t never = ~0u;

// What the lock of a vertex protects. Vertices do not share lines.
template <class Lock>
struct alignas(64) status {
  Lock lock;
  std::uint32_t cluster = 0;       // its first vertex's number
  std::uint32_t moved_in = never;  // the last round in which it has moved
  std::uint64_t inside = 0;        // weight of its edges within the cluster
  std::uint64_t members = 1;       // of the cluster that begins here
};

struct move {
  std::uint32_t vertex, from, to;
};

template <class Sections>
class clustering {
 public:
  clustering(const graph& g, std::uint64_t limit) : graph_(g), limit_(limit), all_(g.size()) {
    for (std::uint32_t v = 0; v < all_.size(); ++v) all_[v].cluster = v;
  }

  // The moves of those of `mine` whose turn it is. Writes nothing.
  template <class Indices>
  void observe(const Indices& mine, std::uint32_t round, std::vector<move>& result) const {
    result.clear();
    for (const std::uint32_t v : mine) {
      if ((v + round) % 2 != 0) continue;
      const std::uint32_t to = best_cluster(v);
      if (to != all_[v].cluster) result.push_back({v, all_[v].cluster, to});
    }
  }

  // Takes the vertex out of the one cluster and into the other.
  void go(const move& m, std::uint32_t round) {
    const auto [first, second] = std::minmax(m.from, m.to);
    Sections::both(all_[first].lock, all_[second].lock, [&] {
      --all_[m.from].members;
      ++all_[m.to].members;
    });
    all_[m.vertex].cluster = m.to;
    all_[m.vertex].moved_in = round;
  }

  // Brings the statuses up to date. Requires: all of the round have gone.
  void tell(const move& m, std::uint32_t round) {
    const auto near = graph_.around(m.vertex);
    const auto lock_of = [&](const neighbor& n) -> auto& { return all_[n.vertex].lock; };
    Sections::each(near, lock_of, [&](const neighbor& n) {
      auto& other = all_[n.vertex];
      if (other.moved_in == round) return;  // counts for itself
      if (other.cluster == m.from) other.inside -= n.weight;
      else if (other.cluster == m.to) other.inside += n.weight;
    });
    all_[m.vertex].inside = weight_towards(m.vertex, m.to);
  }

  [[nodiscard]] std::vector<std::uint32_t> clusters() const {
    std::vector<std::uint32_t> result;
    for (const auto& each : all_) result.push_back(each.cluster);
    return result;
  }

  // The weight of the edges between clusters.
  [[nodiscard]] std::uint64_t cut() const {
    std::uint64_t twice = 2 * graph_.weight();
    for (const auto& each : all_) twice -= each.inside;
    return twice / 2;
  }

  [[nodiscard]] bool is_right() const {
    std::vector<std::uint64_t> members(all_.size());
    for (const auto& each : all_) ++members[each.cluster];
    for (std::uint32_t v = 0; v < all_.size(); ++v)
      if (all_[v].members != members[v] || all_[v].inside != weight_towards(v, all_[v].cluster))
        return false;
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t weight_towards(std::uint32_t vertex, std::uint32_t cluster) const {
    std::uint64_t sum = 0;
    for (const neighbor& n : graph_.around(vertex))
      if (all_[n.vertex].cluster == cluster) sum += n.weight;
    return sum;
  }

  // Where most of its weight is; its own if no other with room has more; else the first of equals.
  [[nodiscard]] std::uint32_t best_cluster(std::uint32_t vertex) const {
    std::uint32_t best = all_[vertex].cluster;
    std::uint64_t most = all_[vertex].inside;
    for (const neighbor& n : graph_.around(vertex)) {
      const std::uint32_t candidate = all_[n.vertex].cluster;
      if (candidate == best || all_[candidate].members >= limit_) continue;
      const std::uint64_t weight = weight_towards(vertex, candidate);
      if (weight > most) most = weight, best = candidate;
    }
    return best;
  }

  const graph& graph_;
  std::uint64_t limit_;
  std::vector<status<typename Sections::lock>> all_;
};

struct partition {
  const options& o;
  const graph& g;
  std::uint32_t rounds;
  std::uint64_t limit;
  std::vector<std::uint32_t> clusters{};
  std::uint64_t cut = 0;
  bool consistent = false;

  template <class Sections, class Batch>
  outcome run(Batch batch) {
    const auto threads = static_cast<std::uint32_t>(o.number("threads", 1));
    clustering<Sections> work(g, limit);
    barrier together(threads);
    outcome result = run_threads(o, [&](std::uint32_t me) {
      const auto mine = share_of{me, threads}.indices(g.size());
      std::vector<move> moves;
      Batch each = batch;
      std::uint64_t done = 0;
      for (std::uint32_t round = 0; round < rounds; ++round) {
        work.observe(mine, round, moves);
        together.arrive_and_wait();
        each(moves, [&](const move& m) { work.go(m, round); });
        together.arrive_and_wait();
        each(moves, [&](const move& m) { work.tell(m, round); });
        together.arrive_and_wait();
        done += moves.size();
      }
      return done;
    });
    clusters = work.clusters();
    cut = work.cut();
    consistent = work.is_right();
    return result;
  }

  // What all variants have to find.
  [[nodiscard]] std::vector<std::uint32_t> alone() const {
    clustering<no_sections> work(g, limit);
    std::vector<move> moves;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      work.observe(share_of{0, 1}.indices(g.size()), round, moves);
      for (const move& m : moves) work.go(m, round);
      for (const move& m : moves) work.tell(m, round);
    }
    return work.clusters();
  }
};
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"vertices", "of the graph", {20'000, 262'144, 2'097'152}};
  const sized round_counts{"rounds", "in each, half of the vertices may move", {8, 12, 16}};
  const options o(argc, argv, "Threads partition a graph into clusters (SSCA2, kernel 4).",
                  option_list(all_variants, {counts, round_counts},
                              {{"limit", "16", "vertices of a cluster that take no more"}}));
  const auto run = find_runner<partition, tried_mutexes, tried_locksets>(o);
  const std::uint64_t vertices = counts.of(o);
  if (vertices < 2 || vertices > 1u << 30) o.refuse("--vertices needs 2 to 1073741824");

  const graph g(vertices, o.number("seed"));
  partition all{.o = o,
                .g = g,
                .rounds = static_cast<std::uint32_t>(round_counts.of(o)),
                .limit = o.number("limit", 1)};
  const outcome result = run(all);
  return report_variant(
      "graph_cluster", o, result, all.consistent && all.clusters == all.alone(),
      member("vertices", vertices) + member("weight", g.weight()) + member("cut", all.cut));
}
