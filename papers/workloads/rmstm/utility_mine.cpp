// utility_mine.cpp -- which items are bought together for much money: high-utility itemset mining.
//
// Source      Yoo et al., SC 2013, section 4.3, after RMS-TM's UtilityMine (Kestor et al., 2011;
//             from MineBench: Liu, Liao & Choudhary's two phases). The first finds sets whose
//             baskets together are worth enough, level by level; the second adds up what the sets
//             themselves are worth. Written anew from those descriptions.
// Sections    Insertion of a candidate into a leaf (allocates); the search of a basket's candidates
//             in one leaf, with the additions to them, in both phases: much of the program's time,
//             as the paper says of it; output of a set (writes to a file).
// Deviations  Sets have at most six items. Baskets are random (baskets.h).
// Check       Every set of high utility, with that, from a run by one thread without sections.
#include "level_miner.h"

namespace {
using namespace workloads;
using namespace workloads::rmstm;

// What the set's items are worth in the basket. Requires: they are all in it.
std::uint64_t utility(const itemset& set, const basket& in) {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < set.size; ++i) {
    while (in.purchases[at].item != set.items[i]) ++at;
    sum += in.purchases[at].value;
  }
  return sum;
}

struct utility_mining {
  const baskets& input;
  std::uint64_t limit;

  template <class Sections>
  std::vector<std::string> run(team& threads, resources inside) const {
    const auto value = [](const basket& b) { return b.value; };
    using miner_type = level_miner<Sections, counting::all_of_it, decltype(value)>;
    miner_type miner(input, value, limit, threads, inside);
    std::array<typename miner_type::tree, most_items> trees;  // of sets of 1, 2, ... items
    result_lines lines(inside.files, threads.threads());
    typename Sections::lock lines_lock;
    threads.run([&](std::uint32_t me) {
      std::uint64_t sections = miner.mine(me);
      typename miner_type::tree::memory memory(inside.memory);
      const share_of share{me, threads.threads()};
      for (const auto& each : share.of(miner.found())) {
        trees[each.set.size - 1].insert(each.set, memory);
        ++sections;
      }
      threads.meet();
      for (const basket& b : share.of(input.all))
        for (auto& tree : trees)
          sections += miner_type::count_in(tree, b, [&](auto& c) { c.count += utility(c.set, b); });
      threads.meet();
      return sections + put_lines<Sections>(trees, share, lines, lines_lock);
    });
    return lines.sorted();
  }

 private:
  template <class Sections, class Trees>
  std::uint64_t put_lines(const Trees& trees, const share_of& share, result_lines& lines,
                          typename Sections::lock& lock) const {
    std::uint64_t sections = 0;
    for (const auto& tree : trees) {
      const auto all = tree.all();
      for (const auto* each : share.of(all)) {
        if (each->count < limit) continue;
        std::string line = each->set.text() + ": " + std::to_string(each->count) + '\n';
        const auto held = Sections::hold(lock);
        lines.put(share.thread, std::move(line));
        ++sections;
      }
    }
    return sections;
  }
};
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"baskets", "of the customers", {4'000, 100'000, 500'000}};
  const sized item_counts{"items", "that are on sale", {200, 1'000, 1'000}};
  const sized shares{
      "utility", "thousandths of all value that make a set one of high utility", {20, 10, 7}};
  const options o(argc, argv, "Threads find sets of items that are worth much (UtilityMine).",
                  option_list({counts, item_counts, shares}));
  const std::uint64_t items = item_counts.of(o);
  if (items > 1'000'000) o.refuse("--items needs 1 to 1000000");
  const baskets input(counts.of(o), static_cast<std::uint32_t>(items), o.number("seed"));
  std::uint64_t value = 0;
  for (const basket& each : input.all) value += each.value;
  const utility_mining program{.input = input,
                               .limit = std::max<std::uint64_t>(1, value * shares.of(o) / 1000)};
  return run_and_check("utility_mine", o, program);
}
