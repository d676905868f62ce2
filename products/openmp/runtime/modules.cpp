// modules.cpp -- see modules.h.
//
// Memory order (each tag stands at its site below)
//   [E]  relaxed: `unloaded` is written before the `life` that makes it valid [S], or, when a
//        listed entry ends, by the only thread that can close its module.
//   [F]  relaxed: the C library's function; all who look for it find the same.

#include "openmp/runtime/modules.h"

#include <new>

#include <dlfcn.h>

#include "openmp/base/elf_tables.h"
#include "openmp/base/export.h"
#include "openmp/runtime/passed_on.h"

namespace syncopate::openmp {

constinit std::atomic<noted_module*> modules{nullptr};

namespace {

// What becomes of an entry whose state was `seen`, if nobody has changed it meanwhile.
bool change(noted_module& m, std::uint32_t seen, std::uint32_t to) noexcept {
  return m.life.compare_exchange_strong(seen, to, std::memory_order_acq_rel,  // [S]
                                        std::memory_order_acquire);           // [S]
}

bool is_outdated(const noted_module& m, std::uint32_t life, unsigned long long unloaded) noexcept {
  return noted_module::state_of(life) == noted_module::ending &&
         m.unloaded.load(std::memory_order_relaxed) != unloaded;  // [E]
}

void free_outdated(unsigned long long unloaded) noexcept {
  for (noted_module* m = newest_module(); m != nullptr; m = m->next) {
    const std::uint32_t life = m->life.load(std::memory_order_acquire);     // [S]
    if (is_outdated(*m, life, unloaded)) (void)change(*m, life, life + 1);  // the next use
  }
}

// One that is the caller's to write.
noted_module& take_entry() noexcept {
  for (noted_module* m = newest_module(); m != nullptr; m = m->next) {
    const std::uint32_t life = m->life.load(std::memory_order_relaxed);  // [S]
    if (noted_module::state_of(life) == noted_module::free &&
        change(*m, life, life + noted_module::written))
      return *m;
  }
  auto* const made = new noted_module;
  made->life.store(noted_module::written, std::memory_order_relaxed);                    // [S]
  made->next = modules.load(std::memory_order_acquire);                                  // [L]
  while (!modules.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {  // [L]
  }
  return *made;
}

void write_entry(std::uintptr_t begin, std::uintptr_t size, const meanings& means,
                 noted_module::state state, unsigned long long unloaded) noexcept {
  noted_module& m = take_entry();
  std::atomic_thread_fence(std::memory_order_release);  // [S]
  m.begin.store(begin, std::memory_order_relaxed);      // [S]
  m.size.store(size, std::memory_order_relaxed);        // [S]
  for (std::size_t i = 0; i < name_kinds; ++i)
    m.means[i].store(means.of[i], std::memory_order_relaxed);                     // [S]
  m.unloaded.store(unloaded, std::memory_order_relaxed);                          // [E]
  const std::uint32_t life = m.life.load(std::memory_order_relaxed);              // [S]
  m.life.store(life - noted_module::written + state, std::memory_order_release);  // [S]
}

// Whether a module that lies there has called __cxa_finalize, and is still there (U3).
bool has_ended(std::uintptr_t begin, std::uintptr_t size, unsigned long long unloaded) noexcept {
  for (const noted_module* m = newest_module(); m != nullptr; m = m->next) {
    const std::uint32_t life = m->life.load(std::memory_order_acquire);  // [S]
    if (noted_module::state_of(life) == noted_module::ending && !is_outdated(*m, life, unloaded) &&
        m->begin.load(std::memory_order_relaxed) - begin < size)  // [S]
      return true;
  }
  return false;
}

// The module that has the place in its data runs its last destructors.
void end_module(const void* place) noexcept {
  const unsigned long long unloaded = count_unloaded();
  free_outdated(unloaded);
  end_runtime(place, unloaded);
  bool known = false;
  for (noted_module* m = newest_module(); m != nullptr; m = m->next) {
    const std::uint32_t life = m->life.load(std::memory_order_acquire);  // [S]
    if (noted_module::state_of(life) != noted_module::listed || !m->has(place)) continue;
    known = true;
    forget_within(m->begin.load(std::memory_order_relaxed),  // [S]
                  m->size.load(std::memory_order_relaxed));  // [S]
    m->unloaded.store(unloaded, std::memory_order_relaxed);  // [E]
    (void)change(*m, life, life - noted_module::listed + noted_module::ending);
  }
  if (!known)
    write_entry(reinterpret_cast<std::uintptr_t>(place), 1, {}, noted_module::ending, unloaded);
}

}  // namespace

bool find_known(const void* place, meanings& found) noexcept {
  for (noted_module* m = newest_module(); m != nullptr; m = m->next) {
    const std::uint32_t life = m->life.load(std::memory_order_acquire);  // [S]
    const noted_module::state state = noted_module::state_of(life);
    if ((state != noted_module::listed && state != noted_module::ending) || !m->has(place))
      continue;
    for (std::size_t i = 0; i < name_kinds; ++i)
      found.of[i] = m->means[i].load(std::memory_order_relaxed);  // [S]
    const bool outdated = state == noted_module::ending && is_outdated(*m, life, count_unloaded());
    std::atomic_thread_fence(std::memory_order_acquire);            // [S]
    if (m->life.load(std::memory_order_relaxed) != life) continue;  // [S]
    if (!outdated) return true;
    (void)change(*m, life, life + 1);
  }
  return false;
}

void note_module(std::uintptr_t begin, std::uintptr_t size, const meanings& means) noexcept {
  const unsigned long long unloaded = count_unloaded();
  free_outdated(unloaded);
  const noted_module::state state =
      has_ended(begin, size, unloaded) ? noted_module::ending : noted_module::listed;
  write_entry(begin, size, means, state, unloaded);
}

}  // namespace syncopate::openmp

// Called by each module when it is closed or the process ends, with a place in its data.
SYNCOPATE_OPENMP_EXPORT void __cxa_finalize(void* place) {
  using function = void (*)(void*);
  static constinit std::atomic<function> real{nullptr};
  function next = real.load(std::memory_order_relaxed);  // [F]
  if (next == nullptr) {
    next = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "__cxa_finalize"));
    real.store(next, std::memory_order_relaxed);  // [F]
  }
  next(place);
  if (place != nullptr) syncopate::openmp::end_module(place);
}
