// sites.h -- the places that begin transactions, numbered.
#pragma once

#include "tm/logs/memory.h"

namespace syncopate::tm::observer {

// The number of the site with this return address, and its entry in the record; 0 when there are
// too many. Takes the calling thread's stack where the site is new. Requires: inside a
// record::entry.
u32 site_of(address return_address) noexcept;

// The calling thread's stack; 0 where it has spent enough time on stacks. Requires: as above.
u32 take_stack() noexcept;

void forget_sites() noexcept;

}  // namespace syncopate::tm::observer
