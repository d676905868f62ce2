#include "model/front/compiler/transaction_memory.h"

#include <utility>

namespace syncopate::instrument {

namespace {

void release_all(std::vector<void*>& blocks) {
  // release_now may switch to fibers that run transactions, but to none that uses this list.
  const std::vector<void*> mine = std::exchange(blocks, {});
  for (void* block : mine) release_now(block, nullptr);
}

}  // namespace

void transaction_began(bool started) {
  transaction_memory& memory = running->transaction;
  if (started) {
    ++memory.depth;
    return;
  }
  // The machine's nested transactions abort as one.
  memory.depth = 0;
  memory.freed.clear();
  release_all(memory.allocated);
}

void transaction_committed() {
  transaction_memory& memory = running->transaction;
  if (memory.depth == 0 || --memory.depth != 0) return;
  memory.allocated.clear();
  release_all(memory.freed);
}

}  // namespace syncopate::instrument
