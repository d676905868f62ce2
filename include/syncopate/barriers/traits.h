// traits.h -- L2: what is worth knowing of a barrier before choosing it.
//
// Every barrier is made for a fixed number of participants, and has
//   arrive_and_wait(participant)   participant: 0 <= participant < count, a number that the caller
//                                  keeps; two participants never share one
// Barriers that do not need the number take no argument as well, like std::barrier's.
#pragma once

#include <string_view>

namespace syncopate {

struct barrier_traits {
  bool numbered = false;  // arrive_and_wait() needs the participant's number
  std::string_view summary;
  std::string_view source;
};

}  // namespace syncopate
