// maps.h -- snapshots of /proc/self/maps, so that a reader can turn addresses into symbols.
#pragma once

#include "record/internal.h"

namespace syncopate::record {

// Takes a snapshot, unless another thread is taking one.
void snapshot_maps() noexcept;
// The same at the end, with what the program's variables point to.
void snapshot_maps_last() noexcept;

// An object is about to be destroyed, maybe one of many, as of a program that cleans up before it
// ends: takes the same snapshot while variables still point to it. More and more seldom.
void note_end_of_object() noexcept;
// The same, for programs that are killed, or free what is never destroyed. `now` in ticks.
void note_moment(std::uint64_t now) noexcept;

// A stack with these addresses is new in the record: takes a snapshot when one of them lies in
// code that the last snapshot did not show. Rate-limited.
void note_code(const std::uint64_t* pc, unsigned depth) noexcept;

// What the program is about to unload may hold such addresses: takes that snapshot now, if the rate
// has put it off.
void note_closing() noexcept;

void forget_maps() noexcept;

}  // namespace syncopate::record
