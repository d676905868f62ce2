// instrumented.h -- the contract of machine.h for code compiled with -fsanitize=thread and
// linked with a machine's runtime instead of libtsan. Every question goes to that runtime, through
// the C functions below; accesses to memory reach it through the compiler's own calls.
//
// Memory order
//   [F]  both fences of the pair are full ones: a machine sees every fence.
#pragma once

#include <syncopate/machine/types.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <type_traits>

#include <linux/futex.h>
#include <sched.h>

// What a machine's runtime exports for machine.h (src/model/front/compiler/machine_abi.cpp).
extern "C" {
void syncopate_relax(std::uint32_t steps) noexcept;
void syncopate_yield() noexcept;
std::uint64_t syncopate_ticks() noexcept;
std::uint64_t syncopate_ticks_per_second() noexcept;
std::uint64_t syncopate_now(int clock) noexcept;  // nanoseconds
unsigned syncopate_processor() noexcept;
unsigned syncopate_processors() noexcept;
unsigned syncopate_node() noexcept;
unsigned syncopate_nodes() noexcept;
unsigned syncopate_thread_index() noexcept;
int syncopate_self() noexcept;
std::uint32_t syncopate_fork_generation() noexcept;
int syncopate_forked_from() noexcept;

// Waits until done(context, value) holds for a value of the word read with `order`; returns true
// and that value. Returns false when syncopate_ticks() passes `until` first (0: no limit).
// depth: -1 spin; 0, 1 the processor sleeps on the line (light, deep). `done` must be a pure
// function of the value and of what its context holds: the machine calls it as it likes.
bool syncopate_await(const volatile void* word, unsigned size, int order, int depth,
                     bool (*done)(void* context, std::uint64_t value), void* context,
                     std::uint64_t until, std::uint64_t* value) noexcept;

int syncopate_park(const void* word, std::uint32_t expected,
                   const syncopate::machine::deadline* until, std::uint32_t bitset) noexcept;
int syncopate_wake(const void* address, int count, std::uint32_t bitset) noexcept;

// The low byte of the result is htm::cause, then the code, then bit 16 may_retry, bit 17 nested.
std::uint32_t syncopate_htm_begin(int mode) noexcept;
void syncopate_htm_commit() noexcept;
void syncopate_htm_abort(unsigned char code) noexcept;
bool syncopate_htm_active() noexcept;
bool syncopate_htm_usable() noexcept;
void syncopate_htm_fell_back() noexcept;
unsigned syncopate_htm_lines_touched() noexcept;
}

namespace syncopate::machine {

inline constexpr bool is_modeled = true;

inline void relax() noexcept { ::syncopate_relax(1); }
[[nodiscard]] inline std::uint32_t polls(std::uint32_t steps) noexcept { return steps; }
inline void spin(std::uint32_t steps) noexcept {
  if (steps != 0) ::syncopate_relax(steps);
}
// No modeled machine has them: what a program asks for early is no access.
inline void prefetch(const void* /*address*/) noexcept {}
inline void prefetch_to_write(const void* /*address*/) noexcept {}
inline void demote(const void* /*address*/) noexcept {}
inline void yield() noexcept { ::syncopate_yield(); }
[[nodiscard]] inline std::uint64_t ticks() noexcept { return ::syncopate_ticks(); }
[[nodiscard]] inline std::uint64_t now() noexcept { return ::syncopate_now(CLOCK_MONOTONIC); }
[[nodiscard]] inline std::uint64_t ticks_per_second() noexcept {
  return ::syncopate_ticks_per_second();
}
[[nodiscard]] inline unsigned processor() noexcept { return ::syncopate_processor(); }
[[nodiscard]] inline unsigned processors() noexcept { return ::syncopate_processors(); }
inline void learn_processors(int /*count*/) noexcept {}  // all count the machine's
[[nodiscard]] inline bool may_spin() noexcept { return processors() > 1; }

namespace detail {
template <class T>
std::uint64_t to_bits(T value) noexcept {
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<std::uintptr_t>(value);
  else return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
}
template <>
inline std::uint64_t to_bits(bool value) noexcept {
  return value ? 1 : 0;
}
template <class T>
T from_bits(std::uint64_t bits) noexcept {
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(bits);
  else return static_cast<T>(bits);
}
template <class T, class Predicate>
bool await(const std::atomic<T>& word, std::memory_order order, int depth, Predicate& predicate,
           std::uint64_t until, T& value) noexcept {
  static_assert(sizeof(T) <= 8 && (std::is_integral_v<T> || std::is_pointer_v<T>));
  std::uint64_t bits = 0;
  const bool satisfied = ::syncopate_await(
      &word, sizeof(T), static_cast<int>(order), depth,
      [](void* context, std::uint64_t seen) -> bool {
        return (*static_cast<Predicate*>(context))(from_bits<T>(seen));
      },
      &predicate, until, &bits);
  value = from_bits<T>(bits);
  return satisfied;
}
}  // namespace detail

template <class T, class Predicate>
T wait_until(const std::atomic<T>& word, std::memory_order order, Predicate predicate) noexcept {
  T value;
  detail::await(word, order, -1, predicate, 0, value);
  return value;
}

template <class T, class Predicate>
bool wait_until(const std::atomic<T>& word, std::memory_order order, Predicate predicate,
                std::uint64_t until) noexcept {
  T value;
  return detail::await(word, order, -1, predicate, until, value);
}

template <class T, class Predicate>
T monitor_wait(const std::atomic<T>& word, std::memory_order order, Predicate predicate,
               sleep_depth depth) noexcept {
  T value;
  detail::await(word, order, depth == sleep_depth::light ? 0 : 1, predicate, 0, value);
  return value;
}

template <class T, class Predicate>
bool monitor_wait(const std::atomic<T>& word, std::memory_order order, Predicate predicate,
                  sleep_depth depth, std::uint64_t until) noexcept {
  T value;
  return detail::await(word, order, depth == sleep_depth::light ? 0 : 1, predicate, until, value);
}

// The machine polls where it has no monitor.
[[nodiscard]] inline bool monitor_usable() noexcept { return true; }
inline void doze(std::uint64_t duration) noexcept {
  constexpr std::uint64_t ticks_per_step = 40;  // of relax(), about
  spin(static_cast<std::uint32_t>(duration / ticks_per_step) + 1);
}

// An estimate: ten microseconds.
[[nodiscard]] inline std::uint64_t wake_latency() noexcept { return ticks_per_second() / 100'000; }
inline void measure_wake_latency() noexcept {}

inline void prepare_asymmetric_fences() noexcept {}
inline void light_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }  // [F]
[[nodiscard]] inline bool heavy_fence() noexcept { return light_fence(), true; }

[[nodiscard]] inline std::int64_t remaining(const deadline& until) noexcept {
  const std::uint64_t t = ::syncopate_now(until.clock);
  const std::int64_t seconds =
      static_cast<std::int64_t>(until.at.tv_sec) - static_cast<std::int64_t>(t / 1'000'000'000u);
  if (seconds > 4'000'000'000) return INT64_MAX;
  if (seconds < -4'000'000'000) return INT64_MIN;
  return seconds * 1'000'000'000 +
         (until.at.tv_nsec - static_cast<std::int64_t>(t % 1'000'000'000u));
}

inline park_result park(const void* word, std::uint32_t expected, const deadline* until = nullptr,
                        std::uint32_t bitset = FUTEX_BITSET_MATCH_ANY,
                        bool /*process_shared*/ = false) noexcept {
  return static_cast<park_result>(::syncopate_park(word, expected, until, bitset));
}
inline int wake(const void* address, int count, std::uint32_t bitset = FUTEX_BITSET_MATCH_ANY,
                bool /*process_shared*/ = false) noexcept {
  return ::syncopate_wake(address, count, bitset);
}

[[nodiscard]] inline std::uint32_t fork_generation() noexcept {
  return ::syncopate_fork_generation();
}
[[nodiscard]] inline int forked_from() noexcept { return ::syncopate_forked_from(); }
[[nodiscard]] inline int self() noexcept { return ::syncopate_self(); }
[[nodiscard]] inline int known_self() noexcept { return ::syncopate_self(); }
[[nodiscard]] inline bool now_and_then(std::uint32_t period) noexcept {
  static thread_local std::uint32_t tally = 0;
  return ++tally % period == 0;
}
inline constexpr std::uint32_t no_processor = 0xffff;
[[nodiscard]] inline std::uint32_t processor_hint() noexcept { return ::syncopate_processor(); }
[[nodiscard]] inline unsigned thread_index() noexcept { return ::syncopate_thread_index(); }
[[nodiscard]] inline unsigned node() noexcept { return ::syncopate_node(); }
[[nodiscard]] inline unsigned node_count() noexcept { return ::syncopate_nodes(); }

namespace htm {
[[nodiscard]] inline bool usable() noexcept { return ::syncopate_htm_usable(); }
[[nodiscard]] inline bool commits() noexcept { return usable(); }  // else it is not a machine's HTM
[[nodiscard, gnu::always_inline]] inline status begin(mode how = mode::normal) noexcept {
  const std::uint32_t bits = ::syncopate_htm_begin(static_cast<int>(how));
  return {static_cast<cause>(bits & 0xff), static_cast<unsigned char>(bits >> 8 & 0xff),
          (bits >> 16 & 1) != 0, (bits >> 17 & 1) != 0};
}
[[nodiscard]] inline bool active() noexcept { return ::syncopate_htm_active(); }
inline void commit() noexcept { ::syncopate_htm_commit(); }
template <unsigned char Code>
void abort() noexcept {
  ::syncopate_htm_abort(Code);
}
inline void fell_back() noexcept { ::syncopate_htm_fell_back(); }
[[nodiscard]] inline unsigned lines_touched() noexcept { return ::syncopate_htm_lines_touched(); }
}  // namespace htm

}  // namespace syncopate::machine
