// access_seam.h -- what the compiler's calls for plain accesses come to on the emulated
// machine. The machines with an engine have the one in src/model/front/threads/fibers.
#pragma once

#include "model/emulated/memory/access.h"
#include "model/front/engine.h"

namespace syncopate::instrument {

// Does not cross the end of a line.
[[gnu::always_inline]] inline void access(const void* at, unsigned bytes, engine::kind what,
                                          engine::place where) {
  what == engine::kind::read ? emulated::read(at, bytes, where) : emulated::write(at, bytes, where);
}

[[gnu::always_inline]] inline void access_range(const void* at, std::size_t bytes,
                                                engine::kind what, engine::place where) {
  const auto start = reinterpret_cast<std::uintptr_t>(at);
  if (bytes == 0) return;
  what == engine::kind::read ? emulated::read_range(start, bytes, where)
                             : emulated::write_range(start, bytes, where);
}

[[gnu::always_inline]] inline void access_unaligned(const void* at, unsigned bytes,
                                                    engine::kind what, engine::place where) {
  if (emulated::crosses_lines(reinterpret_cast<std::uintptr_t>(at), bytes)) [[unlikely]]
    access_range(at, bytes, what, where);
  else access(at, bytes, what, where);
}

// A writer is a reader, too.
[[gnu::always_inline]] inline void access_update(const void* at, unsigned bytes,
                                                 engine::place where) {
  access_unaligned(at, bytes, engine::kind::write, where);
}

}  // namespace syncopate::instrument
