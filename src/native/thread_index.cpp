// thread_index.cpp -- dense thread numbers, given back when a thread ends and reused.
//
// One bit per number in a static array: no allocation, no limit on threads ever created. A thread
// takes the lowest free number at its first question and keeps it until the last round but one of
// its thread-specific-data destructors, so that other destructors of the thread may still ask.
//
// Memory order (each tag stands at its site below)
//   [G]  relaxed look at a word of numbers: decides only what [T] expects.
//   [T]  acquire RMW that takes a number -- synchronizes with [U]: what the former owner left under
//        it.
//   [U]  release RMW that gives it back.
//   [F]  relaxed: the child of a fork has one thread.
#include <atomic>
#include <bit>
#include <cstdint>

#include <limits.h>
#include <pthread.h>

#include <syncopate/machine.h>

namespace syncopate::machine {
namespace {

// More threads than this alive at once share one number, max_threads itself: users of the number
// must be correct when it is shared (it spreads load; it is not an identity).
constexpr unsigned max_threads = 65536;
constexpr unsigned shared_index = max_threads;

constexpr unsigned bits_per_word = 64;
constexpr unsigned word_count = max_threads / bits_per_word;

// Bit i of taken[w]: number 64 w + i belongs to a living thread.
constinit std::atomic<std::uint64_t> taken[word_count] = {};

constexpr unsigned unassigned = ~0u;

// Initial-exec: one load on the path of every question after the first.
[[gnu::tls_model("initial-exec")]] constinit thread_local unsigned own_index = unassigned;

// The destructor's rounds still to come before the number is given back.
[[gnu::tls_model("initial-exec")]] constinit thread_local int rounds_left = 0;

pthread_key_t at_thread_exit;

// Returns the lowest free number, or shared_index when none is free. Lock-free.
unsigned claim() noexcept {
  for (unsigned w = 0; w < word_count; ++w) {
    std::uint64_t seen = taken[w].load(std::memory_order_relaxed);  // [G]
    while (seen != ~std::uint64_t{0}) {
      const unsigned bit = static_cast<unsigned>(std::countr_one(seen));
      // Acquire: what the number's previous owner wrote to per-thread data happens-before ours;
      // synchronizes with the release in give_back.
      if (taken[w].compare_exchange_weak(seen, seen | std::uint64_t{1} << bit,
                                         std::memory_order_acquire,
                                         std::memory_order_relaxed)) {  // [T]
        return w * bits_per_word + bit;
      }
    }
  }
  return shared_index;
}

void give_back(unsigned index) noexcept {
  if (index >= max_threads) return;
  taken[index / bits_per_word].fetch_and(~(std::uint64_t{1} << index % bits_per_word),
                                         std::memory_order_release);  // [U]
}

// Rounds of thread-specific-data destructors that the number outlives. POSIX grants
// PTHREAD_DESTRUCTOR_ITERATIONS; the last one is left alone, because run-time libraries that watch
// a thread (ThreadSanitizer's) end their own state in it, and ours must not run after them.
constexpr int rounds_kept = PTHREAD_DESTRUCTOR_ITERATIONS - 1;

// Runs once a round; setting the key again asks for another one.
void on_thread_exit(void* self) noexcept {
  if (--rounds_left > 0 && ::pthread_setspecific(at_thread_exit, self) == 0) return;
  give_back(own_index);
  own_index = shared_index;
}

// In a child of fork only the forking thread lives; the other numbers are free again.
void on_fork_child() noexcept {
  for (auto& word : taken) word.store(0, std::memory_order_relaxed);  // [F]
  if (own_index < max_threads) {
    taken[own_index / bits_per_word].store(std::uint64_t{1} << own_index % bits_per_word,
                                           std::memory_order_relaxed);  // [F]
  }
}

[[gnu::cold, gnu::noinline]] unsigned assign() noexcept {
  static const bool ready = ::pthread_key_create(&at_thread_exit, on_thread_exit) == 0 &&
                            ::pthread_atfork(nullptr, nullptr, on_fork_child) == 0;
  own_index = claim();
  rounds_left = rounds_kept;
  // Without a way to learn of the thread's end, a number of its own would be lost with it.
  if (own_index != shared_index &&
      (!ready || ::pthread_setspecific(at_thread_exit, &own_index) != 0)) {
    give_back(own_index);
    own_index = shared_index;
  }
  return own_index;
}

}  // namespace

unsigned thread_index() noexcept {
  const unsigned index = own_index;
  return __builtin_expect(index != unassigned, 1) ? index : assign();
}

}  // namespace syncopate::machine
