// machine_abi.cpp -- the functions behind machine.h (machine/instrumented.h) but those of
// transactions: real threads, real time.
//
// Memory order (each tag stands at its site below)
//   [K]  relaxed: a number that is the same whoever finds it.
#include <syncopate/machine/instrumented.h>
#include <syncopate/machine/nap.h>
#include <syncopate/machine/system_call.h>

#include <cerrno>
#include <cstring>

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "model/emulated/memory/access.h"
#include "model/emulated/seam/atomic_seam.h"
#include "model/front/pthread/real.h"

using namespace syncopate;
using namespace syncopate::emulated;

#define PLACE SYNCOPATE_CALLER

namespace {

std::uint64_t nanoseconds(int clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Both clocks over five milliseconds.
std::uint64_t measure_ticks_per_second() noexcept {
  const std::uint64_t from = nanoseconds(CLOCK_MONOTONIC), ticks = __rdtsc();
  std::uint64_t now;
  do now = nanoseconds(CLOCK_MONOTONIC);
  while (now - from < 5'000'000);
  return static_cast<std::uint64_t>(static_cast<double>(__rdtsc() - ticks) * 1e9 /
                                    static_cast<double>(now - from));
}

unsigned count_processors() noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&mask));
}

unsigned count_nodes() noexcept {
  unsigned nodes = 0;
  char path[64] = "/sys/devices/system/node/node";
  const std::size_t stem = std::strlen(path);
  for (unsigned i = 0; i < 1024; ++i) {
    std::size_t end = stem;
    if (i >= 100) path[end++] = static_cast<char>('0' + i / 100);
    if (i >= 10) path[end++] = static_cast<char>('0' + i / 10 % 10);
    path[end++] = static_cast<char>('0' + i % 10);
    path[end] = '\0';
    if (access(path, F_OK) == 0) nodes = i + 1;
    else if (i > nodes + 8) break;
  }
  return nodes == 0 ? 1 : nodes;
}

// What a call of its own costs, found out at the first one; two threads find the same.
template <class Function>
auto once(std::atomic<decltype(Function{}())>& known, Function find) noexcept {
  auto value = known.load(std::memory_order_relaxed);  // [K]
  if (value == 0) {
    const runtime_scope inside;
    known.store(value = find(), std::memory_order_relaxed);  // [K]
  }
  return value;
}

std::uint64_t read_word(const volatile void* word, unsigned size, place where) noexcept {
  switch (size) {
    case 1: return instrument::load(static_cast<const volatile std::uint8_t*>(word), 0, where);
    case 2: return instrument::load(static_cast<const volatile std::uint16_t*>(word), 0, where);
    case 4: return instrument::load(static_cast<const volatile std::uint32_t*>(word), 0, where);
    default: return instrument::load(static_cast<const volatile std::uint64_t*>(word), 0, where);
  }
}

}  // namespace

SYNCOPATE_EXPORT void syncopate_relax(std::uint32_t steps) noexcept {
  while (steps-- != 0) __builtin_ia32_pause();
  machine::detail::nap_if_late(__rdtsc());
}

SYNCOPATE_EXPORT void syncopate_yield() noexcept {
  end_transaction(reason::waiting, PLACE);
  machine::system_call(SYS_sched_yield);
  machine::detail::nap_if_late(__rdtsc());
}

SYNCOPATE_EXPORT std::uint64_t syncopate_ticks() noexcept { return __rdtsc(); }
SYNCOPATE_EXPORT std::uint64_t syncopate_rdtscp(void* processor) noexcept {
  return __rdtscp(static_cast<unsigned*>(processor));
}
// In the place of the instruction (syncopate/instrument/builtins.h).
asm(R"(
  .text
  .globl syncopate_time_stamp, syncopate_time_stamp_and_processor
  .type syncopate_time_stamp, @function
  .type syncopate_time_stamp_and_processor, @function
syncopate_time_stamp:
  endbr64
  rdtsc
  ret
syncopate_time_stamp_and_processor:
  endbr64
  rdtscp
  ret
)");
SYNCOPATE_EXPORT std::uint64_t syncopate_ticks_per_second() noexcept {
  static constinit std::atomic<std::uint64_t> known{0};
  return once(known, [] { return measure_ticks_per_second(); });
}
SYNCOPATE_EXPORT std::uint64_t syncopate_now(int clock) noexcept { return nanoseconds(clock); }

SYNCOPATE_EXPORT unsigned syncopate_processor() noexcept {
  const int processor = sched_getcpu();
  return processor < 0 ? 0 : static_cast<unsigned>(processor);
}
SYNCOPATE_EXPORT unsigned syncopate_processors() noexcept {
  static constinit std::atomic<unsigned> known{0};
  return once(known, [] { return count_processors(); });
}
SYNCOPATE_EXPORT unsigned syncopate_node() noexcept {
  unsigned processor = 0, node = 0;
  return getcpu(&processor, &node) == 0 ? node : 0;
}
SYNCOPATE_EXPORT unsigned syncopate_nodes() noexcept {
  static constinit std::atomic<unsigned> known{0};
  return once(known, [] { return count_nodes(); });
}

SYNCOPATE_EXPORT unsigned syncopate_thread_index() noexcept { return self().index; }
SYNCOPATE_EXPORT int syncopate_self() noexcept { return self().id; }

// A transaction that waits can only be ended by the one that it waits for; its reads count as
// accesses, so that the time limit ends it else.
SYNCOPATE_EXPORT bool syncopate_await(const volatile void* word, unsigned size, int, int,
                                      bool (*done)(void* context, std::uint64_t value),
                                      void* context, std::uint64_t until,
                                      std::uint64_t* value) noexcept {
  for (backoff wait;;) {
    *value = read_word(word, size, PLACE);
    if (done(context, *value)) return true;
    if (until != 0 && __rdtsc() >= until) return false;
    const runtime_scope inside;
    wait.once();
  }
}

SYNCOPATE_EXPORT int syncopate_park(const void* word, std::uint32_t expected,
                                    const machine::deadline* until, std::uint32_t bitset) noexcept {
  using machine::park_result;
  end_transaction(reason::waiting, PLACE);
  int operation = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
  if (until != nullptr && until->clock == CLOCK_REALTIME) operation |= FUTEX_CLOCK_REALTIME;
  const timespec* const limit = until != nullptr ? &until->at : nullptr;
  const long result = machine::system_call(SYS_futex, reinterpret_cast<long>(word), operation,
                                           expected, reinterpret_cast<long>(limit), 0, bitset);
  switch (result) {
    case 0: return static_cast<int>(park_result::woken);
    case -EAGAIN: return static_cast<int>(park_result::value_changed);
    case -ETIMEDOUT: return static_cast<int>(park_result::timed_out);
    default: return static_cast<int>(park_result::interrupted);
  }
}

SYNCOPATE_EXPORT int syncopate_wake(const void* address, int count, std::uint32_t bitset) noexcept {
  end_transaction(reason::waiting, PLACE);
  return static_cast<int>(machine::system_call(SYS_futex, reinterpret_cast<long>(address),
                                               FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, count, 0, 0,
                                               bitset));
}

// Machines with a clock of their own are told of computation so; here it takes its time.
SYNCOPATE_EXPORT void syncopate_work(std::uint64_t) noexcept {}
