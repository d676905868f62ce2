// engine.cpp -- what the shared part of the front end asks of engine.h. The rest of that
// interface is for machines whose threads are fibers.
//
// Memory order (each tag stands at its site below)
//   [F]  seq_cst, whatever is asked for: the strongest is right for each.
#include "model/front/engine.h"

#include "model/emulated/memory/access.h"

namespace syncopate::engine {

void access(address at, std::size_t bytes, kind what, place where) {
  if (!emulated::shadow_is_there()) return;
  what == kind::read ? emulated::read_range(at, bytes, where)
                     : emulated::write_range(at, bytes, where);
}

void fence(std::memory_order, place) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }  // [F]
void claim_order(address, int, claim, place) {}
void claim_harmless(address, std::size_t, place) {}
void ignore(kind, int) {}
void leaves(address, place) {}

}  // namespace syncopate::engine
