// doomed.h -- transactions that cannot commit any more, and have not found out yet.
//
// Under algorithms that do not wait for others when they commit, one may still read a block that
// another transaction has taken out of what they share, and whose thread has then given it back to
// the system (munmap, or free of a large block). Such a read faults.
//
// Source        the idea of going by the signal: Dalessandro & Scott, "Sandboxing transactional
//               memory", PACT 2012. How we deviate: only the runtime's own reads, since what they
//               return is consistent.
#pragma once

namespace syncopate::tm {

// From the first call on, a transaction begins again, alone, where the runtime's read for it
// faults. So what is the program's fault, faults once more, as without transactions. A handler that
// the program sets up later replaces that (products/libitm/doomed_reads.cpp).
void catch_doomed_reads() noexcept;

}  // namespace syncopate::tm
