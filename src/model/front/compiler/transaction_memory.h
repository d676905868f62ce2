// transaction_memory.h -- malloc and free inside hardware transactions. The heap's own lists
// are not among what a machine rolls back: blocks freed inside are given back when the transaction
// commits, blocks allocated inside when it aborts.
#pragma once

#include "model/front/engine.h"
#include "model/front/threads/fiber_state.h"

namespace syncopate::instrument {

// After engine::htm_begin: `started`, or back again after an abort.
void transaction_began(bool started);
// After engine::htm_commit.
void transaction_committed();

inline bool in_transaction() noexcept {
  return running != nullptr && running->transaction.depth != 0;
}

// malloc.cpp: gives a block back at once.
void release_now(void* block, engine::place where);

}  // namespace syncopate::instrument
