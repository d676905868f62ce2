// stalemate.h -- deadlocks in which threads do something from time to time: the sleepers of
// some locks look after themselves, so that time goes on for ever.
#pragma once

#include <vector>

namespace syncopate::simulated {

struct world;

class stalemate {
 public:
  // To be called now and then, after a simulated time that no hand-over of a lock takes. Whether
  // every thread waits for another, and did so at the last look: is in a call that takes a lock,
  // the same one as then, or sleeps without a time-out.
  bool is_reached(world&);

 private:
  std::vector<unsigned> before_;  // which call, by thread; empty unless all waited
};

}  // namespace syncopate::simulated
