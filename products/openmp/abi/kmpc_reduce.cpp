// kmpc_reduce.cpp -- reductions of LLVM's libomp. The compiler asks how a thread is to add its
// part: alone (1), by atomic operations (2), or not at all (0: another one did).
//
// Ours: one after the other under a lock of the team's, as libomp has it for few threads; in larger
// teams by atomic operations where the compiler has made them. Else the runtime decides, which can
// join the parts in a tree of its barrier. The lock that the compiler gives stays the runtime's: in
// teams that are not ours it may be in use.

#include "openmp/abi/kmpc.h"
#include "openmp/base/export.h"
#include "openmp/config.h"
#include "openmp/locks/locks.h"
#include "openmp/locks/program_locks.h"
#include "openmp/teams/team.h"

using namespace syncopate::openmp;        // NOLINT(google-build-using-namespace): this is the ABI
using namespace syncopate::openmp::kmpc;  // NOLINT(google-build-using-namespace)

namespace {

enum answer : std::int32_t { alone = 1, by_atomics = 2 };

// libomp's ident_t, the compiler's record of a place in the program, part of its ABI.
struct place {
  std::int32_t reserved;
  std::int32_t flags;
};
constexpr std::int32_t has_atomics = 0x10;

// Teams so small pass a lock on faster than their atomic operations fail each other; libomp's
// bound.
constexpr std::uint32_t few = 4;

reduction choose(const frame& f, const void* location) noexcept {
  if (f.threads <= few) return reduction::locked;
  const bool can = (static_cast<const place*>(location)->flags & has_atomics) != 0;
  return can ? reduction::atomic : reduction::by_runtime;
}

// The frame whose reduction is ours from now to its end; null where it is the runtime's.
frame* begin(const binding& b, const void* location) noexcept {
  frame* const f = locks_are_ours() ? frame_for(b) : nullptr;
  if (f == nullptr) return nullptr;
  f->reducing = choose(*f, location);
  return f->reducing == reduction::by_runtime ? nullptr : f;
}

std::int32_t answer_for(const frame& f, const void* lock) noexcept {
  if (f.reducing == reduction::atomic) return by_atomics;
  lock_object_at(f.in->reducing, lock);
  return alone;
}

// The frame whose reduction ends here, if it was ours; its lock is released.
frame* end(const binding& b, const void* lock) noexcept {
  frame* const f = locks_are_ours() ? frame_for(b) : nullptr;
  if (f == nullptr || f->reducing == reduction::by_runtime) return nullptr;
  if (f->reducing == reduction::locked) unlock_object_at(f->in->reducing, lock);
  f->reducing = reduction::by_runtime;
  return f;
}

}  // namespace

SYNCOPATE_OPENMP_EXPORT std::int32_t __kmpc_reduce_nowait(void* location, std::int32_t thread,
                                                          std::int32_t count, std::size_t size,
                                                          void* data, kmpc_copy combine,
                                                          void* lock) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (const frame* const f = begin(b, location)) return answer_for(*f, lock);
  return b.to->real.__kmpc_reduce_nowait(location, thread, count, size, data, combine, lock);
}

// Only called by a thread that was to add its part alone.
SYNCOPATE_OPENMP_EXPORT void __kmpc_end_reduce_nowait(void* location, std::int32_t thread,
                                                      void* lock) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (end(b, lock) == nullptr) b.to->real.__kmpc_end_reduce_nowait(location, thread, lock);
}

SYNCOPATE_OPENMP_EXPORT std::int32_t __kmpc_reduce(void* location, std::int32_t thread,
                                                   std::int32_t count, std::size_t size, void* data,
                                                   kmpc_copy combine, void* lock) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (const frame* const f = begin(b, location)) return answer_for(*f, lock);
  if (!is_recording())
    return b.to->real.__kmpc_reduce(location, thread, count, size, data, combine, lock);
  const task_wait recorded(b, __builtin_return_address(0), barrier_of_runtime);
  return b.to->real.__kmpc_reduce(location, thread, count, size, data, combine, lock);
}

// Called by all; the barrier that ends the construct.
SYNCOPATE_OPENMP_EXPORT void __kmpc_end_reduce(void* location, std::int32_t thread, void* lock) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (frame* const f = end(b, lock))
    return barrier(*f, *b.to, location, thread, __builtin_return_address(0));
  if (!is_recording()) return b.to->real.__kmpc_end_reduce(location, thread, lock);
  const task_wait recorded(b, __builtin_return_address(0), barrier_of_runtime);
  b.to->real.__kmpc_end_reduce(location, thread, lock);
}
