// scalparc.cpp -- learns a decision tree from records, level by level.
//
// Source      Yoo et al., SC 2013, section 4.3, after RMS-TM's ScalParC (Kestor et al., 2011; from
//             MineBench: Joshi, Karypis & Kumar, IPPS 1998): threads count the classes of their
//             records by value, for all nodes of a level at once; choose each node's best split
//             by the Gini index; then tell each record its new node. Written anew from those
//             descriptions.
// Sections    Addition of a thread's counts to those of a node's attribute; comparison of a split
//             with the node's best one (allocates the new, frees the old); a node's two children
//             enter the next level (allocates); a finished node's line (writes to a file).
// Deviations  Attributes are small whole numbers, so that no lists have to be sorted; records are
//             random (records.h) in place of the suite's files.
// Check       Every node of the tree with its split or its classes, from a run by one thread.
#include "program.h"
#include "records.h"

namespace {
using namespace workloads;
using namespace workloads::rmstm;

struct split {
  double impurity = 0;  // of both sides, times their records
  std::uint32_t attribute = 0, limit = 0;
  auto operator<=>(const split&) const = default;
};

using class_counts = std::array<std::uint32_t, classes>;
using counts = std::array<class_counts, attribute_values>;

template <class Sections>
struct node {
  struct alignas(64) attribute_counts {
    typename Sections::lock lock;
    counts by_value{};
  };
  ~node() { delete best; }

  std::uint64_t path = 1;  // a digit for each turn, behind a one
  typename Sections::lock lock;
  split* best = nullptr;
  std::array<attribute_counts, attributes> all;
  std::array<node*, 2> child{};

  [[nodiscard]] class_counts records() const {
    class_counts sum{};
    for (const class_counts& each : all[0].by_value)
      for (std::uint32_t c = 0; c < classes; ++c) sum[c] += each[c];
    return sum;
  }
};

double impurity(const class_counts& side) {
  const double n = side[0] + side[1];
  return n == 0 ? 0 : n - (1.0 * side[0] * side[0] + 1.0 * side[1] * side[1]) / n;
}

// The best of one attribute.
split best_split(const counts& by_value, std::uint32_t attribute) {
  class_counts below{}, above{};
  for (const class_counts& each : by_value)
    for (std::uint32_t c = 0; c < classes; ++c) above[c] += each[c];
  split best{impurity(above), attribute, 0};
  for (std::uint32_t limit = 1; limit < attribute_values; ++limit) {
    for (std::uint32_t c = 0; c < classes; ++c) {
      below[c] += by_value[limit - 1][c];
      above[c] -= by_value[limit - 1][c];
    }
    best = std::min(best, split{impurity(below) + impurity(above), attribute, limit});
  }
  return best;
}

template <class Sections>
class learner {
 public:
  using node_type = node<Sections>;

  learner(const std::vector<record>& input, std::uint32_t depth, team& threads, resources inside)
      : input_(input),
        depth_(depth),
        team_(threads),
        inside_(inside),
        lines_(inside.files, threads.threads()),
        node_of_(input.size()) {
    level_.push_back(new node_type);
    std::fill(node_of_.begin(), node_of_.end(), level_.front());
  }
  ~learner() {
    for (const node_type* each : level_) delete each;
  }
  learner(const learner&) = delete;
  learner& operator=(const learner&) = delete;

  // One thread's part. Returns how many sections it was in.
  std::uint64_t learn(std::uint32_t me) {
    std::uint64_t sections = 0;
    fresh<split> splits(inside_.memory);
    fresh<node_type> nodes(inside_.memory);
    const share_of share{me, team_.threads()};
    for (std::uint32_t depth = 0;; ++depth) {
      sections += count(share);
      team_.meet();
      sections += choose(share, splits);
      team_.meet();
      for (std::size_t i = me; i < level_.size(); i += share.threads)
        sections += grow(*level_[i], depth == depth_, me, nodes);
      team_.meet();
      for (const std::uint32_t r : share.indices(input_.size())) go_down(r);
      team_.meet();
      if (me == 0) end_level();
      team_.meet();
      if (level_.empty()) return sections;
    }
  }

  [[nodiscard]] std::vector<std::string> lines() { return lines_.sorted(); }

 private:
  static constexpr std::uint32_t block = 4096;  // records that are counted before sections

  std::uint64_t count(const share_of& share) {
    std::uint64_t sections = 0;
    const index_range mine = share.indices(input_.size());
    for (std::uint32_t first = mine.first; first < mine.last; first += block)
      sections += count_block({first, std::min(first + block, mine.last)});
    return sections;
  }

  std::uint64_t count_block(index_range records) {
    std::vector<std::pair<node_type*, std::array<counts, attributes>>> found;
    for (const std::uint32_t r : records) {
      node_type* const at = node_of_[r];
      if (at == nullptr) continue;
      auto entry = std::find_if(found.begin(), found.end(),
                                [at](const auto& each) { return each.first == at; });
      if (entry == found.end()) entry = found.insert(found.end(), {at, {}});
      for (std::uint32_t a = 0; a < attributes; ++a)
        ++entry->second[a][input_[r].value[a]][input_[r].of_class];
    }
    for (const auto& [at, mine] : found)
      for (std::uint32_t a = 0; a < attributes; ++a) add(mine[a], at->all[a]);
    return found.size() * attributes;
  }
  static void add(const counts& mine, typename node_type::attribute_counts& to) {
    const auto held = Sections::hold(to.lock);
    for (std::uint32_t v = 0; v < attribute_values; ++v)
      for (std::uint32_t c = 0; c < classes; ++c) to.by_value[v][c] += mine[v][c];
  }

  // Pairs of a node and an attribute, dealt out.
  std::uint64_t choose(const share_of& share, fresh<split>& splits) {
    std::uint64_t sections = 0;
    for (std::size_t i = share.thread; i < level_.size() * attributes; i += share.threads) {
      node_type& at = *level_[i / attributes];
      const auto attribute = static_cast<std::uint32_t>(i % attributes);
      const split candidate = best_split(at.all[attribute].by_value, attribute);
      splits.prepare();
      const auto held = Sections::hold(at.lock);
      ++sections;
      if (at.best != nullptr && !(candidate < *at.best)) continue;
      split* const better = splits.take();
      *better = candidate;
      delete std::exchange(at.best, better);
    }
    return sections;
  }

  std::uint64_t grow(node_type& at, bool last, std::uint32_t me, fresh<node_type>& nodes) {
    const class_counts all = at.records();
    const bool is_leaf = last || at.best->limit == 0 || std::min(all[0], all[1]) < 8;
    std::uint64_t sections = 1;
    for (std::size_t side = 0; side < at.child.size() && !is_leaf; ++side, ++sections) {
      nodes.prepare();
      const auto held = Sections::hold(next_lock_);
      at.child[side] = nodes.take();
      at.child[side]->path = 2 * at.path + side;
      next_.push_back(at.child[side]);
    }
    std::string line = std::to_string(at.path) + ": " +
                       (is_leaf ? std::to_string(all[0]) + ' ' + std::to_string(all[1])
                                : "attribute " + std::to_string(at.best->attribute) + " below " +
                                      std::to_string(at.best->limit)) +
                       '\n';
    const auto held = Sections::hold(lines_lock_);
    lines_.put(me, std::move(line));
    return sections;
  }

  void go_down(std::uint32_t r) {
    const node_type* const at = node_of_[r];
    if (at == nullptr) return;
    const split& by = *at->best;
    node_of_[r] = at->child[input_[r].value[by.attribute] < by.limit ? 0 : 1];
  }

  void end_level() {
    for (const node_type* each : level_) delete each;
    level_ = std::exchange(next_, {});
    std::sort(level_.begin(), level_.end(),
              [](const node_type* a, const node_type* b) { return a->path < b->path; });
    next_.reserve(2 * level_.size());  // the sections that fill it only store
  }

  const std::vector<record>& input_;
  const std::uint32_t depth_;
  team& team_;
  const resources inside_;
  result_lines lines_;
  typename Sections::lock lines_lock_, next_lock_;
  std::vector<node_type*> node_of_;  // by record; null below a leaf
  std::vector<node_type*> level_, next_;
};

struct classification {
  const std::vector<record>& input;
  std::uint32_t depth;

  template <class Sections>
  std::vector<std::string> run(team& threads, resources inside) const {
    learner<Sections> all(input, depth, threads, inside);
    threads.run([&](std::uint32_t me) { return all.learn(me); });
    return all.lines();
  }
};
}  // namespace

int main(int argc, char** argv) {
  const sized record_counts{"records", "to learn from", {40'000, 500'000, 4'000'000}};
  const sized depths{"depth", "of the tree", {6, 10, 12}};
  const options o(argc, argv, "Threads learn a decision tree from records (ScalParC).",
                  option_list({record_counts, depths}));
  const std::uint64_t depth = depths.of(o);
  if (depth > 60) o.refuse("--depth needs 1 to 60");
  const auto input = make_records(record_counts.of(o), o.number("seed"));
  const classification program{.input = input, .depth = static_cast<std::uint32_t>(depth)};
  return run_and_check("scalparc", o, program);
}
