// apriori.cpp -- which items are often bought together: association rule mining by Apriori.
//
// Source      Yoo et al., SC 2013, section 4.3, after RMS-TM's Apriori (Kestor et al., 2011; from
//             MineBench): threads insert candidates into a shared hash tree, then count them,
//             each with a share of the baskets. Written anew from those descriptions and from
//             Agrawal & Srikant, VLDB 1994.
// Sections    Insertion of a candidate into a leaf (allocates; splits the leaf when full); one
//             addition to a candidate; output of a frequent set (writes to a file).
// Deviations  Single items are candidates in a tree, too. Sets have at most six items. Baskets are
//             random (baskets.h) in place of the suite's files.
// Check       Every frequent set with its support, from a run by one thread without sections.
#include "level_miner.h"

namespace {
using namespace workloads;
using namespace workloads::rmstm;

struct support_mining {
  const baskets& input;
  std::uint64_t limit;

  template <class Sections>
  std::vector<std::string> run(team& threads, resources inside) const {
    const auto one = [](const basket&) { return std::uint64_t{1}; };
    level_miner<Sections, counting::each, decltype(one)> miner(input, one, limit, threads, inside);
    result_lines lines(inside.files, threads.threads());
    typename Sections::lock lines_lock;
    threads.run([&](std::uint32_t me) {
      std::uint64_t sections = miner.mine(me);
      const share_of share{me, threads.threads()};
      for (const auto& each : share.of(miner.found())) {
        std::string line = each.set.text() + ": " + std::to_string(each.weight) + '\n';
        const auto held = Sections::hold(lines_lock);
        lines.put(me, std::move(line));
        ++sections;
      }
      return sections;
    });
    return lines.sorted();
  }
};
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"baskets", "of the customers", {4'000, 100'000, 500'000}};
  const sized item_counts{"items", "that are on sale", {200, 1'000, 1'000}};
  const sized supports{"support", "baskets of 1000 that make a set frequent", {20, 10, 7}};
  const options o(argc, argv,
                  "Threads find sets of items that are often bought together (Apriori).",
                  option_list({counts, item_counts, supports}));
  const std::uint64_t items = item_counts.of(o), count = counts.of(o);
  if (items > 1'000'000) o.refuse("--items needs 1 to 1000000");
  const baskets input(count, static_cast<std::uint32_t>(items), o.number("seed"));
  const support_mining program{.input = input,
                               .limit = std::max<std::uint64_t>(1, count * supports.of(o) / 1000)};
  return run_and_check("apriori", o, program);
}
