// claims.cpp -- what the program says of itself (model/front/compiler/annotations.cpp).
#include "machine.h"

#include <algorithm>

namespace syncopate::explored {

// Claims of an address are read-modify-writes of one word of ours: they are in one order, and an
// acquire takes what all releases before it have left. The word keeps its value, so that no loop
// takes them for news.
void machine::claim_order(address of, int side, bool acquires, place from) {
  if (!options_.claims) return;
  if (tx_.runs()) return;  // it ends as one step, in order with all before it
  const clock before = memory_.of(threads_.current()).happened;
  auto& word = claims_[{of, side}];
  if (word == nullptr) word = std::make_unique<std::uint32_t>(0);
  modify(reinterpret_cast<address>(word.get()), sizeof *word, engine::operation::exchange, 0,
         acquires ? std::memory_order_acquire : std::memory_order_release, from);
  if (acquires) note_believed(before, from);
}

// Where the thread has come to know more than by its accesses, the verdict rests on the claim.
void machine::note_believed(clock before, place from) {
  const clock& now = memory_.of(threads_.current()).happened;
  before.at[threads_.current()] = now.at[threads_.current()];
  if (before.includes(now)) return;
  std::vector<place>& known = verdict_.believed;
  if (std::find(known.begin(), known.end(), from) == known.end()) known.push_back(from);
}

void machine::ignore(engine::kind what, int by) {
  int& sections = what == engine::kind::write ? me().ignored_writes : me().ignored_reads;
  sections = std::max(0, sections + by);
}

}  // namespace syncopate::explored
