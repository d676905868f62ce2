// choices.h -- which names of locks and of elision's modes need no further look: those of the
// catalogue and of the table of options, as they are compiled in.
#pragma once

#include <string_view>

namespace syncopate::launcher {

// Whether NAME[:WAIT] is a lock that unmodified programs may have, and that runs no transactions,
// of which something is to be said where the machine has none.
bool is_plain_lock(std::string_view choice);

// Whether it is a lock of ours, which elision and the guard can act on.
bool is_ours(std::string_view lock);

// Whether MODE[:POLICY] is one that the table of options has.
bool is_elision(std::string_view choice);

}  // namespace syncopate::launcher
