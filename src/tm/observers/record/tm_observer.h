// tm_observer.h -- transactions are recorded: by the place that begins them, what became of
// them, and who made them begin again.
//
// The engine and the algorithms call these whether anybody watches or not; where nobody does,
// observers/none has them all empty, so that the library for everyday use has no code of this.
//
// Invariants
//   I1  `row` is null, or a row of the thread in the record that is open in this process.
//   I2  read_addresses[i] is an address under read_orecs[i].
// Memory order
//   Relaxed everywhere: what others see of `site` and of last writers names them in a report, and
//   decides nothing.
#pragma once

#include "record/transaction_format.h"
#include "tm/logs/buffer.h"
#include "tm/observers/record/rows.h"

namespace syncopate::tm {

struct registers;
struct transaction;
enum class cause : unsigned char;

namespace observer {

inline constexpr bool watches = true;

// What is kept in each thread's transaction.
struct notes {
  // ---- of the running transaction
  std::atomic<u32> site{0};  // site id; others read it when they lose to this one
  record::site_row* row = nullptr;
  u64 since = 0;  // ticks at which it began to wait for its attempt, or the attempt began
  u32 retries = 0;
  cause last_cause{};
  bool met_unsafe = false;
  u32 read_count = 0, write_count = 0;  // at its commit
  // ---- of its present attempt: the address that it wants, where it lost, and to which site
  address wanted = 0, lost_at = 0;
  u32 lost_to = 0;
  buffer<address> read_addresses;
  // ---- of the thread
  rows<record::site_row, record::chunk_kind::site_rows> sites;
  rows<record::conflict_row, record::chunk_kind::conflicts> conflicts;
  rows<record::unsafe_row, record::chunk_kind::unsafe_calls> unsafe_calls;
};

// An outermost transaction wants to begin; an attempt of it does (tx->how says in which way).
void began(transaction* tx, const registers& where) noexcept;
void attempts(transaction* tx) noexcept;

// It is about to commit; or its algorithm knows better what it has read and written, and says so:
// count(reads, writes) sets the two numbers. Then it has committed.
void commits(transaction* tx) noexcept;
void commits_with_sizes(transaction* tx, u32 reads, u32 writes) noexcept;
template <class Count>
void commits_with(transaction* tx, Count count) noexcept {
  u32 reads = 0, writes = 0;
  count(reads, writes);
  commits_with_sizes(tx, reads, writes);
}
void committed(transaction* tx) noexcept;

// An attempt came to nothing: its logs are still there. Or a hardware transaction did.
void aborted(transaction* tx, cause why) noexcept;
void left_hardware(transaction* tx, machine::htm::status) noexcept;
void canceled(transaction* tx) noexcept;

// It comes to what cannot be rolled back: the program, at the return address `from`, calls a
// function without a clone (null: not known which).
void calls_unsafe(transaction* tx, const void* called, const void* from) noexcept;

// It writes to memory, or gives up what it has written: others that read that will lose to it.
void publishes(transaction* tx) noexcept;

// ---- what algorithms say of conflicts, before they restart --------------------------------------

// It is going to acquire what belongs to this address.
void wants(const transaction* tx, address a) noexcept;
// An address whose record goes into the read log. Returns false when there is no memory.
bool reads(const transaction* tx, address a) noexcept;
// It loses this address, the one that it wants, or the one of its read log's entry `index`; to
// `winner`, if that is known.
void loses(const transaction* tx, address a, const transaction* winner) noexcept;
void loses_wanted(const transaction* tx, const transaction* winner) noexcept;
void loses_read(const transaction* tx, std::size_t index, const transaction* winner) noexcept;

// The descriptor's thread has ended.
void thread_ended(transaction* tx) noexcept;

}  // namespace observer
}  // namespace syncopate::tm
