// gil_choice.h -- which way of choosing lengths pays best for the whole program: a pure
// controller that is told what each way has cost.
//
// The rules of gil_lengths.h look at one yield point and at aborts. Where threads conflict at every
// step, short transactions abort as long ones do, and what pays is to stay under the lock for long:
// no abort ratio tells that. So the ways to choose (a few fixed lengths, and balancing) are tried
// in turn, each for one epoch; the one at which a yield point has cost least stays, for ever longer
// between two trials. An epoch is so much time, not so many transactions: that bounds what a trial
// costs.
#pragma once

#include <array>
#include <cstdint>

namespace syncopate::elide {

struct choice_state {
  // Fixed lengths; 0: each yield point's own (balancing).
  static constexpr std::array<std::uint16_t, 6> ways{16, 64, 256, 0, 4, 1};
  static constexpr std::uint32_t first_stay = 32, longest_stay = 3072;  // epochs

  // Begins with balancing, which is near the best where conflicts can be avoided: a short program
  // never pays for a trial.
  static constexpr std::uint32_t balancing = 3;
  // A fixed length has to be so much better than balancing: an epoch measures the program's phases,
  // too, and what is fixed is wrong for some yield points (simulated: ft.lua lost 30 % without it).
  static constexpr double margin = 1.3;

  std::uint32_t way = balancing;    // of `ways`: the one to use now
  bool trying = false;              // in turn; else staying with the best
  std::uint32_t left = first_stay;  // epochs to stay
  std::uint32_t stay = first_stay;
  std::uint32_t trials = 0;
  std::array<double, ways.size()> cost{};  // of a yield point, when tried last; 0: never

  friend bool operator==(const choice_state&, const choice_state&) = default;
};

namespace choice {
namespace detail {
constexpr std::uint32_t best(const choice_state& s) noexcept {
  std::uint32_t found = s.way;
  for (std::uint32_t i = 0; i < s.ways.size(); ++i)
    if (s.cost[i] != 0 && (s.cost[found] == 0 || s.cost[i] < s.cost[found])) found = i;
  return found;
}

// Whether a trial leaves the way out, three times of four: it was far from the best; or it is
// shorter than the shortest of the first three (16), which costs too much already.
constexpr bool is_hopeless(const choice_state& s, std::uint32_t way, double least) noexcept {
  if (s.trials % 4 == 3) return false;
  return 2 * s.cost[way] > 3 * least || (way >= 4 && 4 * s.cost[0] > 5 * least);
}

constexpr choice_state try_from(choice_state s, std::uint32_t way) noexcept {
  const double least = s.cost[best(s)];
  while (way < s.ways.size() && is_hopeless(s, way, least)) ++way;
  if (way < s.ways.size()) {
    s.trying = true;
    s.way = way;
    return s;
  }
  s.trying = false;
  s.way = best(s);
  if (s.cost[s.balancing] <= s.margin * s.cost[s.way]) s.way = s.balancing;
  s.left = s.stay;
  s.stay = s.stay < s.longest_stay / 2 ? 2 * s.stay : s.longest_stay;
  ++s.trials;
  return s;
}
}  // namespace detail

// An epoch is over, in which a yield point has cost so much (any unit, the same always).
[[nodiscard]] constexpr choice_state after_epoch(choice_state s, double cost) noexcept {
  if (s.trying) {
    s.cost[s.way] = cost;
    return detail::try_from(s, s.way + 1);
  }
  const double before = s.cost[s.way] == 0 ? cost : s.cost[s.way];
  s.cost[s.way] = before + (cost - before) / 8;
  if (--s.left != 0 && s.cost[s.way] < 2 * before) return s;
  // A program that has got much slower is another program: all ways, and soon again.
  if (s.left != 0) {
    s.stay = s.first_stay;
    s.trials = 0;
  }
  return detail::try_from(s, 0);
}

}  // namespace choice
}  // namespace syncopate::elide
