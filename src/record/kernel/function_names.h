// function_names.h -- which function of a module an address lies in, by a sorted copy of the
// module's symbols: libdwfl looks through all of them for each address.
#pragma once

#include <cstdint>
#include <vector>

#include <elfutils/libdwfl.h>

namespace syncopate::record::kernel {

class function_names {
 public:
  // The module must be there as long as this is.
  explicit function_names(Dwfl_Module*);

  struct found {
    const char* name = nullptr;  // null: no symbol covers the address
    bool is_sized = false;       // else it stands before the address, with nothing between
  };
  // Of an address in the process. Where several functions begin at one place, a global name
  // precedes a weak one, and that a local one.
  [[nodiscard]] found at(std::uint64_t address) const;

 private:
  struct symbol {
    std::uint64_t begin, end;
    const char* name;
    unsigned section, rank;  // the higher rank precedes
  };
  [[nodiscard]] bool is_in_section(std::uint64_t address, unsigned section) const;

  Dwfl_Module* module_;
  std::vector<symbol> sized_, labels_;  // by begin, then rank
  std::vector<std::uint64_t> reach_;    // the highest end up to each of sized_
};

}  // namespace syncopate::record::kernel
