// level_miner.h -- level by level to all sets of items whose weight reaches a limit: candidates of
// k items are joined from the sets of k - 1, put into a hash tree, and counted basket by basket.
// What a basket weighs is the caller's: one for the support (apriori.cpp), its value for the bound
// that utilities have (utility_mine.cpp).
//
// Sections   insertion of a candidate; addition to the candidates of a leaf; the list of lines.
#pragma once

#include <memory>

#include "itemset_tree.h"

namespace workloads::rmstm {

// What a leaf's section covers while baskets are counted.
enum class counting {
  each,      // the addition to one candidate, found before
  all_of_it  // the search in the leaf, too
};

template <class Sections, counting How, class Weight>
class level_miner {
 public:
  using tree = itemset_tree<Sections>;
  struct weighed {
    itemset set;
    std::uint64_t weight;
  };

  level_miner(const baskets& input, Weight weight, std::uint64_t limit, team& threads,
              resources inside)
      : input_(input), weight_(weight), limit_(limit), team_(threads), inside_(inside) {}

  // One thread's part. Returns how many sections it was in.
  std::uint64_t mine(std::uint32_t me) {
    std::uint64_t sections = 0;
    typename tree::memory memory(inside_.memory);
    const share_of share{me, team_.threads()};
    begin_levels(me);
    for (std::uint32_t size = 1; size <= most_items && more_; ++size) {
      sections += size == 1 ? insert_items(share, memory) : join(share, memory);
      team_.meet();
      for (const basket& each : share.of(input_.all)) sections += count(each);
      team_.meet();
      if (me == 0) end_level();
      team_.meet();
    }
    return sections;
  }

  // By size, then in order. Valid when all threads have mined.
  [[nodiscard]] const std::vector<weighed>& found() const { return found_; }

  // Calls add(candidate) in a section, for each one of the leaf that is in the basket. Returns how
  // many sections that were.
  template <class Add>
  static std::uint64_t count_in(tree& in, const basket& b, Add add) {
    std::uint64_t sections = 0;
    in.walk(b, [&](auto& leaf, const auto& path, std::uint32_t depth, std::size_t position) {
      const auto matches = [&](const auto& c) {
        return tree::is_within(c.set, path, depth, b, position);
      };
      if constexpr (How == counting::all_of_it) {
        const auto held = Sections::hold(leaf.lock);
        for (auto* c = leaf.first; c != nullptr; c = c->next)
          if (matches(*c)) add(*c);
        ++sections;
      } else {
        for (auto* c = leaf.first; c != nullptr; c = c->next) {
          if (!matches(*c)) continue;
          const auto held = Sections::hold(leaf.lock);
          add(*c);
          ++sections;
        }
      }
    });
    return sections;
  }

 private:
  void begin_levels(std::uint32_t me) {
    if (me == 0) tree_ = std::make_unique<tree>();
    team_.meet();
  }

  std::uint64_t insert_items(const share_of& share, typename tree::memory& memory) {
    std::uint64_t inserted = 0;
    for (const std::uint32_t item : share.indices(input_.items)) {
      tree_->insert({.items = {item}, .size = 1}, memory);
      ++inserted;
    }
    return inserted;
  }

  // Inserts what two sets of the last level give that differ in their last item.
  std::uint64_t join(const share_of& share, typename tree::memory& memory) {
    std::uint64_t inserted = 0;
    const std::vector<itemset>& from = last_;
    for (std::size_t i = share.thread; i < from.size(); i += share.threads)
      for (std::size_t j = i + 1; j < from.size() && same_beginning(from[i], from[j]); ++j) {
        itemset joined = from[i];
        joined.items[joined.size] = from[j].items[joined.size - 1];
        ++joined.size;
        if (!all_parts_known(joined)) continue;
        tree_->insert(joined, memory);
        ++inserted;
      }
    return inserted;
  }
  static bool same_beginning(const itemset& a, const itemset& b) {
    return std::equal(a.items.begin(), a.items.begin() + a.size - 1, b.items.begin());
  }
  // Whether each set of one item less is one of the last level.
  [[nodiscard]] bool all_parts_known(const itemset& set) const {
    for (std::uint32_t without = 0; without + 2 < set.size; ++without) {
      itemset part{.items = {}, .size = set.size - 1};
      for (std::uint32_t i = 0, to = 0; i < set.size; ++i)
        if (i != without) part.items[to++] = set.items[i];
      if (!std::binary_search(last_.begin(), last_.end(), part)) return false;
    }
    return true;
  }

  std::uint64_t count(const basket& b) {
    const std::uint64_t weight = weight_(b);
    return count_in(*tree_, b, [&](auto& c) { c.count += weight; });
  }

  void end_level() {
    last_.clear();
    for (const auto* c : tree_->all())
      if (c->count >= limit_) {
        last_.push_back(c->set);
        found_.push_back({c->set, c->count});
      }
    std::sort(last_.begin(), last_.end());
    tree_ = std::make_unique<tree>();
    more_ = !last_.empty();
  }

  const baskets& input_;
  const Weight weight_;
  const std::uint64_t limit_;
  team& team_;
  const resources inside_;
  std::unique_ptr<tree> tree_;
  std::vector<itemset> last_;  // of the last level, in order
  std::vector<weighed> found_;
  bool more_ = true;
};

}  // namespace workloads::rmstm
