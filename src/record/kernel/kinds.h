// kinds.h -- what a futex belongs to: by the functions that led to the call, innermost first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/format.h"

namespace syncopate::record::kernel {

struct found_kind {
  wait_kind kind = wait_kind::futex;
  object_kind object = object_kind::futex;
  std::uint64_t address = 0;  // of the object that the futex is a part of
  bool has_owner = false;     // 8 bytes behind the futex stands who holds it: a mutex of glibc's
  // Where in the object that stands for a look while a thread waits; 0: nowhere.
  std::uint32_t owner_at = has_owner ? 8 : 0;
};

// What is known of a wait at a futex.
struct futex_call {
  std::uint64_t address;
  std::uint32_t operation;
  bool word_is_thread;  // it holds the kernel id of another thread of the process
};

// `functions` as the modules name them, mangled or not, "" where unknown. What neither they nor the
// call tell is a futex of the program's own.
found_kind kind_of(const std::vector<std::string>& functions, const futex_call&);

// Whether two functions of pthreads, mangled or not, wait for one kind of object.
bool same_lock(const std::string& one, const std::string& other);

// That many of the innermost functions are worth a look.
inline constexpr unsigned telling_functions = 10;

}  // namespace syncopate::record::kernel
