// What a program says of itself to thread sanitizers' headers: a lock and a queue whose order no
// compiler sees, races that are meant. The argument names the scenario.
// Scenario: happens_before 0 passed: .* believed: order .* claim at annot.*:[0-9]+ .claims=0
// Scenario: happens_after_only 1 data race:
// Scenario: other_address 1 data race:
// Scenario: too_early 1 data race:
// Scenario: tsan_release 0 passed: .* believed: order .* claim at annot.*:[0-9]+ .claims=0
// Scenario: queue 0 passed: .* believed: order .* claim at annot.*:[0-9]+ .claims=0
// Scenario: old_values 0 passed: .* believed: order .* claim at annot.*:[0-9]+ .claims=0
// Scenario: lock_of_writers 0 passed: .* believed: order .* claim at annot.*:[0-9]+ .claims=0
// Scenario: lock_of_readers 0 passed: .* believed: order .* claim at annot.*:[0-9]+ .claims=0
// Scenario: readers_do_not_order_readers 1 data race:
// Scenario: mutex 0 passed: .* believed: order .* claim at annot.*:[0-9]+ .claims=0
// Scenario: lock_that_is_seen 0 passed: .* threads, jumps at most 1$
// Scenario: mutex_try_lock_failed 1 data race:
// Scenario: claim_does_not_exclude 1 data race:
// Scenario: benign 0 passed: .* not modeled: old values in races that the program calls benign
// Scenario: benign_elsewhere 1 data race:
// Scenario: benign_from_the_start 0 passed:
// Scenario: benign_memory_is_new 1 data race:
// Scenario: ignored_reads 0 passed: .* not modeled: old values in races
// Scenario: ignored_reads_only 1 data race:
// Scenario: ignored_section_is_over 1 data race:
// Scenario: all_of_them_link 0 passed:
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>

#include <thread>

extern "C" {
void AnnotateHappensBefore(const char*, int, const volatile void*);
void AnnotateHappensAfter(const char*, int, const volatile void*);
void AnnotatePCQPut(const char*, int, const volatile void*);
void AnnotatePCQGet(const char*, int, const volatile void*);
void AnnotatePCQCreate(const char*, int, const volatile void*);
void AnnotatePCQDestroy(const char*, int, const volatile void*);
void AnnotateRWLockCreate(const char*, int, const volatile void*);
void AnnotateRWLockDestroy(const char*, int, const volatile void*);
void AnnotateRWLockAcquired(const char*, int, const volatile void*, long);
void AnnotateRWLockReleased(const char*, int, const volatile void*, long);
void AnnotateBenignRace(const char*, int, const volatile void*, const char*);
void AnnotateBenignRaceSized(const char*, int, const volatile void*, std::size_t, const char*);
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);
void AnnotateIgnoreWritesBegin(const char*, int);
void AnnotateIgnoreWritesEnd(const char*, int);
void AnnotateIgnoreSyncBegin(const char*, int);
void AnnotateIgnoreSyncEnd(const char*, int);
void AnnotateNewMemory(const char*, int, const volatile void*, std::size_t);
void AnnotateThreadName(const char*, int, const volatile void*);
void AnnotateEnableRaceDetection(const char*, int, int);
void AnnotateFlushState(const char*, int);
int RunningOnValgrind();
double ValgrindSlowdown();
void __tsan_acquire(void*);
void __tsan_release(void*);
void __tsan_mutex_create(void*, unsigned);
void __tsan_mutex_destroy(void*, unsigned);
void __tsan_mutex_pre_lock(void*, unsigned);
void __tsan_mutex_post_lock(void*, unsigned, int);
int __tsan_mutex_pre_unlock(void*, unsigned);
void __tsan_mutex_post_unlock(void*, unsigned);
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
}
#define HERE __FILE__, __LINE__

namespace {

// Tells, but orders nothing: what a kernel or a library does in programs that need annotations.
std::atomic<int> flag;
int data, other_data, place, elsewhere;

template <class First, class Second>
void both(First first, Second second) {
  std::thread one(first);
  std::thread two(second);
  one.join();
  two.join();
}

template <class Before, class After>
void passes_on(Before before, After after) {
  both(
      [&] {
        data = 1;
        before();
        flag.store(1, std::memory_order_relaxed);
      },
      [&] {
        if (flag.load(std::memory_order_relaxed) == 0) return;
        after();
        assert(data == 1);
        data = 2;
      });
}

void happens_before() {
  passes_on([] { AnnotateHappensBefore(HERE, &place); },
            [] { AnnotateHappensAfter(HERE, &place); });
}
void happens_after_only() {
  passes_on([] {}, [] { AnnotateHappensAfter(HERE, &place); });
}
void other_address() {
  passes_on([] { AnnotateHappensBefore(HERE, &elsewhere); },
            [] { AnnotateHappensAfter(HERE, &place); });
}
void too_early() {
  both(
      [] {
        AnnotateHappensBefore(HERE, &place);
        data = 1;
      },
      [] {
        AnnotateHappensAfter(HERE, &place);
        data = 2;
      });
}
void tsan_release() {
  passes_on([] { __tsan_release(&place); }, [] { __tsan_acquire(&place); });
}
void queue() {
  AnnotatePCQCreate(HERE, &place);
  passes_on([] { AnnotatePCQPut(HERE, &place); }, [] { AnnotatePCQGet(HERE, &place); });
  AnnotatePCQDestroy(HERE, &place);
}

// An acquired claim tells of values, too: an old one cannot be read behind it.
void old_values() {
  static std::atomic<int> value;
  both(
      [] {
        value.store(1, std::memory_order_relaxed);
        AnnotateHappensBefore(HERE, &place);
        flag.store(1, std::memory_order_relaxed);
      },
      [] {
        if (flag.load(std::memory_order_relaxed) == 0) return;
        AnnotateHappensAfter(HERE, &place);
        assert(value.load(std::memory_order_relaxed) == 1);
      });
}

// A lock that excludes, but says so by annotations only. `what`: 1 a writer's.
std::atomic<int> readers_or_writer;  // -1: a writer
void lock(long what) {
  for (;;) {
    int now = readers_or_writer.load(std::memory_order_relaxed);
    const bool free = what == 1 ? now == 0 : now >= 0;
    if (free && readers_or_writer.compare_exchange_strong(now, what == 1 ? -1 : now + 1,
                                                          std::memory_order_relaxed))
      break;
    std::this_thread::yield();
  }
  AnnotateRWLockAcquired(HERE, &readers_or_writer, what);
}
void unlock(long what) {
  AnnotateRWLockReleased(HERE, &readers_or_writer, what);
  readers_or_writer.fetch_add(what == 1 ? 1 : -1, std::memory_order_relaxed);
}

void lock_of_writers() {
  AnnotateRWLockCreate(HERE, &readers_or_writer);
  const auto adds = [] {
    lock(1);
    ++data;
    unlock(1);
  };
  both(adds, adds);
  AnnotateRWLockDestroy(HERE, &readers_or_writer);
}
void lock_of_readers() {
  both(
      [] {
        lock(1);
        ++data;
        unlock(1);
      },
      [] {
        lock(0);
        assert(data == 0 || data == 1);
        unlock(0);
      });
}
void readers_do_not_order_readers() {
  const auto adds = [] {
    lock(0);
    ++data;
    unlock(0);
  };
  both(adds, adds);
}

void mutex() {
  static std::atomic<bool> taken;
  __tsan_mutex_create(&taken, 0);
  const auto adds = [] {
    __tsan_mutex_pre_lock(&taken, 0);
    while (taken.exchange(true, std::memory_order_relaxed)) std::this_thread::yield();
    __tsan_mutex_post_lock(&taken, 0, 0);
    ++data;
    __tsan_mutex_pre_unlock(&taken, 0);
    taken.store(false, std::memory_order_relaxed);
    __tsan_mutex_post_unlock(&taken, 0);
  };
  both(adds, adds);
  __tsan_mutex_destroy(&taken, 0);
}
// Its accesses order what its annotations claim: nothing has to be believed.
void lock_that_is_seen() {
  static std::atomic<bool> taken;
  const auto adds = [] {
    while (taken.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    __tsan_mutex_post_lock(&taken, 0, 0);
    ++data;
    __tsan_mutex_pre_unlock(&taken, 0);
    taken.store(false, std::memory_order_release);
  };
  both(adds, adds);
}
void mutex_try_lock_failed() {
  constexpr unsigned try_lock = 1 << 4, failed = 1 << 5;
  passes_on([] { __tsan_mutex_pre_unlock(&place, 0); },
            [] { __tsan_mutex_post_lock(&place, try_lock | failed, 0); });
}
void claim_does_not_exclude() {
  const auto adds = [] {
    AnnotateRWLockAcquired(HERE, &place, 1);
    ++data;
    AnnotateRWLockReleased(HERE, &place, 1);
  };
  both(adds, adds);
}

void add_in_two(int& to) {
  both([&] { ++to; }, [&] { ++to; });
}
void benign() {
  AnnotateBenignRaceSized(HERE, &data, sizeof data, "a counter");
  add_in_two(data);
}
void benign_elsewhere() {
  AnnotateBenignRace(HERE, &data, "a counter");
  add_in_two(other_data);
}
int known_from_the_start;
const bool told = [] {
  AnnotateBenignRaceSized(HERE, &known_from_the_start, sizeof known_from_the_start, "a counter");
  return true;
}();
void benign_from_the_start() {
  assert(told);
  add_in_two(known_from_the_start);
}
void benign_memory_is_new() {
  auto* memory = static_cast<int*>(std::malloc(sizeof(int)));
  AnnotateBenignRaceSized(HERE, memory, sizeof(int), "a counter");
  std::free(memory);
  memory = static_cast<int*>(std::malloc(sizeof(int)));
  *memory = 0;
  add_in_two(*memory);
  std::free(memory);
}

void ignored_reads() {
  both([] { data = 1; },
       [] {
         AnnotateIgnoreReadsBegin(HERE);
         (void)*const_cast<volatile int*>(&data);
         AnnotateIgnoreReadsEnd(HERE);
       });
}
void ignored_reads_only() {
  both([] { data = 1; },
       [] {
         AnnotateIgnoreReadsBegin(HERE);
         data = 2;
         AnnotateIgnoreReadsEnd(HERE);
       });
}
void ignored_section_is_over() {
  both([] { data = 1; },
       [] {
         AnnotateIgnoreWritesBegin(HERE);
         AnnotateIgnoreWritesEnd(HERE);
         __tsan_ignore_thread_begin();
         __tsan_ignore_thread_end();
         data = 2;
       });
}

void all_of_them_link() {
  AnnotateIgnoreSyncBegin(HERE);
  AnnotateIgnoreSyncEnd(HERE);
  AnnotateNewMemory(HERE, &place, sizeof place);
  AnnotateThreadName(HERE, "main");
  AnnotateEnableRaceDetection(HERE, 1);
  AnnotateFlushState(HERE);
  assert(RunningOnValgrind() == 0 && ValgrindSlowdown() == 1);
}

struct scenario {
  const char* name;
  void (*run)();
};
#define SCENARIO(name) \
  { #name, name }
constexpr scenario scenarios[] = {
    SCENARIO(happens_before),
    SCENARIO(happens_after_only),
    SCENARIO(other_address),
    SCENARIO(too_early),
    SCENARIO(tsan_release),
    SCENARIO(queue),
    SCENARIO(old_values),
    SCENARIO(lock_of_writers),
    SCENARIO(lock_of_readers),
    SCENARIO(readers_do_not_order_readers),
    SCENARIO(mutex),
    SCENARIO(lock_that_is_seen),
    SCENARIO(mutex_try_lock_failed),
    SCENARIO(claim_does_not_exclude),
    SCENARIO(benign),
    SCENARIO(benign_elsewhere),
    SCENARIO(benign_from_the_start),
    SCENARIO(benign_memory_is_new),
    SCENARIO(ignored_reads),
    SCENARIO(ignored_reads_only),
    SCENARIO(ignored_section_is_over),
    SCENARIO(all_of_them_link),
};

}  // namespace

int main(int count, char** given) {
  for (const scenario& each : scenarios)
    if (count == 2 && std::strcmp(given[1], each.name) == 0) {
      each.run();
      return 0;
    }
  return 2;
}
