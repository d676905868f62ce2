// profile.h -- a profile hidden Markov model of a family of proteins, and the score of the best
// local alignment of a sequence with it: the core of the three hmm programs.
//
// Source   The architecture of HMMER 2 (Eddy, "Profile hidden Markov models", Bioinformatics 14(9),
//          1998): match, insert and delete states, scores as whole thousandths of a bit. Models are
//          random here, with a consensus that sequences may carry a mutated copy of.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "../random_numbers.h"

namespace workloads::rmstm {

constexpr std::uint32_t residues = 20, most_length = 256, most_states = 64;

// Trivial to copy, as records of a file are.
struct sequence {
  std::uint32_t number = 0, length = 0;
  std::array<std::uint8_t, most_length> at{};
};

struct profile {
  std::uint32_t number = 0, states = 0;
  std::array<std::uint8_t, most_states> consensus{};
  std::array<std::array<std::int32_t, residues>, most_states> match{};
  // Of going on to a match, and of opening and extending an insertion or a deletion behind a state.
  std::array<std::int32_t, most_states> to_match{}, open_gap{}, extend_gap{};
};

inline profile make_profile(std::uint32_t number, std::uint32_t states, std::uint64_t seed) {
  random_numbers random(seed, 1000 + number);
  profile result;
  result.number = number;
  result.states = states;
  const auto score = [&](std::int32_t from, std::uint64_t range) {
    return from + static_cast<std::int32_t>(random.below(range));
  };
  for (std::uint32_t k = 0; k < states; ++k) {
    const auto best = result.consensus[k] = static_cast<std::uint8_t>(random.below(residues));
    for (std::uint32_t r = 0; r < residues; ++r) result.match[k][r] = score(-2500, 2000);
    result.match[k][best] = score(2500, 1000);
    result.to_match[k] = score(-60, 50);
    result.open_gap[k] = score(-7000, 1000);
    result.extend_gap[k] = score(-1500, 500);
  }
  return result;
}

// At random; with the model's consensus, one residue in four changed, where `related`.
inline void make_sequence(sequence& to, std::uint32_t number, std::uint32_t length,
                          random_numbers& random, const profile* related) {
  to.number = number;
  to.length = length;
  for (std::uint32_t i = 0; i < length; ++i)
    to.at[i] = static_cast<std::uint8_t>(random.below(residues));
  if (related == nullptr || related->states > length) return;
  const std::uint64_t first = random.below(length - related->states + 1);
  for (std::uint32_t k = 0; k < related->states; ++k)
    if (random.below(4) != 0) to.at[first + k] = related->consensus[k];
}

// One thread's rows of the dynamic program.
class viterbi {
 public:
  // The score of the best local alignment.
  std::int32_t score(const profile& model, const sequence& of) {
    reset(model.states);
    std::int32_t best = worst;
    for (std::uint32_t i = 0; i < of.length; ++i) best = std::max(best, next_row(model, of.at[i]));
    return best;
  }

 private:
  static constexpr std::int32_t worst = -1'000'000'000, begin = -6000;
  using row = std::array<std::int32_t, most_states + 1>;  // state k at k + 1

  void reset(std::uint32_t states) {
    std::fill_n(match_.begin(), states + 1, worst);
    std::fill_n(insertion_.begin(), states + 1, worst);
    std::fill_n(deletion_.begin(), states + 1, worst);
  }

  // Returns the best match of this residue.
  std::int32_t next_row(const profile& model, std::uint8_t residue) {
    std::int32_t best = worst;
    std::int32_t match = worst, insertion = worst, deletion = worst;  // the last row's, one before
    for (std::uint32_t k = 0; k < model.states; ++k) {
      const std::int32_t old_match = match_[k + 1], old_insertion = insertion_[k + 1],
                         old_deletion = deletion_[k + 1];
      const std::int32_t before = std::max({begin, match, insertion, deletion}) + model.to_match[k];
      match_[k + 1] = std::max(worst, before + model.match[k][residue]);
      insertion_[k + 1] =
          std::max({worst, old_match + model.open_gap[k], old_insertion + model.extend_gap[k]});
      deletion_[k + 1] =
          std::max({worst, match_[k] + model.open_gap[k], deletion_[k] + model.extend_gap[k]});
      best = std::max(best, match_[k + 1]);
      match = old_match, insertion = old_insertion, deletion = old_deletion;
    }
    return best;
  }

  row match_{}, insertion_{}, deletion_{};
};

}  // namespace workloads::rmstm
