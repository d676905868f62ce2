#include "critical_sections.h"

#include "libc_range.h"
#include "pthread/callers.h"
#include "pthread/on_engine.h"

namespace syncopate::instrument {

static constinit section_observer* observer = nullptr;

void observe_sections(section_observer* by) { observer = by; }

void section_begun(const volatile void* lock, bool shared, engine::place where) {
  if (observer == nullptr) return;
  const engine::place by = cpp_library_code.has(where) ? program_caller(where) : where;
  on_engine([&] { observer->begun(at(lock), shared, by); });
}

void section_ended(const volatile void* lock) {
  if (observer != nullptr) on_engine([&] { observer->ended(at(lock)); });
}

void section_called(const char* function, engine::place where) {
  if (observer == nullptr) return;
  const engine::place by = cpp_library_code.has(where) ? program_caller(where) : where;
  on_engine([&] { observer->called(function, by); });
}

void lock_code_runs(bool runs) {
  if (observer != nullptr) on_engine([&] { observer->in_lock_code(runs); });
}

}  // namespace syncopate::instrument
