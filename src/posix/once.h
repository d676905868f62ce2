// once.h -- what pthread_once and the end of a thread mean, over a word that is waited for.
//
// Source        POSIX.1-2024; where that leaves a result open, glibc (tests/posix/test_meaning.c).
// Once          who comes second waits, and sees what the first has done; left by an exception or a
//               cancellation, the routine runs again for the next caller.
// Cancellation  a join waits at a cancellation point; pthread_once and pthread_detach do not.
//
// `Word` is one as a call sees it. Instantiated for the modeled machines (pthread/abi_once.cpp and
// threads.cpp in src/model/front); in unmodified programs both are the C library's.
#pragma once

#include <concepts>
#include <cstdint>

#include "posix/times.h"

namespace syncopate::posix {

template <class Word>
concept awaited_word = requires(Word w, std::uint32_t value, limit until) {
  // Waits until the word is another than `value`, and returns that. What its writer did before
  // happens-before.
  { await_change(w, value) } -> std::same_as<std::uint32_t>;
  // The same at a cancellation point; `value` itself when the limit has passed.
  { await_change(w, value, until) } -> std::same_as<std::uint32_t>;
  { replace(w, value, value) } -> std::same_as<bool>;  // compare-and-set
  {publish(w, value)};                                 // and wakes all who wait
};

enum once_state : std::uint32_t { once_new = 0, once_running = 1, once_done = 2 };  // as glibc's

// Returns whether the caller has to run the routine, and to say then how that ended.
template <awaited_word Word>
bool begin_once(Word word) {
  do
    if (await_change(word, once_running) == once_done) return false;
  while (!replace(word, once_new, once_running));
  return true;
}

template <awaited_word Word>
void end_once(Word word, bool done) {
  publish(word, done ? once_done : once_new);
}

template <awaited_word Word>
void call_once(Word word, void (*routine)()) {
  if (!begin_once(word)) return;
  struct attempt {
    Word word;
    bool done = false;
    ~attempt() { end_once(word, done); }
  } mine{word};
  routine();
  mine.done = true;
}

// The end of a thread: its word is 0 until then.
template <awaited_word Word>
void announce_end(Word word) {
  publish(word, 1);
}

// False when the limit has passed first.
template <awaited_word Word>
bool await_end(Word word, limit until) {
  return await_change(word, 0, until) != 0;
}

}  // namespace syncopate::posix
