// annotations.cpp -- what a program says of itself where no compiler sees it: the functions that
// headers for thread sanitizing declare (dynamic annotations, and sanitizer/tsan_interface.h).
//
// On the explored machine a claim of order is an event. What happened before a release of an
// address happens before what follows each acquire of it that comes later in the execution, and
// both orders of the two are explored. An acquired mutex or reader-writer lock takes what its
// releases have given: readers what writers gave, writers what both gave. Whether it excludes
// others is not believed but seen: its own accesses are the program's. Races that are called
// benign, and accesses between Ignore's Begin and End, are not reported, and the verdict says so.
// The other machines have no use for claims.
#include "model/front/engine.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

using namespace syncopate;
using engine::address;
using engine::claim;
using engine::kind;

namespace {

// A lock has two places to release to: its own for writers, the next byte's for readers.
enum side : int { writers = 0, readers = 1 };

void tell(const volatile void* of, claim what, int side, engine::place where) {
  if (!instrument::in_program()) return;
  const instrument::engine_scope inside;
  engine::claim_order(reinterpret_cast<address>(of), side, what, where);
}

void acquired(const volatile void* lock, bool by_writer, engine::place where) {
  tell(lock, claim::acquire, writers, where);
  if (by_writer) tell(lock, claim::acquire, readers, where);
}
void released(const volatile void* lock, bool by_writer, engine::place where) {
  tell(lock, claim::release, by_writer ? writers : readers, where);
}

// Also by static constructors.
void harmless(const volatile void* at, std::size_t bytes, engine::place where) {
  const instrument::engine_scope inside;
  engine::claim_harmless(reinterpret_cast<address>(at), bytes, where);
}

void section(kind what, int by) {
  if (!instrument::in_program()) return;
  const instrument::engine_scope inside;
  engine::ignore(what, by);
}

// Flags of __tsan_mutex_*.
constexpr unsigned read_lock = 1u << 3, try_lock_failed = 1u << 5;

}  // namespace

// The file and the line that a header's macro adds are the compiler's to know.
#define ANNOTATION(name, ...) \
  SYNCOPATE_EXPORT void name(const char*, int __VA_OPT__(, ) __VA_ARGS__)
#define OF [[maybe_unused]] const volatile void* of
#define NOTHING(name, ...) \
  ANNOTATION(name, __VA_ARGS__) {}

// ---- order ------------------------------------------------------------------------------------

#define RELEASES(name) \
  ANNOTATION(name, OF) { tell(of, claim::release, writers, SYNCOPATE_CALLER); }
#define ACQUIRES(name) \
  ANNOTATION(name, OF) { tell(of, claim::acquire, writers, SYNCOPATE_CALLER); }
RELEASES(AnnotateHappensBefore)
ACQUIRES(AnnotateHappensAfter)
RELEASES(WTFAnnotateHappensBefore)
ACQUIRES(WTFAnnotateHappensAfter)
RELEASES(AnnotatePCQPut)
ACQUIRES(AnnotatePCQGet)

SYNCOPATE_EXPORT void __tsan_acquire(void* of) {
  tell(of, claim::acquire, writers, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT void __tsan_release(void* of) {
  tell(of, claim::release, writers, SYNCOPATE_CALLER);
}

// ---- locks ------------------------------------------------------------------------------------

ANNOTATION(AnnotateRWLockAcquired, OF, long by_writer) {
  acquired(of, by_writer != 0, SYNCOPATE_CALLER);
}
ANNOTATION(AnnotateRWLockReleased, OF, long by_writer) {
  released(of, by_writer != 0, SYNCOPATE_CALLER);
}
NOTHING(AnnotateRWLockCreate, OF)
NOTHING(AnnotateRWLockCreateStatic, OF)
NOTHING(AnnotateRWLockDestroy, OF)

SYNCOPATE_EXPORT void __tsan_mutex_create(void*, unsigned) {}
SYNCOPATE_EXPORT void __tsan_mutex_destroy(void*, unsigned) {}
SYNCOPATE_EXPORT void __tsan_mutex_pre_lock(void*, unsigned) {}
SYNCOPATE_EXPORT void __tsan_mutex_post_lock(void* lock, unsigned flags, int) {
  if ((flags & try_lock_failed) == 0) acquired(lock, (flags & read_lock) == 0, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int __tsan_mutex_pre_unlock(void* lock, unsigned flags) {
  released(lock, (flags & read_lock) == 0, SYNCOPATE_CALLER);
  return 0;
}
SYNCOPATE_EXPORT void __tsan_mutex_post_unlock(void*, unsigned) {}
SYNCOPATE_EXPORT void __tsan_mutex_pre_signal(void*, unsigned) {}
SYNCOPATE_EXPORT void __tsan_mutex_post_signal(void*, unsigned) {}
SYNCOPATE_EXPORT void __tsan_mutex_pre_divert(void*, unsigned) {}
SYNCOPATE_EXPORT void __tsan_mutex_post_divert(void*, unsigned) {}

// ---- races that are meant ---------------------------------------------------------------------

ANNOTATION(AnnotateBenignRace, OF, const char*) { harmless(of, 1, SYNCOPATE_CALLER); }
ANNOTATION(AnnotateBenignRaceSized, OF, std::size_t bytes, const char*) {
  harmless(of, bytes, SYNCOPATE_CALLER);
}
ANNOTATION(WTFAnnotateBenignRaceSized, OF, std::size_t bytes, const char*) {
  harmless(of, bytes, SYNCOPATE_CALLER);
}
ANNOTATION(AnnotateIgnoreReadsBegin) { section(kind::read, 1); }
ANNOTATION(AnnotateIgnoreReadsEnd) { section(kind::read, -1); }
ANNOTATION(AnnotateIgnoreWritesBegin) { section(kind::write, 1); }
ANNOTATION(AnnotateIgnoreWritesEnd) { section(kind::write, -1); }
SYNCOPATE_EXPORT void __tsan_ignore_thread_begin() {
  section(kind::read, 1);
  section(kind::write, 1);
}
SYNCOPATE_EXPORT void __tsan_ignore_thread_end() {
  section(kind::read, -1);
  section(kind::write, -1);
}

// ---- hints to a detector that no machine needs ------------------------------------------------

NOTHING(AnnotateIgnoreSyncBegin)
NOTHING(AnnotateIgnoreSyncEnd)
NOTHING(AnnotateCondVarSignal, OF)
NOTHING(AnnotateCondVarSignalAll, OF)
NOTHING(AnnotateCondVarWait, OF, const volatile void*)
NOTHING(AnnotateMutexIsNotPHB, OF)
NOTHING(AnnotateMutexIsUsedAsCondVar, OF)
NOTHING(AnnotatePCQCreate, OF)
NOTHING(AnnotatePCQDestroy, OF)
NOTHING(AnnotatePublishMemoryRange, OF, std::size_t)
NOTHING(AnnotateUnpublishMemoryRange, OF, std::size_t)
NOTHING(AnnotateNewMemory, OF, std::size_t)
NOTHING(AnnotateMemoryIsInitialized, OF, std::size_t)
NOTHING(AnnotateMemoryIsUninitialized, OF, std::size_t)
NOTHING(AnnotateExpectRace, OF, const char*)
NOTHING(AnnotateFlushExpectedRaces)
NOTHING(AnnotateTraceMemory, OF)
NOTHING(AnnotateNoOp, OF)
NOTHING(AnnotateFlushState)
NOTHING(AnnotateThreadName, OF)
SYNCOPATE_EXPORT void AnnotateEnableRaceDetection(const char*, int, int) {}
SYNCOPATE_EXPORT int RunningOnValgrind() { return 0; }
SYNCOPATE_EXPORT double ValgrindSlowdown() { return 1; }
SYNCOPATE_EXPORT const char* ThreadSanitizerQuery(const char*) { return ""; }
