// members.h -- what debug information says of variables and of their parts, and of what parameters
// point to.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace syncopate::names {

struct place {
  std::string members, file;
  int line = 0;
  std::uint64_t bytes = 0;  // of what it is
};

// What a pointer in a variable leads to: the pointer's own members (as place has them), what is in
// an element that it points to, and how large such an element is.
struct target {
  std::string pointer;
  place inner;
  std::uint64_t element = 0;
};

// Classes by their full name; nothing where several have it.
using definitions = std::unordered_map<std::string, std::optional<Dwarf_Die>>;

class members {
 public:
  explicit members(Dwarf* dwarf);

  // The member of at most `bytes` bytes that begins at a link-time address, as ".stats.lock",
  // "[3].lock" or "" for the whole variable.
  std::optional<place> variable(std::uint64_t address, std::uint64_t bytes);
  // The same in what the function's parameter points to, as "TYPE::MEMBERS", at the last of these
  // offsets; at each of those before it lies a pointer to what the next one is in.
  std::optional<place> parameter(std::uint64_t function, unsigned wanted, std::uint64_t bytes,
                                 const std::vector<std::uint64_t>& offsets);
  // What of exactly `bytes` bytes lies `offset` bytes behind what the pointer at that link-time
  // address points to: an array, as far as this knows. Of a type that is not known, as void, what
  // it points to itself is taken for that.
  std::optional<target> pointed(std::uint64_t address, std::uint64_t offset, std::uint64_t bytes);

 private:
  struct location {
    std::uint64_t begin;
    Dwarf_Die variable, type;
  };

  std::vector<location> covering(std::uint64_t address) const;
  void collect(Dwarf_Die* parent, const std::string& scope, int depth);
  void add_class(Dwarf_Die die, const std::string& scope);
  void add_variable(Dwarf_Die die);

  std::map<std::uint64_t, Dwarf_Die> variables_;
  std::unordered_map<std::uint64_t, Dwarf_Die> functions_;
  definitions classes_;
};

}  // namespace syncopate::names
