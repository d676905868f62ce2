// bayes.cpp -- learns the structure of a Bayesian network from records: long transactions on a
// graph, with many conflicts.
//
// Source        STAMP (Cao Minh et al., IISWC 2008), after Chickering et al.: hill
//               climbing. A list of tasks, best first, holds one edge to insert per variable; a
//               thread takes one, inserts the edge unless that closes a cycle, and looks for the
//               next best edge into that variable: reading the graph, in one transaction.
// Deviations    The suite counts records in a tree made for that; we intersect one row of bits per
//               variable. Both are constant, and not part of transactions. Only insertions are
//               tried.
// Check         The network has no cycle; parents and children agree; each variable's score is that
//               of its parents, and better than that of none.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "containers/heap.h"
#include "containers/list.h"
#include "containers/scratch.h"
#include "program.h"
#include "transaction.h"

namespace {

using namespace workloads::stamp;
using std::size_t;
using std::uint32_t;
using std::uint64_t;

const parameters known{
    {"small", "tiny", "sim", "sim+", "paper", "large"},
    {{"variables", "of the network (suite: -v)", {"48", "8", "32", "32", "32", "64"}},
     {"records", "to learn from (suite: -r)", {"4096", "256", "1024", "4096", "4096", "16384"}},
     {"parents",
      "most parents in the network that made the records (suite: -n)",
      {"10", "2", "2", "10", "10", "10"}},
     {"percent",
      "chance of each of these parents (suite: -p)",
      {"40", "40", "20", "40", "40", "40"}},
     {"penalty",
      "of an edge, in units of half the logarithm of the records (suite: -i)",
      {"2", "2", "2", "2", "2", "2"}},
     {"edges", "most parents to learn per variable (suite: -e)", {"8", "2", "2", "8", "8", "8"}}}};

constexpr size_t most_parents = 16;

// In ascending order, so that equal sets have equal scores to the last bit. Memory of one thread.
using parent_set = scratch<uint32_t>;

// What is learned from; constant once threads run.
class records {
 public:
  records(const program& p, size_t variables)
      : count_(p.number("records", 2)),
        words_((count_ + 63) / 64),
        bits_(variables * words_),
        edge_penalty_(0.5 * std::log(count_) * p.real("penalty")) {
    auto random = p.random();
    // A random network: parents have lower numbers, in a random renaming.
    std::vector<std::vector<size_t>> parents(variables);
    std::vector<std::vector<uint32_t>> chance(variables);
    std::vector<size_t> name(variables);
    for (size_t v = 0; v < variables; ++v) name[v] = v;
    for (size_t v = variables; v > 1; --v) std::swap(name[v - 1], name[random.below(v)]);
    const uint64_t percent = p.number("percent");
    const uint64_t most = std::min<uint64_t>(p.number("parents"), most_parents);
    for (size_t v = 1; v < variables; ++v) {
      for (uint64_t i = 0; i < most; ++i) {
        const size_t parent = random.below(v);
        auto& mine = parents[v];
        if (random.below(100) < percent &&
            std::find(mine.begin(), mine.end(), parent) == mine.end())
          mine.push_back(parent);
      }
    }
    for (size_t v = 0; v < variables; ++v)
      for (size_t i = 0; i < size_t{1} << parents[v].size(); ++i)
        chance[v].push_back(static_cast<uint32_t>(random.below(100)));
    for (size_t r = 0; r < count_; ++r)
      for (size_t v = 0; v < variables; ++v) {
        size_t row = 0;
        for (size_t parent : parents[v]) row = 2 * row + (has(name[parent], r) ? 1 : 0);
        if (random.below(100) < chance[v][row])
          bits_[name[v] * words_ + r / 64] |= uint64_t{1} << (r % 64);
      }
  }

  // The log likelihood of a variable's column given its parents', less the edges' penalties.
  TRANSACTION_PURE double score(uint32_t variable, const parent_set& parents) const {
    std::vector<uint64_t> all(words_, ~uint64_t{0});
    if (count_ % 64 != 0) all.back() = (uint64_t{1} << (count_ % 64)) - 1;
    return likelihood(variable, parents, 0, all) -
           edge_penalty_ * static_cast<double>(parents.size());
  }

 private:
  [[nodiscard]] bool has(size_t variable, size_t record) const {
    return (bits_[variable * words_ + record / 64] >> (record % 64) & 1) != 0;
  }

  // Of the records `rows`, which agree on the parents before `depth`.
  [[nodiscard]] double likelihood(uint32_t variable, const parent_set& parents, size_t depth,
                                  const std::vector<uint64_t>& rows) const {
    const uint64_t* const column =
        &bits_[(depth < parents.size() ? parents.get(depth) : variable) * words_];
    if (depth == parents.size()) {
      uint64_t ones = 0, total = 0;
      for (size_t w = 0; w < words_; ++w) {
        total += static_cast<uint64_t>(__builtin_popcountll(rows[w]));
        ones += static_cast<uint64_t>(__builtin_popcountll(rows[w] & column[w]));
      }
      return term(ones, total) + term(total - ones, total);
    }
    double sum = 0;
    std::vector<uint64_t> part(words_);
    for (const uint64_t flip : {uint64_t{0}, ~uint64_t{0}}) {
      uint64_t any = 0;
      for (size_t w = 0; w < words_; ++w) any |= part[w] = rows[w] & (column[w] ^ flip);
      if (any != 0) sum += likelihood(variable, parents, depth + 1, part);
    }
    return sum;
  }
  static double term(uint64_t count, uint64_t total) {
    if (count == 0) return 0;
    const auto n = static_cast<double>(count);
    return n * std::log(n / static_cast<double>(total));
  }

  const size_t count_, words_;
  std::vector<uint64_t> bits_;  // a row of words per variable, a bit per record
  const double edge_penalty_;
};

struct task {
  double gain;
  uint32_t from, to;
  bool operator<(const task& t) const {
    return gain != t.gain ? gain < t.gain : from != t.from ? from < t.from : to < t.to;
  }
};

// A thread's own memory for searching the graph.
struct search {
  scratch<uint32_t> open;
  scratch<bool> seen;
  parent_set parents, with_one_more;
};

class learner {
 public:
  using variable_set = list<uint32_t, char>;

  learner(const program& p, const records& from, size_t variables)
      : from_(from),
        variables_(variables),
        most_(std::min(p.number("edges"), uint64_t{most_parents})),
        parents(variables),
        children(variables),
        scores(variables) {
    for (uint32_t v = 0; v < variables_; ++v) base_ += scores[v] = from_.score(v, {});
  }

  // One thread's part of the first tasks: the best edge into each variable.
  void prepare(uint64_t first, uint64_t last) {
    search mine;
    for (auto v = static_cast<uint32_t>(first); v < last; ++v) propose(v, mine);
  }

  uint64_t work() {
    search mine;
    uint64_t transactions = 0;
    for (;;) {
      task t{};
      bool found = false;
      TRANSACTION { found = tasks_.pop(t); };
      ++transactions;
      if (!found) return transactions;
      TRANSACTION { insert(t, mine); };
      propose(t.to, mine);
      transactions += 3;
    }
  }

  [[nodiscard]] bool consistent() const {
    double sum = 0;
    std::vector<size_t> missing(variables_);  // parents not removed yet: by repeated removal
    std::vector<uint32_t> roots;
    for (uint32_t v = 0; v < variables_; ++v) {
      parent_set set;
      for (auto* n = parents[v].first(); n != nullptr; n = n->next) {
        if (set.size() == most_ || children[n->key].find(v) == nullptr) return false;
        set.push(n->key);
      }
      for (auto* n = children[v].first(); n != nullptr; n = n->next)
        if (parents[n->key].find(v) == nullptr) return false;
      if (scores[v] != from_.score(v, set)) return false;
      sum += scores[v];
      missing[v] = set.size();
      if (set.size() == 0) roots.push_back(v);
    }
    size_t removed = 0;
    for (; removed < roots.size(); ++removed)
      for (auto* n = children[roots[removed]].first(); n != nullptr; n = n->next)
        if (--missing[n->key] == 0) roots.push_back(n->key);
    return removed == variables_ && sum >= base_ && tasks_.empty();
  }

 private:
  // Puts the best edge into `to` on the list, if there is one that helps.
  void propose(uint32_t to, search& mine) {
    bool better = false;
    task best{};
    TRANSACTION {
      best = find_best(to, mine);
      better = best.gain > 0;
    };
    if (better) {
      TRANSACTION { tasks_.push(best); };
    }
  }

  void read_parents(uint32_t v, search& mine) const {
    mine.parents.clear();
    for (auto* n = parents[v].first(); n != nullptr; n = n->next) mine.parents.push(n->key);
  }

  // By value, in registers: a local that is reached by its address would be shared data to the
  // compiler, which it is not in the suite.
  task find_best(uint32_t to, search& mine) const {
    task best{0, to, to};
    read_parents(to, mine);
    if (mine.parents.size() >= most_) return best;
    reach(to, mine);
    const double base = scores[to];
    for (uint32_t from = 0; from < variables_; ++from) {
      if (mine.seen.get(from) || is_parent(from, mine)) continue;
      const double gain = score_with(to, from, mine) - base;
      if (gain > best.gain) best = {gain, from, to};
    }
    return best;
  }

  // Marks `start` and all its descendants.
  void reach(uint32_t start, search& mine) const {
    mine.open.clear();
    mine.seen.assign(variables_, false);
    mine.open.push(start);
    mine.seen.set(start, true);
    while (mine.open.size() > 0)
      for (auto* n = children[mine.open.pop()].first(); n != nullptr; n = n->next)
        if (!mine.seen.get(n->key)) {
          mine.seen.set(n->key, true);
          mine.open.push(n->key);
        }
  }

  // Inserts the edge, unless the graph has changed so that it may not.
  void insert(const task& t, search& mine) {
    read_parents(t.to, mine);
    if (mine.parents.size() >= most_ || is_parent(t.from, mine)) return;
    reach(t.to, mine);
    if (mine.seen.get(t.from)) return;
    parents[t.to].insert(t.from, 0);
    children[t.from].insert(t.to, 0);
    scores[t.to] = score_with(t.to, t.from, mine);
  }

  static bool is_parent(uint32_t v, const search& mine) {
    for (size_t i = 0; i < mine.parents.size(); ++i)
      if (mine.parents.get(i) == v) return true;
    return false;
  }
  // The score of `to` with the parents in `mine` and one more.
  double score_with(uint32_t to, uint32_t added, search& mine) const {
    parent_set& all = mine.with_one_more;
    all.clear();
    size_t i = 0;
    for (; i < mine.parents.size() && mine.parents.get(i) < added; ++i)
      all.push(mine.parents.get(i));
    all.push(added);
    for (; i < mine.parents.size(); ++i) all.push(mine.parents.get(i));
    return from_.score(to, all);
  }

  const records& from_;
  const size_t variables_, most_;
  double base_ = 0;
  heap<task> tasks_;

 public:
  std::vector<variable_set> parents, children;
  std::vector<shared<double>> scores;
};

}  // namespace

int main(int argc, char** argv) {
  program p(argc, argv, "bayes",
            "Learns a Bayesian network; transactions look for edges and insert them.", known);
  const size_t variables = p.number("variables", 1);
  if (p.number("edges") > most_parents) p.refuse("--edges is at most 16");
  const records from(p, variables);
  learner l(p, from, variables);
  p.run([&](uint32_t thread) {
    const auto mine = p.part(thread, variables);
    l.prepare(mine.first, mine.last);
    p.barrier();
    return l.work();
  });
  uint64_t edges = 0;
  for (const auto& set : l.parents)
    for (auto* n = set.first(); n != nullptr; n = n->next) ++edges;
  if (p.inject_error()) l.scores[variables / 2] = l.scores[variables / 2] + 1;
  double score = 0;
  for (double s : l.scores) score -= s;
  p.varying_result("edges", edges);
  p.varying_result("minus_score", static_cast<uint64_t>(score));
  return p.finish(l.consistent());
}
