#include "critical_sections.h"

#include <pthread.h>

#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/libc_range.h"
#include "model/front/pthread/callers.h"
#include "model/front/pthread/on_engine.h"
#include "model/front/threads/arch.h"

// Where the linker puts this library's first byte and the end of its code.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[], etext[];

namespace syncopate::instrument {

static constinit section_observer* observer = nullptr;
static thread_local constinit struct {
  const volatile void* lock;
  lock_kind kind;
  bool timed;
  unsigned number;
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

static bool from_machine(engine::place where) noexcept {
  return where >= __ehdr_start && where < etext;
}

void end_transaction(const char* function, engine::place where) {
  // A stand-in may ask others for the program.
  if (!by_program(where) || from_machine(where)) return;
  section_called(function, where);
  if (in_transaction()) on_engine([&] { engine::htm_unfriendly(where); });
}

lock_call running_lock_call(const fiber* of) noexcept {
  // The variable of that fiber: as far from its thread pointer as ours is from ours.
  const auto distance = thread_pointer() - reinterpret_cast<std::uintptr_t>(&taking);
  const auto& its = *reinterpret_cast<const decltype(taking)*>(tls_of(of).high - distance);
  lock_call call{its.lock, nullptr, its.timed, its.number};
  if (its.lock != nullptr && its.kind == lock_kind::mutex) {
    const auto* mutex = static_cast<const volatile pthread_mutex_t*>(its.lock);
    call.owner = const_cast<const int*>(&mutex->__data.__owner);
  }
  return call;
}

void lock_code_runs(bool runs, const volatile void* taken, lock_kind kind, bool timed) {
  taking = {taken, kind, timed, taking.number + 1};
  if (observer != nullptr) on_engine([&] { observer->in_lock_code(runs); });
}

}  // namespace syncopate::instrument
