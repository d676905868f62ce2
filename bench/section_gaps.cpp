// section_gaps.cpp -- what programs of the always-abort paper compute between two critical
// sections, in processor cycles: the simulated machine charges nothing for instructions that touch
// no memory, so their models (figures 10 to 12) are told.
//
//     section_gaps >papers/results/measured/section_gaps.json
//
// vacation      a task's random numbers, 12 on average, by Mersenne Twister and a remainder, as the
//               suite draws them; ours draws them by a few instructions.
// tree          a record's key: a random number, printed by sprintf, as Kyoto Cabinet's test does.
//
// A cycle is a third of a dependent multiplication, which takes three on Intel's processors since
// 2008: the time-stamp counter has another clock.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

// Rounds of 0.1 ms: most of them are not interrupted.
constexpr int rounds = 1001, repetitions = 1000;

// Nanoseconds of each repetition.
template <class Action>
double timed(Action action) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions; ++i) action();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / repetitions;
}

void used(std::uint64_t& value) { asm volatile("" : "+r"(value)); }

double cycle() {
  std::uint64_t product = 3;
  return timed([&] {
           product *= product;
           used(product);
         }) /
         3;
}

double vacation() {
  static std::mt19937 random(1);
  std::uint64_t range = 16'384, relations = 3;
  return timed([&] {
    used(range);  // bounds are not constants there either
    used(relations);
    std::uint64_t sum = random() % 100 + random() % range;
    const std::uint64_t queries = 1 + random() % (relations + 1);
    for (std::uint64_t i = 0; i < queries; ++i) {
      sum += random() % relations + random() % range;
      if (random() % 2 == 0) sum += random() % 5;
    }
    used(sum);
  });
}

double tree() {
  std::array<char, 32> key{};
  return timed([&] {
    const double share = std::rand() / (RAND_MAX + 1.0);
    std::snprintf(key.data(), key.size(), "%08lld", static_cast<long long>(1e6 * share) + 1);
    asm volatile("" : : "r"(key.data()) : "memory");
  });
}

void print(const char* name, std::vector<double> cycles, const char* after) {
  std::sort(cycles.begin(), cycles.end());
  std::printf("\"%s\": {\"cycles\": %.0f, \"quartiles\": [%.0f, %.0f]}%s", name, cycles[rounds / 2],
              cycles[rounds / 4], cycles[rounds - 1 - rounds / 4], after);
}

}  // namespace

int main() {
  std::vector<double> of_vacation, of_tree, clock;
  for (int i = 0; i < rounds; ++i) {
    clock.push_back(cycle());
    of_vacation.push_back(vacation() / clock.back());
    of_tree.push_back(tree() / clock.back());
  }
  std::nth_element(clock.begin(), clock.begin() + rounds / 2, clock.end());
  std::printf("{\"rounds\": %d, \"gigahertz\": %.2f, ", rounds, 1 / clock[rounds / 2]);
  print("vacation", of_vacation, ", ");
  print("tree", of_tree, "}\n");
}
