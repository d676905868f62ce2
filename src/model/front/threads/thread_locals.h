// thread_locals.h -- the thread_local variables of the program and its libraries, by place:
// which bytes below a thread pointer belong to whom, and what they are at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace syncopate::instrument {

// The blocks of all modules that were loaded at the program's start, but the C library's own: those
// hold its allocator's and its locale's state of the OS thread that has them.
struct local_block {
  std::ptrdiff_t offset;  // from the thread pointer, negative
  std::size_t bytes;
  const unsigned char* image;  // the module's initial values; zeros follow
  std::size_t image_bytes;
};
const std::vector<local_block>& local_blocks();

// How far below the thread pointer the blocks reach.
std::size_t locals_reach();

void reset_locals(std::uintptr_t thread_pointer);
// The calling thread's blocks of modules that were loaded later.
void reset_late_locals();
void copy_locals(std::uintptr_t to, std::uintptr_t from);
std::vector<unsigned char> save_locals(std::uintptr_t thread_pointer);
void put_back_locals(std::uintptr_t thread_pointer, const std::vector<unsigned char>&);

}  // namespace syncopate::instrument
