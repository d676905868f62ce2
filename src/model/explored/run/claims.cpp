// claims.cpp -- see claims.h.
#include "claims.h"

#include <algorithm>
#include <vector>

namespace syncopate::explored {

address claims::word_of(address of, int side) {
  auto& word = words_[{of, side}];
  if (word == nullptr) word = std::make_unique<std::uint32_t>(0);
  return reinterpret_cast<address>(word.get());
}

// Where the thread has come to know more than by its accesses, the verdict rests on the claim.
void claims::note_believed(clock before, const clock& now, place from) {
  const thread_index by = threads_.current();
  before.at[by] = now.at[by];
  if (before.includes(now)) return;
  std::vector<place>& known = verdict_.believed;
  if (std::find(known.begin(), known.end(), from) == known.end()) known.push_back(from);
}

void claims::ignore(engine::kind what, int by) {
  thread& t = threads_.running();
  int& sections = what == engine::kind::write ? t.ignored_writes : t.ignored_reads;
  sections = std::max(0, sections + by);
}

}  // namespace syncopate::explored
