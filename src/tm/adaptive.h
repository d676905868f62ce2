// adaptive.h -- L3: `auto`: moves between the global lock and an optimistic algorithm.
#pragma once

#include "tm/transaction.h"

namespace syncopate::tm {

namespace adaptive {
extern constinit bool on;
}  // namespace adaptive

// Writes one line of counts to standard error.
void print_statistics() noexcept;

}  // namespace syncopate::tm
