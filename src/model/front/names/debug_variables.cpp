// debug_variables.cpp -- DWARF's variables by address, their members by offset, and the
// qualified names of what DWARF describes.
#include "debug_dies.h"

#include <dwarf.h>

#include <cstdlib>
#include <map>
#include <vector>

namespace syncopate::instrument {

namespace {

struct module_variables {
  std::map<std::uintptr_t, Dwarf_Die> at_address;
  std::map<std::uintptr_t, Dwarf_Die> at_tls_offset;
};

constexpr int most_nesting = 64;  // scopes and types; deeper is a damaged file

// Where a variable is, from its location expression: DW_OP_addr X, or for a thread_local
// DW_OP_const8u X, DW_OP_GNU_push_tls_address (or DW_OP_form_tls_address).
void add_variable(Dwarf_Die* die, Dwarf_Addr bias, module_variables& into) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(die, DW_AT_location, &attribute) == nullptr ||
      dwarf_getlocation(&attribute, &operations, &count) != 0 || count == 0) {
    return;
  }
  Dwarf_Word start = operations[0].number;
  if (operations[0].atom == DW_OP_addrx) {  // an index into .debug_addr (clang, DWARF 5)
    Dwarf_Attribute value;
    if (dwarf_getlocation_attr(&attribute, operations, &value) != 0 ||
        dwarf_formaddr(&value, &start) != 0) {
      return;
    }
  }
  if ((operations[0].atom == DW_OP_addr || operations[0].atom == DW_OP_addrx) && count == 1) {
    into.at_address.emplace(start + bias, *die);
  } else if (count == 2 && (operations[1].atom == DW_OP_GNU_push_tls_address ||
                            operations[1].atom == DW_OP_form_tls_address)) {
    into.at_tls_offset.emplace(operations[0].number, *die);
  }
}

void collect(Dwarf_Die* parent, Dwarf_Addr bias, int depth, module_variables& into) {
  Dwarf_Die die;
  if (depth > most_nesting || dwarf_child(parent, &die) != 0) return;
  do {
    switch (dwarf_tag(&die)) {
      case DW_TAG_variable: add_variable(&die, bias, into); break;
      case DW_TAG_namespace:
      case DW_TAG_subprogram:  // static variables of functions
      case DW_TAG_lexical_block: collect(&die, bias, depth + 1, into); break;
      default: break;
    }
  } while (dwarf_siblingof(&die, &die) == 0);
}

const module_variables& variables_of(Dwfl_Module* module) {
  static std::map<Dwfl_Module*, module_variables> known;
  const auto [at, is_new] = known.try_emplace(module);
  if (!is_new) return at->second;
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = nullptr;
  while ((unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr) {
    collect(unit, bias, 0, at->second);
  }
  return at->second;
}

// The entry that has the name and the place in the program: behind inlined copies and definitions
// outside their class.
Dwarf_Die declaration_of(Dwarf_Die die) {
  for (int hops = 0; hops < most_nesting; ++hops) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == nullptr &&
        dwarf_attr(&die, DW_AT_specification, &attribute) == nullptr) {
      break;
    }
    if (dwarf_formref_die(&attribute, &next) == nullptr) break;
    die = next;
  }
  return die;
}

// The type behind typedefs and cv; false when there is none.
bool plain_type(Dwarf_Die* of, Dwarf_Die& type) {
  Dwarf_Attribute attribute;
  return dwarf_attr_integrate(of, DW_AT_type, &attribute) != nullptr &&
         dwarf_formref_die(&attribute, &type) != nullptr && dwarf_peel_type(&type, &type) == 0;
}

bool is_record(Dwarf_Die* type) {
  const int tag = dwarf_tag(type);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool of_standard_library(Dwarf_Die* type) {
  const std::string name = qualified_name(type);
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::") || name.starts_with("__");
}

// The member or base class of a record that holds the offset, which becomes the offset in it.
bool member_at(Dwarf_Die* record, std::size_t& offset, Dwarf_Die& member) {
  if (dwarf_child(record, &member) != 0) return false;
  do {
    const int tag = dwarf_tag(&member);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    Dwarf_Attribute attribute;
    Dwarf_Word start = 0;
    if (dwarf_attr(&member, DW_AT_data_member_location, &attribute) != nullptr) {
      if (dwarf_formudata(&attribute, &start) != 0) continue;
    } else if (dwarf_tag(record) != DW_TAG_union_type) {
      continue;  // a static member
    }
    if (offset < start || offset - start >= bytes_of(&member)) continue;
    offset -= start;
    return true;
  } while (dwarf_siblingof(&member, &member) == 0);
  return false;
}

// "[2][0]", and the offset in that element.
std::string element_at(Dwarf_Die* array, std::size_t& offset) {
  std::vector<std::size_t> counts;
  Dwarf_Die range;
  if (dwarf_child(array, &range) != 0) return {};
  do {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(&range, DW_AT_upper_bound, &attribute), &value) == 0) {
      counts.push_back(value + 1);
    } else if (dwarf_formudata(dwarf_attr(&range, DW_AT_count, &attribute), &value) == 0) {
      counts.push_back(value);
    }
  } while (dwarf_siblingof(&range, &range) == 0);
  const std::size_t size = bytes_of(array);
  if (size == 0 || counts.empty()) return {};
  std::size_t index = offset / size;
  offset %= size;
  std::string text;
  for (std::size_t i = counts.size(); i-- > 0;) {
    const std::size_t here = i == 0 ? index : index % counts[i];
    text.insert(0, "[" + std::to_string(here) + "]");
    if (counts[i] != 0) index /= counts[i];
  }
  return text;
}

}  // namespace

std::string die_name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  return name == nullptr ? "" : name;
}

namespace {

std::string find_qualified_name(Dwarf_Die* die) {
  Dwarf_Die declared = declaration_of(*die);
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&declared, &scopes);
  std::string name = die_name(die);
  for (int i = 1; i < count; ++i) {
    const int tag = dwarf_tag(&scopes[i]);
    std::string outer;
    if (tag == DW_TAG_namespace) {
      outer = die_name(&scopes[i]);
      if (outer.empty()) continue;  // the unnamed namespace says nothing
    } else if (is_record(&scopes[i])) {
      outer = die_name(&scopes[i]);
      if (outer.empty() || outer.starts_with("<lambda")) {  // a closure's operator()
        name = "lambda";
        continue;
      }
    } else if (tag == DW_TAG_subprogram) {
      outer = qualified_name(&scopes[i]);
      name.insert(0, outer + "::");
      break;  // that has the namespaces around it
    } else {
      continue;
    }
    name.insert(0, outer + "::");
  }
  std::free(scopes);
  return name.empty() ? "?" : name;
}

}  // namespace

std::string qualified_name(Dwarf_Die* die) {
  // The scopes of a DIE are found by walking its unit: milliseconds in a large one.
  static auto& known = *new std::map<const void*, std::string>;
  if (const auto at = known.find(die->addr); at != known.end()) return at->second;
  return known[die->addr] = find_qualified_name(die);
}

std::optional<static_variable> variable_below(Dwfl_Module* module, std::uintptr_t address,
                                              bool is_thread_local) {
  const module_variables& variables = variables_of(module);
  const auto& by_place = is_thread_local ? variables.at_tls_offset : variables.at_address;
  auto next = by_place.upper_bound(address);
  if (next == by_place.begin()) return std::nullopt;
  --next;
  return static_variable{next->second, next->first};
}

std::size_t bytes_of(Dwarf_Die* of) {
  Dwarf_Die type;
  Dwarf_Word bytes = 0;
  if (!plain_type(of, type) || dwarf_aggregate_size(&type, &bytes) != 0) return 0;
  return bytes;
}

std::string member_path(Dwarf_Die* variable, std::size_t& offset) {
  std::string path;
  Dwarf_Die at = *variable;
  Dwarf_Die type;
  for (int depth = 0; depth < most_nesting && plain_type(&at, type); ++depth) {
    if (dwarf_tag(&type) == DW_TAG_array_type) {
      const std::string index = element_at(&type, offset);
      if (index.empty()) break;
      path += index;
      at = type;  // its DW_AT_type is the element's
      continue;
    }
    if (!is_record(&type)) break;
    // An array's elements are the user's, whatever the class around them.
    const bool array_class = die_name(&type).starts_with("array<");
    if (!array_class && of_standard_library(&type)) break;
    Dwarf_Die member;
    if (!member_at(&type, offset, member)) break;
    const std::string name = die_name(&member);
    if (dwarf_tag(&member) == DW_TAG_member && !array_class && !name.empty()) path += "." + name;
    at = member;
  }
  return path;
}

}  // namespace syncopate::instrument
