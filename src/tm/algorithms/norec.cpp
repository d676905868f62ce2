// norec.cpp -- NOrec: no ownership records; one sequence lock for all that commit, and reads
// validated by value.
//
// Source        Dalessandro, Spear & Scott, "NOrec: streamlining STM by abolishing ownership
//               records", PPoPP 2010. How we deviate: reads of what the transaction has written are
//               found by a 64-bit filter before the redo log is searched; reads that the compiler
//               knows to be repeated are not logged again.
// Reads         invisible; 1 load of the sequence word and 16 B of log each.
// Writes        redo log. Commit: 1 RMW + 1 store on the sequence word, whatever was written.
// Conflicts     found at the next read after another's commit, by value: no false ones.
// Privatization safe without waiting: those that commit write back one after the other, and a
//               transaction that is doomed finds the sequence word changed at its next read,
//               before it uses the value.
//
// Invariants
//   I1  sequence is odd exactly while one transaction, the one that made it odd, writes back.
//   I2  All that a transaction has read was in memory together at a moment when sequence was its
//       snapshot, an even number (by_value.h).
// Memory order (each tag stands at its site below)
//   [S]  acquire load of sequence (by_value.h).
//   [L]  acquire RMW that makes sequence odd; the release fence behind it keeps the write-back from
//        being seen before the odd number (pairs with by_value.h's [V]).
//   [W]  release store that makes it even again.
//   [G]  relaxed where [L] fails: the transaction validates next, by [S].
#include "tm/core/backoff.h"
#include "tm/protocols/by_value.h"
#include "tm/protocols/redo.h"

namespace syncopate::tm {
namespace {

struct norec : redo<norec>, by_value<norec> {
  using by_value<norec>::has_changed;

  alignas(64) static constinit std::atomic<u64> sequence;

  [[gnu::noinline, gnu::cold]] static u64 wait_for_even_sequence() noexcept {
    u64 now = sequence.load(std::memory_order_acquire);                                 // [S]
    for (backoff p; now & 1; now = sequence.load(std::memory_order_acquire)) p.wait();  // [S]
    return now;
  }

  template <class T>
  static T load(const T* at, transaction* tx) {
    return is_unwritten(at, tx) ? read_and_log(at, tx) : load_slow(at, tx);
  }
  template <class T>
  static T load_again(const T* at, transaction* tx) {
    return is_unwritten(at, tx) ? read_again(at, tx) : load_slow(at, tx);
  }

  static u32 begin(transaction* tx) {
    forget(tx);
    tx->reads.clear_to_first();
    tx->snapshot = even_sequence();
    return started;
  }

  static bool commit(transaction* tx) {
    if (tx->writes.empty()) return keep_memory(tx), true;
    while (!sequence.compare_exchange_strong(tx->snapshot, tx->snapshot + 1,
                                             std::memory_order_acquire,   // [L]
                                             std::memory_order_relaxed))  // [G] validated next
      tx->snapshot = validate(tx, cause::commit_conflict);
    std::atomic_thread_fence(std::memory_order_release);  // [L]
    observer::publishes(tx);
    tx->writes.write_back();
    sequence.store(tx->snapshot + 2, std::memory_order_release);  // [W]
    keep_memory(tx);
    return true;
  }

  static void roll_back(transaction* tx) { restore_memory(tx); }
};

alignas(64) constinit std::atomic<u64> norec::sequence{0};

constexpr const char* name = "norec";
const operations writer_operations = make_operations<norec>(name);

// Until its first write, a transaction does not ask whether it has written what it reads.
struct reader : norec {
  template <class T>
  static T load(const T* at, transaction* tx) {
    return is_plain(at) ? read_and_log(at, tx) : load_slow(at, tx);
  }
  template <class T>
  static T load_again(const T* at, transaction* tx) {
    return is_plain(at) ? read_again(at, tx) : load_slow(at, tx);
  }
  template <class T>
  static T load_for_write(const T* at, transaction* tx) {
    return load(at, tx);
  }
  template <class T>
  static void store(T* at, T value, transaction* tx) {
    tx->ops = &writer_operations;
    norec::store(at, value, tx);
  }
  template <class T>
  static void store_again(T* at, T value, transaction* tx) {
    store(at, value, tx);
  }
  static void store_block(void* to, const void* from, std::size_t size, transaction* tx) {
    tx->ops = &writer_operations;
    norec::store_block(to, from, size, tx);
  }
  static void load_block(void* to, const void* from, std::size_t size, transaction* tx) {
    algorithm<reader>::load_block(to, from, size, tx);
  }

 private:
  template <class T>
  [[gnu::always_inline]] static bool is_plain(const T* at) {
    const address a = reinterpret_cast<address>(at);
    return __builtin_expect((stacks::may_be_on_stack(a) | (a & (sizeof(T) - 1))) == 0, 1);
  }
};

}  // namespace

extern const operations norec_operations = make_operations<reader>(name);

}  // namespace syncopate::tm
