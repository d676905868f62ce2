// modules.h -- the modules of the process that call us: where each lies, and what its calls mean.
//
// A module that the program closes is unloaded as without us, and its place is free for another.
// The rule:
//
//   U1  An entry is believed while it is `listed`: then its module has yet to call __cxa_finalize,
//       the last of its destructors as compilers make them. We stand before that function, which
//       makes the entry `ending`. A module that does not call us there (linked without the
//       compiler's start files, or bound past us) is kept open for ever instead, as is a runtime;
//       and so is each while a record is made, in which an address has one meaning.
//   U2  An `ending` entry, whose module may have destructors left that call us, is believed while
//       the loader has unloaded nothing since: it runs all destructors of what it closes before it
//       unloads any of it, and what they open in vain, or close, it unloads after that. It is asked
//       at each such call, and needs none of the loader's locks that one who closes a module holds
//       meanwhile.
//   U3  A module that has called __cxa_finalize before it called us is noted as `ending`, too, so
//       that a later first call does not make its entry `listed`.
//   U4  What an entry leads to, a runtime, stays loaded: we have opened it. So who has looked one
//       up may go on with it. Only a runtime that is first seen when the program closes the last
//       module that uses it cannot be held any more; without us it would go, too, under its own
//       threads. It is `ended`, and by U2 left out of the list when it has gone (runtime.h).
//
// Nobody can call from a module that is unloaded: the return address of a call, and the function or
// the place that it is given, lie in code that is being run. Threads of ours that wait for the next
// region have no function of the program's on their stacks.
//
// Entries are never given back, but used again. `life` counts their uses above two bits of state:
//
//   state     who changes it, to what
//   free      whoever has a module to note: written
//   written   the same: listed or ending
//   listed    the thread that closes the module: ending
//   ending    whoever finds that something has been unloaded since: free, of the next use
//
// Memory order
//   [S]  release store of `life` when the fields are written, and a release fence between `written`
//        and them; acquire load of it before they are read, and an acquire fence between them and
//        the second look at it: who finds the same `life` twice has read fields that belong to it.
//   [L]  the list: acq_rel RMW that adds an entry, acquire load: who finds one finds its `next`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "openmp/runtime/runtime.h"

namespace syncopate::openmp {

enum class name_kind : std::uint8_t { gomp, kmpc, omp };
inline constexpr std::size_t name_kinds = 3;

// What a module's calls mean, by the kind of their names; null: it reaches no such runtime.
struct meanings {
  const binding* of[name_kinds]{};
};

struct noted_module {
  enum state : std::uint32_t { free, written, listed, ending, states };

  std::atomic<std::uint32_t> life{free};
  std::atomic<std::uintptr_t> begin{0}, size{0};
  std::atomic<const binding*> means[name_kinds]{};
  std::atomic<unsigned long long> unloaded{0};  // when it became `ending`: how many were
  noted_module* next = nullptr;

  [[nodiscard]] bool has(const void* place) const noexcept {
    return reinterpret_cast<std::uintptr_t>(place) - begin.load(std::memory_order_relaxed) <  // [S]
           size.load(std::memory_order_relaxed);                                              // [S]
  }
  static state state_of(std::uint32_t life) noexcept { return state{life % states}; }
};

extern constinit std::atomic<noted_module*> modules;  // newest first; entries are never removed
inline noted_module* newest_module() noexcept {
  return modules.load(std::memory_order_acquire);  // [L]
}

// Of a listed module; null also where its calls have no meaning.
inline const binding* listed_meaning(name_kind kind, const void* place) noexcept {
  for (const noted_module* m = newest_module(); m != nullptr; m = m->next) {
    const std::uint32_t life = m->life.load(std::memory_order_acquire);  // [S]
    if (!m->has(place) || noted_module::state_of(life) != noted_module::listed) continue;
    const binding* const b =
        m->means[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);  // [S]
    std::atomic_thread_fence(std::memory_order_acquire);                           // [S]
    if (m->life.load(std::memory_order_relaxed) == life) return b;                 // [S]
  }
  return nullptr;
}

// Whether the module in which that place lies is known, by an entry that may be believed.
bool find_known(const void* place, meanings& found) noexcept;

// Notes a module that lies in [begin, begin + size).
void note_module(std::uintptr_t begin, std::uintptr_t size, const meanings& means) noexcept;

}  // namespace syncopate::openmp
