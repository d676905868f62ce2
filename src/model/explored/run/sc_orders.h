// sc_orders.h -- notices where the order of execution is too few orders S of seq_cst operations.
//
// While S is the order of execution (memory.h), an access by seq_cst finds no value
// that is older than what another one has read or written before, though that one may be before it
// only since it has been read from without synchronization, or since it happens before it but not
// strongly: then it may stand behind it in S, and the older value may be read.
//
// What is kept from an access so is noted if what keeps it cannot come later in the execution, and
// if [atomics.order] has an S for it: one where accesses of one location stand as they do in the
// modification order, and those that strongly happen before others stand before these. Behind a
// seq_cst fence that is not looked at: everything counts. The search then begins anew, with all
// orders (sc_graph.h); where it cannot, the verdict says so.
#pragma once

#include "model/explored/memory/memory.h"
#include "model/explored/search/search.h"

#include <cstdint>
#include <vector>

namespace syncopate::explored {

class sc_orders {
 public:
  sc_orders(const memory& m, search& s) : memory_(m), search_(s) {}

  // An execution begins.
  void forget() noexcept {
    made_.clear();
    fences_ = false;
  }

  // Whether S keeps something there from the thread, which is about to read or to write.
  [[nodiscard]] bool keeps(thread_index by, location_id where, bool reads, bool writes) const;
  // Whether the thread's fence, which is about to be made, keeps something from it.
  [[nodiscard]] bool fence_keeps(thread_index by);
  // The thread, whose clock was `before`, has read or written the message.
  void note(thread_index by, const clock& before, location_id where, message_id of) {
    made_.push_back({by, before, where, of});
  }

  // What has read last has written this message.
  void note_written(message_id m) {
    if (!made_.empty()) made_.back().of = m;
  }

 private:
  struct access {
    thread_index by;
    clock before;
    location_id where;
    message_id of;
  };

  [[nodiscard]] bool moved_in_past(const location&, thread_index by, std::uint32_t from,
                                   std::uint32_t source) const;
  [[nodiscard]] bool may_stand(thread_index by, location_id where, std::uint64_t at) const;

  const memory& memory_;
  search& search_;
  std::vector<access> made_;
  bool fences_ = false;
};

}  // namespace syncopate::explored
