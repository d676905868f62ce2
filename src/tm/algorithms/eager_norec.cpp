// eager_norec.cpp -- NOrec that writes in place: who writes first takes the one lock of all writers
// and keeps it until it commits; reads are validated by value.
//
// Source        the "eager" NOrec of Matveev & Shavit, "Reduced hardware NOrec: a safe and scalable
//               hybrid transactional memory", ASPLOS 2015, section 3; the lock at the first write:
//               Dalessandro, Dice, Scott, Shavit & Spear, "Transactional mutex locks", Euro-Par
//               2010. How we deviate: writers sleep in a mutex, and who has to wait long for one to
//               finish sleeps there, too.
// Reads         invisible; 1 load of the sequence word and 16 B of log each; none once it writes.
// Writes        undo log. The first one takes the mutex; commit gives it back. A transaction of a
//               place where they soon write (write_predictor.h), and that cannot be canceled, takes
//               it when it begins, as a transactional mutex lock does if it is told to, and then
//               runs code without calls for each access, since it cannot roll back.
// Conflicts     found at the next read after another's commit, by value: no false ones. Writers
//               follow each other, and never begin again.
// Privatization safe without waiting: there is one writer at a time, which is never doomed; a
//               reader that is finds the sequence word changed at its next read, before it uses the
//               value.
//
// Invariants
//   I1  sequence is odd exactly while the holder of the mutex, the one that made it odd, may write;
//       that transaction's snapshot is this odd number, and no other's is.
//   I2  What a transaction has read before it writes was in memory together when it took the mutex.
// Memory order (each tag stands at its site below)
//   [S]  acquire load of sequence (by_value.h).
//   [L]  the release fence behind the store that makes sequence odd keeps what is written from
//        being seen before the odd number (pairs with by_value.h's [V]).
//   [W]  release store that makes it even again, a new number also after a roll-back: a reader may
//        have seen what was undone.
//   [G]  relaxed load under the mutex, which orders all who write sequence.
#include "tm/core/backoff.h"
#include "tm/core/fences.h"
#include "tm/core/hardware.h"
#include "tm/core/threads.h"
#include "tm/core/write_predictor.h"
#include "tm/protocols/by_value.h"
#include "tm/protocols/in_place.h"
#include "tm/protocols/straight.h"

#include <syncopate/locks/auto_lock.h>

#include <cassert>

namespace syncopate::tm {
namespace {

extern const operations writer_operations;

// What the calling thread knows of the places where its transactions begin.
struct experience {
  write_predictor writes_soon;
  u64 began = 0;  // when, if the running one is to be measured; else 0
};
thread_local constinit experience mine [[gnu::tls_model("initial-exec")]];

struct eager_norec : in_place<eager_norec>, by_value<eager_norec> {
  using by_value<eager_norec>::has_changed;

  alignas(64) static constinit std::atomic<u64> sequence;
  alignas(64) static constinit auto_lock writers;

  // How often to look, the backoff being over, while one writer is long: who sleeps for it comes
  // back some fifty microseconds late. (Short ones that follow each other get on better if this
  // thread sleeps.) *Measured*: bayes of the STAMP-like programs with two threads takes 0.91 times
  // as long.
  static u32 looks() noexcept {
    constexpr u32 some_hundred_microseconds = 10'000;
    const bool spare = threads_attached() <= machine::processors();
    return machine::is_modeled || !spare ? 0 : machine::polls(some_hundred_microseconds);
  }

  [[gnu::noinline, gnu::cold]] static u64 wait_for_even_sequence() noexcept {
    u64 now = sequence.load(std::memory_order_acquire);  // [S]
    const u64 first = now;
    u32 left = looks();
    for (backoff p; now & 1; now = sequence.load(std::memory_order_acquire)) {  // [S]
      if (!p.is_over()) p.wait();
      else if (now == first && left != 0) --left, machine::relax();
      else writers.lock(), writers.unlock();  // sleeps
    }
    return now;
  }

  // The recorder counts reads and writes; and sanitizers take it for a defect that a doomed
  // transaction reads what a writer beside it has freed: it does, and does not use it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool writes_at_once = machine::is_modeled;
#else
  static constexpr bool writes_at_once = !observer::watches;
#endif
  // Whether it can run without calls for each access, and never has to roll back.
  static bool may_write_at_once(const transaction* tx) {
    return writes_at_once && fits_hardware(tx->properties);
  }

  // What it is after an inner transaction was canceled, too, which brings the first table back.
  static bool is_writer(const transaction* tx) { return (tx->snapshot & 1) != 0; }

  // Takes the mutex. Returns the sequence, which is even (I1).
  static u64 lock_writers() noexcept {
    writers.lock();
    const u64 present = sequence.load(std::memory_order_relaxed);  // [G]
    assert((present & 1) == 0);
    return present;
  }

  [[gnu::noinline]] static void become_writer(transaction* tx) {
    const u64 present = lock_writers();
    if (present != tx->snapshot && !reads_are_there(tx)) {
      writers.unlock();
      restart(tx, cause::write_conflict);
    }
    if (may_write_at_once(tx))
      mine.writes_soon.has_written(tx->where.resume_at,
                                   mine.began != 0 ? machine::ticks() - mine.began : 0);
    tx->snapshot = present + 1;
    sequence.store(present + 1, std::memory_order_relaxed);  // [L]
    std::atomic_thread_fence(std::memory_order_release);     // [L]
    tx->ops = &writer_operations;
  }
  static void stop_writing(transaction* tx) {
    sequence.store(++tx->snapshot, std::memory_order_release);  // [W]
    writers.unlock();
  }

  // For in_place.
  static void own(address, transaction* tx) {
    if (!is_writer(tx)) become_writer(tx);
  }

  template <class T>
  static T load(const T* at, transaction* tx) {
    return __builtin_expect(is_aligned(at), 1) ? read_and_log(at, tx) : load_pieces(at, tx);
  }
  template <class T>
  static T load_again(const T* at, transaction* tx) {
    return __builtin_expect(is_aligned(at), 1) ? read_again(at, tx) : load_pieces(at, tx);
  }

  template <class T>
  static void store(T* at, T value, transaction* tx) {
    const bool captured = is_captured(tx, reinterpret_cast<address>(at));
    if (!captured) own(0, tx);
    if (!captured || !tx->checkpoints.empty()) log_old(at, tx);
    poke(at, value);
  }
  template <class T>
  [[gnu::always_inline]] static void log_old(const T* at, transaction* tx) {
    const bool logged = __builtin_expect(is_aligned(at), 1) ? tx->undo.add(at, peek(at))
                                                            : tx->undo.add_block(at, sizeof(T));
    if (__builtin_expect(!logged, 0)) restart(tx, cause::memory);
  }

  static u32 begin(transaction* tx) {
    mine.began = 0;
    if (may_write_at_once(tx)) {
      const write_predictor::next what = mine.writes_soon.ask(tx->where.resume_at);
      if (what == write_predictor::next::write_at_once) return begin_as_writer(tx);
      if (what == write_predictor::next::measure) mine.began = machine::ticks();
    }
    tx->reads.clear_to_first();
    tx->snapshot = even_sequence();
    return started;
  }
  static u32 begin_as_writer(transaction* tx);

  static bool commit(transaction* tx) {
    observer::commits_with(tx, [tx](u32& reads, u32& writes) {
      reads = static_cast<u32>(tx->reads.size());
      writes = static_cast<u32>(tx->undo.size());
    });
    if (!is_writer(tx)) {
      if (mine.began != 0) mine.writes_soon.has_only_read(tx->where.resume_at);
      return true;
    }
    observer::publishes(tx);
    stop_writing(tx);
    return true;
  }

  static void roll_back(transaction* tx) {
    if (is_writer(tx)) observer::publishes(tx);
    tx->undo.undo(0, tx->stack_begin - tx->stack_extent, tx->stack_begin);
    if (!is_writer(tx)) return;
    stop_writing(tx);
    tx->reads.clear();  // what it read as a writer is not there, so it says too little
  }
};

alignas(64) constinit std::atomic<u64> eager_norec::sequence{0};
alignas(64) constinit auto_lock eager_norec::writers;

// Once it is the writer: nobody else changes memory.
struct writer : eager_norec {
  template <class T>
  static T load(const T* at, transaction*) {
    return peek(at);
  }
  template <class T>
  static T load_again(const T* at, transaction*) {
    return peek(at);
  }
  template <class T>
  static T load_for_write(const T* at, transaction* tx) {
    log_old(at, tx);  // GCC calls the store that follows one "after a write"
    return peek(at);
  }
  static void load_block(void* to, const void* from, std::size_t size, transaction*) {
    std::memcpy(to, from, size);
  }
  template <class T>
  static void store(T* at, T value, transaction* tx) {
    if (!is_captured(tx, reinterpret_cast<address>(at)) || !tx->checkpoints.empty())
      log_old(at, tx);
    poke(at, value);
  }
  template <class T>
  static void store_again(T* at, T value, transaction* tx) {
    if (__builtin_expect(!tx->checkpoints.empty(), 0)) return store(at, value, tx);
    poke(at, value);
  }
};
const operations writer_operations = make_operations<writer>("eager_norec");

// The writer since its beginning, which cannot roll back.
struct certain_writer : straight<certain_writer> {
  static bool commit(transaction* tx) { return eager_norec::stop_writing(tx), true; }
};
const operations certain_operations = make_operations<certain_writer>("eager_norec");

u32 eager_norec::begin_as_writer(transaction* tx) {
  tx->snapshot = lock_writers() + 1;
  sequence.store(tx->snapshot, std::memory_order_relaxed);  // [L]
  program_store_fence();                                    // [L]
  tx->set(1, mode::writer, tx->plain);
  tx->ops = &certain_operations;
  return run_uninstrumented | save_live_variables;
}

}  // namespace

extern const operations eager_norec_operations = make_operations<eager_norec>("eager_norec");

}  // namespace syncopate::tm
