// hold_watch.h -- whether the holder of a sampled section lost its processor in it.
#pragma once

#include <cstdint>

namespace syncopate::record {

struct thread_state;

// What a hold has to ask the kernel for.
enum class asking : std::uint8_t {
  always,   // at most one system call, and only if the thread was switched since it last asked
  if_free,  // watch only if that takes none
};

// Around a sampled hold, inside the section; the second before the release.
void begin_hold_watch(asking) noexcept;
void end_hold_watch() noexcept;
// After the release: counts what was seen in a row of kind `holder` (format.h).
void write_hold_watch(thread_state&, std::uint32_t lock) noexcept;
[[nodiscard]] bool has_hold_watch() noexcept;
// Whether the hold that was watched kept its processor, but for giving it up by itself.
// Requires: has_hold_watch().
[[nodiscard]] bool hold_ran_on() noexcept;
void drop_hold_watch() noexcept;

}  // namespace syncopate::record
