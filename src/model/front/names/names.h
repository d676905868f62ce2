// names.h -- what to call an address of the program, in reports and messages.
//
// note_*() are cheap and called while the program runs; all others read debug information, take
// milliseconds, and are for reports and failures only. Everything is called inside an engine_scope,
// by one thread at a time, and allocates with malloc. The same run gives the same names: no name
// holds an address, except where nothing else is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::instrument {

// ---- code -------------------------------------------------------------------------------------
// A place is a return address, as engine.h's `where`: what is named is the call before it.

struct source_position {
  std::string function;  // qualified, without parameters: "syncopate::ticket_lock::lock"
  std::string file;      // as the compiler recorded it; empty without debug information
  int line = 0;          // 0 when unknown

  // "lock at ticket_lock.h:48", "lock" without a file, with the file's last component only.
  [[nodiscard]] std::string text() const;
};

// The function at the place and those it was inlined into, innermost first. Never empty: without
// debug information the symbol, else the module and offset, else the address; "?" for null.
std::vector<source_position> code_frames(const void* place);

// The frame a reader knows: the innermost one that is not of the standard library, libc or
// machine.h, else the innermost.
source_position position_of(const void* place);

// All frames at the places, the callers' after the callees', that a reader knows; at most `most`.
std::vector<source_position> known_frames(const void* const* places, std::size_t count,
                                          std::size_t most);

// position_of(place).text(): "push at queue.cpp:123".
std::string code_name(const void* place);
// "queue.cpp:123", or the function's name when the file is not known.
std::string place_name(const void* place);

// A function by its entry address (a thread's start routine): "worker at main.cpp:12"; for what
// std::thread makes of a function object, that: "main::{lambda()#1}".
std::string function_name(const void* entry);

// ---- data -------------------------------------------------------------------------------------

enum class region : unsigned char { unknown, variable, heap, freed, stack, tls };

struct data_position {
  region where = region::unknown;
  std::string object;      // "queue", "block of 64 bytes allocated at make in main.cpp:30", ...
  std::string member;      // ".head.lock_[2]" when debug information has it; may be empty
  std::size_t offset = 0;  // of the address from the object's start, or from the member's

  // Identifies the object among others with the same name (two blocks of one place): its start.
  std::uintptr_t start = 0;
  std::size_t bytes = 0;

  // "queue.head.lock_[2]", "queue+8".
  [[nodiscard]] std::string text() const;
};

data_position data_position_of(std::uintptr_t address);

// data_position_of(address).text(): "queue_lock+8", "queue.word_", "stack of thread 3", "0x7f...".
std::string data_name(std::uintptr_t address);

// The objects in [low, low + bytes), at most `most` of them, then "...": the name of a cache line.
// "counter, flag", "queue.head, .tail".
std::string range_name(std::uintptr_t low, std::size_t bytes, std::size_t most = 3);

// ---- what names are made from -----------------------------------------------------------------

// The program got a block, or gave it back. A block that was freed keeps its name until its address
// is given out again.
void note_allocation(std::uintptr_t address, std::size_t bytes, const void* place);
void note_free(std::uintptr_t address, const void* place);

struct heap_block {
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
  const void* allocated = nullptr;  // places
  const void* freed = nullptr;
  bool live = false;
};
// The block that holds the address: the live one, else the one freed last, else start is 0.
heap_block block_of(std::uintptr_t address);

// "stack of thread 3", and the thread_local variables of thread 3 by name. tls_high is the thread
// pointer. Bounds as fiber.h's stack_of() and tls_of() give them.
void note_thread(unsigned thread, std::uintptr_t stack_low, std::uintptr_t stack_high,
                 std::uintptr_t tls_low, std::uintptr_t tls_high);

// What a thread runs: its start routine and the argument of that, before it runs. Remembers enough
// to tell what std::thread's own routine will call.
void note_thread_routine(unsigned thread, const void* routine, const void* argument);
// The entry of the function that names the thread best; null when unknown.
const void* thread_routine(unsigned thread);

// Forgets blocks and threads: the program starts anew (the explored machine's next execution).
void forget_blocks_and_threads();

}  // namespace syncopate::instrument
