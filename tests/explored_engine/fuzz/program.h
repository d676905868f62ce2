// program.h -- small random concurrent programs, as data: made from a seed, told as text, made
// smaller.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {

enum class kind : std::uint8_t {
  // Atomic accesses and fences.
  load,
  store,
  modify,
  compare_exchange,
  fence,
  store_if,  // if the last value that the thread read is not 0
  copy,      // stores the last value that the thread read
  count,     // adds one by compare-exchanges, as long as others come before
  spawn,     // begins a thread (spawned_by)
  // Plain accesses, always or if the last value that the thread read is not 0.
  read,
  write,
  read_if,
  write_if,
  // Of atomic variables, whatever they are, if the last value that the thread read is not 0.
  peek_if,  // reads one plainly
  wipe_if,  // writes 0 into all plainly; from then on they have other sizes
  // Waiting for a value of an atomic variable, and sleeping on one.
  await,
  await_timed,
  poll,      // loads with relax() in between
  poll_cas,  // compare-exchanges with relax() in between
  // Loops without end, of which only the machine knows that they poll; until ...
  loop,           // the value is not 0
  loop_two,       // either of two is not 0
  loop_cas,       // the compare-exchange succeeds
  loop_exchange,  // the exchange finds the expected value
  loop_try,       // the mutex is had
  loop_relax,     // as loop, with relax() in between
  clock,          // how often much time has passed
  join,           // waits for the end of a thread
  park,           // while the variable has the value
  park_timed,
  wake,
  requeue,
  requeue_all,  // weak: to the word itself
  // pthread's objects.
  lock,
  lock_timed,
  try_lock,
  unlock,
  wait,
  wait_timed,
  signal,
  broadcast,
  take,  // semaphores
  take_timed,
  try_take,
  post,
  lock_shared,
  lock_exclusive,
  lock_shared_timed,
  lock_exclusive_timed,
  try_shared,
  try_exclusive,
  unlock_any,  // the reader-writer lock
  barrier,
  once,
  // Hardware transactions.
  begin,
  commit,
  abort,
  count_  // of kinds
};

struct operation {
  kind what{};
  std::uint8_t variable = 0;
  std::uint8_t how = 0;  // modify: engine::operation; wake: how many; store: 1 as in C++17
  bool weak = false;
  int value = 0, expected = 0;
  std::uint32_t bits = ~0u;                               // park, wake: whom a wake means
  std::memory_order order = std::memory_order_relaxed;    // of success
  std::memory_order failure = std::memory_order_relaxed;  // of compare_exchange
};

struct program {
  std::uint64_t seed = 0;
  std::vector<std::vector<operation>> threads;
  std::string options;  // of both searches (SYNCOPATE_EXPLORE)
  // Of the variables, which stand side by side: 1 to 16. A wipe turns them round.
  std::array<std::uint8_t, 3> bytes{4, 4, 4};
};

inline constexpr unsigned variables = 3, locks = 2, most_operations = 16;

// focus: empty, or one of focuses(): of which operations alone the program is made.
program make(std::uint64_t seed, const std::string& focus = {});
const std::vector<std::string>& focuses();

// Whether it has loops without end; that only read one word; and with awaits in their place.
bool has_loops(const program&), has_other_loops(const program&);
program with_awaits(program);
// Whether its loops may give up; where they may not.
bool may_give_up(const program&);
program with_patience(program);

// The operation that begins the thread: its thread and place there. Main begins all others.
std::optional<std::pair<std::size_t, std::size_t>> spawned_by(const program&, std::size_t thread);

// One line for each thread.
std::string text(const program&);

// The program with everything removed, and every order relaxed, without which `still_fails` holds.
program shrink(program, const std::function<bool(const program&)>& still_fails);

}  // namespace fuzz
