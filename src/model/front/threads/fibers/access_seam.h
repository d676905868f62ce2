// access_seam.h -- what the compiler's calls for plain accesses come to on the machines with an
// engine. The emulated machine has its own file of this name (src/model/emulated/seam).
#pragma once

#include "model/front/engine.h"
#include "model/front/scope.h"

namespace syncopate::instrument {

[[gnu::always_inline]] inline void access(const void* at, std::size_t bytes, engine::kind what,
                                          engine::place where) {
  if (!in_program()) [[unlikely]]
    return;
  const engine_scope inside;
  engine::access(reinterpret_cast<engine::address>(at), bytes, what, where);
}

// May lie across the end of a line.
[[gnu::always_inline]] inline void access_unaligned(const void* at, std::size_t bytes,
                                                    engine::kind what, engine::place where) {
  access(at, bytes, what, where);
}
[[gnu::always_inline]] inline void access_range(const void* at, std::size_t bytes,
                                                engine::kind what, engine::place where) {
  if (bytes != 0) access(at, bytes, what, where);
}

// A read followed by a write of the same place: one call where the compiler joined them.
[[gnu::always_inline]] inline void access_update(const void* at, std::size_t bytes,
                                                 engine::place where) {
  access(at, bytes, engine::kind::read, where);
  access(at, bytes, engine::kind::write, where);
}

}  // namespace syncopate::instrument
