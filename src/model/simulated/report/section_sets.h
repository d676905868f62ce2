// section_sets.h -- what a critical section read and wrote, by bytes, and where two of them
// meet.
#pragma once

#include "model/simulated/memory/flat_map.h"
#include "model/simulated/memory/memory.h"

#include <cstdint>
#include <vector>

#include "model/front/engine.h"

namespace syncopate::simulated {

inline constexpr std::uint64_t word_bytes = 8;

// Eight bytes of memory: bit i stands for byte i.
struct touched_word {
  std::uint64_t word = 0;  // the address / word_bytes
  std::uint8_t read = 0, written = 0;
  engine::place read_at = nullptr, written_at = nullptr;  // the first access
};

using word_list = std::vector<touched_word>;  // of a section that has ended: sorted by word

// The words of a section that runs.
class access_set {
 public:
  // So many words lie in 1024 lines or more: beyond any L1 whose lines have 64 bytes.
  static constexpr std::size_t most_words = 8192;

  void add(engine::address at, std::size_t bytes, use what, engine::place where);
  [[nodiscard]] bool overflowed() const { return overflowed_; }  // what came then is left out
  word_list sorted() &&;

 private:
  touched_word* word(std::uint64_t number);

  flat_map<std::uint32_t> index_;
  word_list words_;
  bool overflowed_ = false;
};

// Two sections access one line, at least one of them writing.
struct meeting {
  engine::address first = 0, second = 0;  // equal: the same bytes; else different ones of the line
  engine::place first_at = nullptr, second_at = nullptr;

  [[nodiscard]] bool is_conflict() const { return first == second; }
};

// All words on whose bytes they conflict; of each line on which they only share the line, one pair.
std::vector<meeting> meetings(const word_list& a, const word_list& b, std::uint64_t line_bytes);

}  // namespace syncopate::simulated
