// file.h -- what a program or library says of its addresses: by libdwfl, which reads symbol tables,
// .gnu_debugdata and debug information, and finds the latter by .gnu_debuglink, by build-id in
// folders of packages, and at the servers that DEBUGINFOD_URLS names. Addresses are those of the
// link.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "names/members.h"

namespace syncopate::names {

struct symbol {
  std::uint64_t start, size;
  const char* name;  // as the file has it, not demangled
};

// One line of a call stack.
struct frame {
  std::string function, file;
  int line = 0;
};

// Code that an entry of debug information is of.
struct range {
  std::uint64_t begin, end;
  Dwarf_Die die;
};

struct segment {
  std::uint64_t offset, address, bytes;
  unsigned flags;
};

// Where debug information is looked for, as elfutils' --debuginfo-path; unless called: beside the
// file, in its folder .debug, and in /usr/lib/debug.
void look_for_debug_files_in(char* path);

// A file of debug information for this build, which is looked for as for a program; "" if none.
std::string debug_file_of(const std::string& build_id);

class file {
 public:
  explicit file(const char* path);
  file(const file&) = delete;

  bool is_elf() const { return elf_ != nullptr; }
  std::string build_id() const;  // in hex; "" if none
  int machine() const;           // e_machine
  std::vector<segment> segments() const;

  // What covers an address; nothing where no symbol does.
  std::optional<symbol> function(std::uint64_t address);
  std::optional<symbol> variable(std::uint64_t address);
  // All of them, by address.
  const std::vector<symbol>& functions() { return read_symbols(), functions_; }
  const std::vector<symbol>& variables() { return read_symbols(), variables_; }

  // The functions at an address, innermost inlined one first; empty where no line is known.
  std::vector<frame> frames(std::uint64_t address);
  // Where the function at an address begins, by the unwind tables; 0 if unknown.
  std::uint64_t function_start(std::uint64_t address);
  // The separate file with its debug information; "" where there is none.
  const std::string& debug_file() { return read_symbols(), debug_file_; }
  // What the file says that file is called, there or not; "" where it says nothing.
  std::string debug_link() const;
  members& parts();
  // The first file that is not there of those that hold the rest of the debug information
  // (-gsplit-dwarf), as the compiler named it; "" where nothing is missing.
  const std::string& missing_split() { return read_units(), missing_split_; }

 private:
  using ranges = std::vector<range>;

  void read_symbols();
  void read_units();
  const ranges& code_of(Dwarf_Die unit);
  std::string name_of_code(Dwarf_Die* die);
  Dwarf* dwarf();

  struct ender {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  std::string debug_file_;
  Dwfl_Callbacks callbacks_;
  std::unique_ptr<Dwfl, ender> dwfl_;
  Dwfl_Module* module_ = nullptr;
  Elf* elf_ = nullptr;
  std::uint64_t bias_ = 0;
  bool has_symbols_ = false, has_units_ = false;
  std::vector<symbol> functions_, variables_;
  ranges units_;
  std::string missing_split_;
  std::unordered_map<Dwarf_Off, std::string> scoped_;  // names of inlined functions
  std::unordered_map<Dwarf_Off, ranges> code_;         // of units
  std::unordered_map<Dwarf_Off, Dwarf_Die> split_;     // what of them is in another file (.dwo)
  std::unique_ptr<members> parts_;
};

}  // namespace syncopate::names
