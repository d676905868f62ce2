// shrinking_writes.cpp -- one thread writes ever less memory in a transaction, many times each, and
// counts what commits: whether the processor remembers what overflowed.
//
// Source: Odaira, Castanos & Tomari, PPoPP 2014, section 5.4 and figure 6 (a): 24 KB 10,000 times,
// then 20, 16 and 12 KB; success ratios of each 100.
#include <syncopate/elide/section.h>

#include "common.h"
#include "presets.h"

namespace {
using namespace workloads;
using syncopate::elide::section;

constexpr std::uint64_t kilobytes[] = {24, 20, 16, 12};
constexpr std::uint64_t line = 64, most_lines = 24 * 1024 / line;

struct alignas(4096) memory {
  volatile std::uint64_t words[most_lines * line / sizeof(std::uint64_t)] = {};
};

// One attempt, always from here: processors tell transactions apart by where they begin.
[[gnu::noinline]] bool commits(memory& m, std::uint64_t lines) {
  if (!section::begin().started()) return false;
  for (std::uint64_t i = 0; i < lines; ++i) {
    volatile std::uint64_t& first_word = m.words[i * line / sizeof(std::uint64_t)];
    first_word = first_word + 1;
  }
  section::commit();
  return true;
}

// "24": [of the first hundred, of the second, ...]
std::string counts_member(std::uint64_t size, const std::vector<std::uint64_t>& counts) {
  std::string text = '"' + std::to_string(size) + "\": [";
  for (std::size_t i = 0; i < counts.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(counts[i]);
  return text + "]";
}
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"hundreds", "of transactions for each size", {10, 100, 1000}};
  const options o(
      argc, argv, "A thread writes 24, 20, 16, then 12 KB in each transaction.",
      {{"threads", "1", "1"}, preset_option("paper"), counts.as_option(), pin_option, seed_option});
  if (o.number("threads") != 1) o.refuse("one thread is all there is: --threads 1");
  const std::uint64_t hundreds = o.number("hundreds", 1);
  memory m;
  std::uint64_t committed = 0;
  std::string all;
  const outcome result = run_threads(o, [&](std::uint32_t) {
    for (const std::uint64_t size : kilobytes) {
      std::vector<std::uint64_t> counts(hundreds);
      for (std::uint64_t& count : counts) {
        for (int i = 0; i < 100; ++i) count += commits(m, size * 1024 / line);
        committed += count;
      }
      all += (all.empty() ? "" : ", ") + counts_member(size, counts);
    }
    return 100 * hundreds * std::size(kilobytes);
  });
  return report("shrinking_writes", o, result, m.words[0] == committed,
                "\"committed\": {" + all + "}, ");
}
