// caller.h -- which OpenMP runtime a call is meant for. The rule, which every entry point uses.
//
// A process may hold several runtimes: libgomp for one library, LLVM's libomp for another, private
// copies of either under other names in Python wheels. They export the same names, and the
// preloaded ones stand before all of them. Without us the loader decides, by the module that makes
// a call: what it finds for that module in the global scope, else in the module's own. What we
// know of a call is its return address and its arguments, and the return address alone does not
// tell who called: a compiler makes a function's last call a jump (gcc from -O2 on, and with -Os),
// and then it is where the function itself returns to: in another module of the program, in a
// runtime or in our own code, since both of these run the program's regions and tasks.
//
//   R1  Locks and critical sections need no runtime. While they are ours, they are ours in every
//       call, so who releases one does what who took it did. Where they are the runtimes', the
//       one that was asked first for a lock is asked again (passed_on.h).
//   R2  An argument that the compiler has put into the calling module says which that is, in any
//       call: the outlined function of a region or a task, the ident_t of each __kmpc_ call.
//   R3  Else the return address does. Where it lies in a runtime, that one is meant: it calls
//       nothing but itself and what modules that are bound to it have given it.
//   R4  Where it lies in our own code, which runs the functions of regions, or in a module that
//       can reach no runtime: the only one loaded; else the one of the region that the thread is
//       in; else the one that the loader finds behind us, which all modules reach; else the
//       system's. Without any of them the program could not have been loaded without us; it ends
//       as it would then, by one line and status 127. Of several that are loaded, with none behind
//       us and the thread in no region, the last one is guessed. A wrong guess does no harm: what
//       it could be wrong about does nothing outside of regions, but the ends of loops and
//       sections, which free what the runtime has made for that loop. They are left out then.
//
// R3 errs where a function that ends with such a call is called by another module, in which the
// address then lies, and that module uses another runtime. Only barriers, the ends of loops and
// sections, copyprivate and cancel of libgomp's ABI have nothing but R3 and R4.
//
// No call waits for the loader where R2 to R4 can do without it: the master of a region may hold
// the loader's lock (a library that computes while it is opened).
#pragma once

#include "openmp/runtime/modules.h"
#include "openmp/runtime/runtime.h"
#include "openmp/teams/run_ahead.h"

namespace syncopate::openmp {

// The slow way, which may ask the loader. In any thread at any time; allocates.
const binding& find_meant(name_kind kind, const void* place, const void* caller) noexcept;

// What a call of that kind means; mostly a handful of loads and compares. `place`: of R2, or the
// return address; `caller`: the return address, where `place` may lie in no module.
inline const binding& meant(name_kind kind, const void* place,
                            const void* caller = nullptr) noexcept {
  stop_running_ahead();
  const binding* const b = listed_meaning(kind, place);
  return __builtin_expect(b != nullptr, 1) ? *b : find_meant(kind, place, caller);
}

// Whether `code` belongs to a libomp of a version that we know, and found before. Wait-free.
bool is_in_llvm_runtime(const void* code) noexcept;

}  // namespace syncopate::openmp

// In an exported function: what its call means, by R3 and R4; and with a place in the caller.
#define SYNCOPATE_CALLER(kind) \
  ::syncopate::openmp::meant(::syncopate::openmp::name_kind::kind, __builtin_return_address(0))
#define SYNCOPATE_CALLER_WITH(kind, place)                         \
  ::syncopate::openmp::meant(::syncopate::openmp::name_kind::kind, \
                             reinterpret_cast<const void*>(place), __builtin_return_address(0))
