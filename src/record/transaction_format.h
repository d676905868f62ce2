// transaction_format.h -- what the record file (format.h) says of transactions.
//
// A transaction's site is the place in the program that begins it. Only outermost transactions are
// counted; those inside belong to them. Mirrored by syncopate/records/recordformat.py.
#pragma once

#include "record/format.h"

namespace syncopate::record {

struct site_entry {           // 32 bytes; id = chunk.first + index; id 0: "sites beyond the table"
  std::uint64_t address;      // return address of the call that begins the transaction
  std::uint32_t first_stack;  // stack id of the first transaction seen, 0 when not captured
  std::uint32_t reserved[5];
};

// Why an attempt came to nothing. The first six are tm::cause.
enum abort_cause : std::uint32_t {
  read_conflict,
  write_conflict,
  commit_conflict,
  no_memory,
  unsafe_call,
  retry,
  hardware_conflict,
  hardware_capacity,
  hardware_explicit,
  hardware_other,
  abort_causes
};

// Why an attempt ran while no other transaction did.
enum alone_reason : std::uint32_t {
  by_algorithm,    // the algorithm runs one at a time, for now
  start_serial,    // the compiler knows that it cannot roll back
  in_flight,       // it met something that cannot be rolled back, and began again
  after_failures,  // it failed too often, or its log did not fit
  alone_reasons
};

struct site_row {              // 256 bytes; one per (thread, site)
  std::uint64_t address;       // site_entry::address
  std::uint32_t site;          // site id
  std::uint32_t most_retries;  // of one transaction
  std::uint64_t started, committed, canceled;
  std::uint64_t hardware;              // of those committed
  std::uint64_t aborts[abort_causes];  // attempts
  std::uint64_t alone[alone_reasons];  // attempts
  // Ticks: before attempts, in those that committed, in those that did not; and as `run`, but of
  // those that ran alone.
  std::uint64_t waited, run, wasted, run_alone;
  // Log entries of `measured` commits of an optimistic algorithm.
  std::uint64_t measured, reads, writes;
  std::uint32_t most_reads, most_writes;
  std::uint64_t reserved[4];
};

struct conflict_row {          // 64 bytes; one per (thread, site, address, winner, cause)
  std::uint64_t address;       // what this transaction wanted; 0: unknown
  std::uint32_t site, winner;  // site ids; winner 0: unknown
  std::uint32_t cause;         // abort_cause
  std::uint32_t stack;         // where one of them was found, 0 when not captured
  std::uint64_t times;
  std::uint64_t reserved[4];
};

struct unsafe_row {      // 64 bytes; one per (thread, site, from, called)
  std::uint64_t from;    // return address of the call that asked to be irrevocable; 0: the
                         // algorithm did
  std::uint64_t called;  // the function that has no transactional clone; 0: not known
  std::uint32_t site, stack;
  std::uint64_t times;
  std::uint64_t switches;  // how many of them forced the transaction to begin again, alone
  std::uint64_t reserved[3];
};

static_assert(sizeof(site_entry) == 32 && sizeof(site_row) == 256);
static_assert(sizeof(conflict_row) == 64 && sizeof(unsafe_row) == 64);

}  // namespace syncopate::record
