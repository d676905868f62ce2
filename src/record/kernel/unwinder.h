// unwinder.h -- from copied registers and a copied stack to return addresses, for one process.
//
// By the unwind tables (.eh_frame) of the modules that the process has mapped, so that code without
// frame pointers is right. A stack that was seen lately is known again by the return addresses in
// their places, without the tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdwfl.h>
#include <sys/types.h>

#include "record/kernel/function_names.h"
#include "record/kernel/kernel_events.h"

namespace syncopate::record::kernel {

struct copied_stack {
  const user_registers* registers;
  const unsigned char* bytes;  // from the stack pointer up
  std::size_t size;
};

// One line of /proc/PID/maps.
struct mapping {
  std::uint64_t begin, end, offset;
  bool executable, shared;
  std::string line;  // without its end
  std::string name;  // "" for memory without a name
};
std::vector<mapping> read_mappings(std::uint32_t process);

class unwinder {
 public:
  explicit unwinder(std::uint32_t process);
  ~unwinder();
  unwinder(const unwinder&) = delete;
  unwinder& operator=(const unwinder&) = delete;

  // Reads which modules are mapped, if that has changed. Returns whether it has. Once the process
  // has ended, what was known stays known.
  bool refresh();
  // Return addresses, innermost first: the place of the system call itself is the first.
  const std::vector<std::uint64_t>& walk(const copied_stack&);
  // The function around a return address, as its module names it; of one without a name, that of
  // the only exported function that ends by a jump to it; "" unknown.
  const std::string& function(std::uint64_t address);
  bool knows(std::uint64_t address) const;
  // The lines that a record has of what is mapped (record/maps.cpp, record/build_ids.h).
  std::string described() const;

 private:
  struct trail {
    std::uint64_t frame_pointer;  // relative to the stack pointer; 0: elsewhere
    std::vector<std::uint64_t> addresses;
    std::vector<std::uint32_t> places;  // of all addresses but the first, from the stack pointer
  };
  friend struct callbacks;

  // Returns whether the walk came to the stack's end, or as far as records go.
  bool by_tables(const copied_stack&, trail&);
  static bool holds(const trail&, const copied_stack&);

  std::string find_function(std::uint64_t address);
  std::string by_jumps(Dwfl_Module*, std::uint64_t address);

  std::uint32_t process_;
  // By module, and there by where a function starts: who jumps there; "": several do.
  std::unordered_map<Dwfl_Module*, std::unordered_map<std::uint64_t, std::string>> jumps_;
  std::unordered_map<Dwfl_Module*, function_names> names_;
  std::unordered_map<std::uint64_t, std::string> functions_;  // by return address
  Dwfl* dwfl_ = nullptr;
  bool attached_ = false;
  std::vector<mapping> mappings_;
  std::unordered_map<std::uint64_t, std::deque<trail>> trails_;  // by the innermost address
  std::size_t trail_count_ = 0;
  trail last_;
  const copied_stack* current_ = nullptr;
};

}  // namespace syncopate::record::kernel
