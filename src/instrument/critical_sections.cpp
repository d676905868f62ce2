#include "critical_sections.h"

#include <pthread.h>

#include "libc_range.h"
#include "pthread/callers.h"
#include "pthread/on_engine.h"

namespace syncopate::instrument {

static constinit section_observer* observer = nullptr;
static thread_local constinit struct {
  const volatile void* lock;
  lock_kind kind;
} taking [[gnu::tls_model("initial-exec")]]{};

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

lock_call running_lock_call() noexcept {
  const auto* mutex = static_cast<const volatile pthread_mutex_t*>(taking.lock);
  if (mutex == nullptr || taking.kind != lock_kind::mutex) return {taking.lock, nullptr};
  return {mutex, const_cast<const int*>(&mutex->__data.__owner)};
}

void lock_code_runs(bool runs, const volatile void* taken, lock_kind kind) {
  taking = {taken, kind};
  if (observer != nullptr) on_engine([&] { observer->in_lock_code(runs); });
}

}  // namespace syncopate::instrument
