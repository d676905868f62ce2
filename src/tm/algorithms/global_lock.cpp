// global_lock.cpp -- one transaction at a time, straight to memory.
//
// Source        folklore; the lock is syncopate::auto_lock, which sleeps.
// Conflicts     none: no other transaction runs (regime.h).
// Privatization safe: nobody else is in the middle of anything.
//
// Two tables: `alone` for transactions that cannot be canceled, which need no log; `alone_undo` for
// those that can. The latter logs the old value before every write, those that the compiler calls
// "write after write" included: the first write may belong to an outer transaction, or to a
// transaction's part before an inner one began.
#include "tm/core/engine.h"
#include "tm/protocols/straight.h"

namespace syncopate::tm {
namespace {

struct alone : straight<alone> {};

struct alone_undo : straight<alone_undo> {
  template <class T>
  static void store(T* at, T value, transaction* tx) {
    if (!is_captured(tx, reinterpret_cast<address>(at)) || !tx->checkpoints.empty())
      log(at, sizeof(T), tx);
    poke(at, value);
  }
  template <class T>
  static void store_again(T* at, T value, transaction* tx) {
    store(at, value, tx);
  }
  static void store_block(void* to, const void* from, std::size_t size, transaction* tx) {
    log(to, size, tx);
    std::memcpy(to, from, size);
  }
  static void log(const void* at, std::size_t size, transaction* tx) {
    if (__builtin_expect(!tx->undo.add_block(at, size), 0)) restart(tx, cause::memory);
  }
  // roll_back(): the engine undoes tx->undo.
};

struct global_lock : alone_undo {
  static constexpr bool is_in_turn = true;
};
struct irrevocable : global_lock {
  static constexpr bool may_be_solo = false;
};

}  // namespace

const operations alone_operations = make_operations<alone>("alone");
const operations alone_undo_operations = make_operations<alone_undo>("alone");
extern const operations global_lock_operations = make_operations<global_lock>("global_lock");
extern const operations irrevocable_operations = make_operations<irrevocable>("irrevocable");

}  // namespace syncopate::tm
