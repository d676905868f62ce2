// traits.h -- what is worth knowing of a barrier before choosing it.
//
// Every barrier is made for a number of participants, and has
//   arrive_and_wait(participant)   participant: 0 <= participant < count, a number that the caller
//                                  keeps; two participants never share one
//   arrive(participant) -> token, wait(token, participant)    if `split`
//   arrive_and_drop(participant)                              if `drop`
// Barriers that do not need the number take no argument as well, like std::barrier's. For a barrier
// with exactly std::barrier's interface see barrier.h.
#pragma once

#include <string_view>

namespace syncopate {

struct barrier_traits {
  bool numbered = false;    // arrive_and_wait() needs the participant's number
  bool split = false;       // has arrive() and wait()
  bool drop = false;        // has arrive_and_drop()
  bool completion = false;  // runs a function at the end of each episode
  bool allocates = false;   // its constructor calls operator new
  std::string_view summary;
  std::string_view source;
};

// Nothing to do at the end of an episode.
struct no_completion {
  void operator()() const noexcept {}
};

}  // namespace syncopate
