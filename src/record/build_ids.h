// build_ids.h -- which build of each module is mapped, so that a reader can tell it from another.
#pragma once

#include "record/internal.h"

namespace syncopate::record {

// Of each module whose first page the snapshot shows, a line
//   build-id START BIAS ID
// START: where that page is; BIAS: what is added to link-time addresses; ID: the module's GNU
// build-id, or "-". All are hexadecimal. `text` is as in /proc/self/maps. Returns the bytes written
// to `to`; what finds no room there is left out.
std::size_t describe_builds(const char* text, std::size_t bytes, char* to,
                            std::size_t room) noexcept;

}  // namespace syncopate::record
