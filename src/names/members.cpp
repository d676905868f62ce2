#include "names/members.h"

#include <dwarf.h>

#include <cstdlib>

namespace syncopate::names {
namespace {

constexpr int deepest = 32;      // members within members: more is damage
constexpr int most_looks = 16;   // variables before an address, of which one may reach over it
constexpr int most_types = 200;  // looked at for one pointer, likewise

std::optional<Dwarf_Die> type_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &type))
    return {};
  return type;
}

bool is_aggregate(Dwarf_Die* type) {
  const int tag = dwarf_tag(type);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

const char* name_of(Dwarf_Die* die) {
  const char* name = dwarf_diename(die);
  return name ? name : "";
}

// A type's name with those of the namespaces and classes around it.
std::string full_name(Dwarf_Die* type) {
  std::string name = name_of(type);
  // In a unit of its own a type is beside the namespaces that its declaration is in.
  Dwarf_Attribute attribute;
  Dwarf_Die declaration = *type;
  dwarf_formref_die(dwarf_attr(type, DW_AT_specification, &attribute), &declaration);
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &scopes);
  for (int i = 1; i < count; i++) {
    const int tag = dwarf_tag(&scopes[i]);
    if (tag == DW_TAG_namespace || is_aggregate(&scopes[i]))
      name = std::string(*name_of(&scopes[i]) ? name_of(&scopes[i]) : "(anonymous namespace)") +
             "::" + name;
  }
  free(scopes);
  return name;
}

// A class of which this unit has a declaration alone: it is described in a unit of its own
// (-fdebug-types-section), or beside its virtual functions.
Dwarf_Die described(Dwarf_Die type, const definitions& known) {
  Dwarf_Attribute attribute;
  Dwarf_Die elsewhere;
  if (dwarf_attr(&type, DW_AT_signature, &attribute))
    return dwarf_formref_die(&attribute, &elsewhere) ? elsewhere : type;
  if (!dwarf_hasattr(&type, DW_AT_declaration)) return type;
  const auto found = known.find(full_name(&type));
  return found == known.end() || !found->second ? type : *found->second;
}

// Without typedef, const, volatile and the like. Returns: nothing where it has no end.
std::optional<Dwarf_Die> peeled(Dwarf_Die type, const definitions& known) {
  for (int i = 0; i < deepest; i++) {
    switch (dwarf_tag(&type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_atomic_type: {
        auto next = type_of(&type);
        if (!next) return {};
        type = *next;
        break;
      }
      default: return described(type, known);
    }
  }
  return {};
}

std::optional<std::uint64_t> number(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value;
  if (!dwarf_attr_integrate(die, name, &attribute) || dwarf_formudata(&attribute, &value))
    return {};
  return value;
}

// How many elements an array has, of all its dimensions; 0 if unknown.
std::uint64_t elements(Dwarf_Die* array) {
  std::uint64_t product = 1;
  Dwarf_Die child;
  if (dwarf_child(array, &child)) return 0;
  do {
    if (dwarf_tag(&child) != DW_TAG_subrange_type) continue;
    const auto count = number(&child, DW_AT_count), last = number(&child, DW_AT_upper_bound);
    if (!count && !last) return 0;
    product *= count ? *count : *last + 1;
  } while (dwarf_siblingof(&child, &child) == 0);
  return product;
}

// (dwarf_aggregate_size() does not know of elements that another unit describes.)
std::uint64_t size_of(Dwarf_Die type, const definitions& known) {
  std::uint64_t count = 1;
  for (int i = 0; i < deepest; i++) {
    const auto plain = peeled(type, known);
    if (!plain) return 0;
    Dwarf_Die of = *plain;
    Dwarf_Word size;
    if (dwarf_aggregate_size(&of, &size) == 0) return size * count;
    const auto element = type_of(&of);
    if (dwarf_tag(&of) != DW_TAG_array_type || !element) return 0;
    count *= elements(&of);
    type = *element;
  }
  return 0;
}

// 0 of what is no array.
std::uint64_t element_size(Dwarf_Die type, const definitions& known) {
  auto plain = peeled(type, known);
  if (!plain || dwarf_tag(&*plain) != DW_TAG_array_type) return 0;
  const auto element = type_of(&*plain);
  return element ? size_of(*element, known) : 0;
}

// Names that programs may not use are the library's own: what a std::mutex is made of says nothing.
bool is_reserved(const char* name) {
  return name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
}

// (dwarf_decl_file() aborts where the unit's list of files cannot be read.)
void declared(Dwarf_Die* die, place& found) {
  Dwarf_Attribute attribute;
  Dwarf_Word number;
  Dwarf_Die unit;
  Dwarf_Files* files = nullptr;
  int line = 0;
  if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) ||
      dwarf_formudata(&attribute, &number) || dwarf_decl_line(die, &line) ||
      !dwarf_cu_die(attribute.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ||
      dwarf_getsrcfiles(&unit, &files, nullptr))
    return;
  const char* const file = dwarf_filesrc(files, number, nullptr, nullptr);
  if (!file) return;
  found.file = file;
  found.line = line;
}

// Adds the members that lead to `offset` in a value of `type`, down to one of at most `bytes`.
// `base`, if given, becomes the class that has the first member: a base class, where it is one's.
bool descend(Dwarf_Die type, std::uint64_t offset, std::uint64_t bytes, place& found, int depth,
             Dwarf_Die* base, const definitions& known) {
  const auto plain = peeled(type, known);
  if (!plain || depth > deepest) return false;
  Dwarf_Die of = *plain;
  const std::uint64_t size = size_of(of, known);
  if (offset >= size) return false;
  if (offset == 0 && size <= bytes) {
    found.bytes = size;
    return true;
  }
  if (dwarf_tag(&of) == DW_TAG_array_type) {
    const auto element = type_of(&of);
    const std::uint64_t each = element ? size_of(*element, known) : 0;
    if (!each) return false;
    found.members += "[" + std::to_string(offset / each) + "]";
    return descend(*element, offset % each, bytes, found, depth + 1, nullptr, known);
  }
  if (!is_aggregate(&of)) return false;
  Dwarf_Die child;
  if (dwarf_child(&of, &child)) return false;
  do {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    if (dwarf_hasattr(&child, DW_AT_data_bit_offset)) continue;
    Dwarf_Attribute attribute;
    Dwarf_Word at = 0;
    const bool is_union = dwarf_tag(&of) == DW_TAG_union_type;
    if (dwarf_attr(&child, DW_AT_data_member_location, &attribute)) {
      if (dwarf_formudata(&attribute, &at)) continue;  // of a virtual base: computed
    } else if (!is_union) {
      continue;  // a static member
    }
    const auto part = type_of(&child);
    if (!part || offset < at || offset - at >= size_of(*part, known)) continue;
    if (tag == DW_TAG_inheritance) {
      if (base) *base = peeled(*part, known).value_or(*part);
      return descend(*part, offset - at, bytes, found, depth + 1, base, known);
    }
    // What a std::array consists of is its elements, which have no other name.
    const bool is_inside = is_reserved(name_of(&child));
    if (is_inside && element_size(*part, known) < bytes) {
      found.bytes = size;
      return offset == 0;
    }
    place inner = found;
    if (*name_of(&child) && !is_inside) {
      inner.members += std::string(".") + name_of(&child);
      declared(&child, inner);
    }
    if (!descend(*part, offset - at, bytes, inner, depth + 1, *name_of(&child) ? nullptr : base,
                 known)) {
      if (is_union) continue;
      return false;
    }
    found = inner;
    return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

// Where a function begins; of one in several parts, as with a cold one, that is where the first of
// its ranges does (DWARF 5, section 2.18).
std::optional<Dwarf_Addr> entry_of(Dwarf_Die* function) {
  Dwarf_Addr entry, base, end;
  if (dwarf_entrypc(function, &entry) == 0) return entry;
  if (dwarf_ranges(function, 0, &base, &entry, &end) > 0) return entry;
  return {};
}

std::optional<place> member(Dwarf_Die pointer, std::uint64_t offset, std::uint64_t bytes,
                            const definitions& known) {
  const auto target = type_of(&pointer);
  const auto plain = target ? peeled(*target, known) : std::nullopt;
  if (!plain) return {};
  Dwarf_Die of = *plain;
  if (!is_aggregate(&of)) return {};
  Dwarf_Die holder = of;
  place found;
  if (!descend(of, offset, bytes, found, 0, &holder, known) || found.members.empty()) return {};
  std::string type = full_name(*name_of(&holder) ? &holder : &of);
  if (!*name_of(&holder)) {
    Dwarf_Die named = *target;  // struct { ... } as a typedef calls it
    type = name_of(&named);
  }
  if (type.empty()) return {};
  found.members = type + "::" + found.members.substr(1);
  return found;
}

bool is_pointer(Dwarf_Die* type) {
  const int tag = dwarf_tag(type);
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type;
}

// The pointer or reference that lies at `offset` in a value of `type`. An empty class seems to have
// it, too, so that several ways are looked at: of at most `left` types.
std::optional<Dwarf_Die> pointer_at(Dwarf_Die type, std::uint64_t offset, int& left,
                                    const definitions& known) {
  const auto plain = peeled(type, known);
  if (!plain || left-- <= 0) return {};
  Dwarf_Die of = *plain;
  if (is_pointer(&of)) return offset == 0 ? plain : std::nullopt;
  const int kind = dwarf_tag(&of);
  Dwarf_Die child;
  if ((kind != DW_TAG_structure_type && kind != DW_TAG_class_type) || dwarf_child(&of, &child))
    return {};
  do {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    const auto at = number(&child, DW_AT_data_member_location);
    const auto part = type_of(&child);
    if (!at || !part || offset < *at || offset - *at >= size_of(*part, known)) continue;
    if (auto found = pointer_at(*part, offset - *at, left, known)) return found;
  } while (dwarf_siblingof(&child, &child) == 0);
  return {};
}

// Of what a pointer points to, the member at the last offset; before that, at each offset there is
// a pointer to what the next one is in.
std::optional<place> member(Dwarf_Die pointer, const std::vector<std::uint64_t>& offsets,
                            std::uint64_t bytes, const definitions& known) {
  for (std::size_t i = 0; i + 1 < offsets.size(); i++) {
    const auto target = type_of(&pointer);
    int left = most_types;
    const auto next = target ? pointer_at(*target, offsets[i], left, known) : std::nullopt;
    if (!next) return {};
    pointer = *next;
  }
  return offsets.empty() ? std::nullopt : member(pointer, offsets.back(), bytes, known);
}

}  // namespace

members::members(Dwarf* dwarf) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die, split;
  std::uint8_t kind;
  while (dwarf && dwarf_get_units(dwarf, unit, &unit, nullptr, &kind, &die, &split) == 0)
    collect(kind == DW_UT_skeleton && dwarf_tag(&split) ? &split : &die, "", 0);
}

std::vector<members::location> members::covering(std::uint64_t address) const {
  std::vector<location> found;
  auto at = variables_.upper_bound(address);
  for (int i = 0; i < most_looks && at != variables_.begin(); i++) {
    --at;
    Dwarf_Die die = at->second;
    const auto type = type_of(&die);
    if (type && address - at->first < size_of(*type, classes_))
      found.push_back({at->first, die, *type});
  }
  return found;
}

std::optional<place> members::variable(std::uint64_t address, std::uint64_t bytes) {
  for (auto& [start, die, type] : covering(address)) {
    place found;
    declared(&die, found);
    if (descend(type, address - start, bytes, found, 0, nullptr, classes_)) return found;
  }
  return {};
}

std::optional<place> members::parameter(std::uint64_t function, unsigned wanted,
                                        std::uint64_t bytes,
                                        const std::vector<std::uint64_t>& offsets) {
  const auto known = functions_.find(function);
  Dwarf_Die child;
  if (known == functions_.end() || dwarf_child(&known->second, &child)) return {};
  unsigned index = 0;
  do {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter) continue;
    const auto type = type_of(&child);
    const auto plain = type ? peeled(*type, classes_) : std::nullopt;
    if (!plain) return {};
    Dwarf_Die of = *plain;
    const int tag = dwarf_tag(&of);
    const bool points = is_pointer(&of);
    // Each of these takes one register, so that the ones behind them are in the next.
    if (!points && tag != DW_TAG_base_type && tag != DW_TAG_enumeration_type) return {};
    if (tag == DW_TAG_base_type) {
      const auto encoding = number(&of, DW_AT_encoding);
      if (size_of(of, classes_) > 8 || !encoding || *encoding == DW_ATE_float) return {};
    }
    if (index++ == wanted) return points ? member(of, offsets, bytes, classes_) : std::nullopt;
  } while (dwarf_siblingof(&child, &child) == 0);
  return {};
}

std::optional<target> members::pointed(std::uint64_t address, std::uint64_t offset,
                                       std::uint64_t bytes) {
  for (auto& [start, die, type] : covering(address)) {
    int left = most_types;
    auto pointer = pointer_at(type, address - start, left, classes_);
    const auto element = pointer ? type_of(&*pointer) : std::nullopt;
    target found;
    place own;
    found.element = element ? size_of(*element, classes_) : 0;
    declared(&die, found.inner);
    if (!pointer || !descend(type, address - start, sizeof address, own, 0, nullptr, classes_))
      continue;
    if (found.element == 0) {  // void, or a type that is defined elsewhere
      if (offset != 0) continue;
      found.element = bytes;
    } else if (!descend(*element, offset % found.element, bytes, found.inner, 0, nullptr,
                        classes_) ||
               found.inner.bytes != bytes) {
      continue;
    }
    found.pointer = own.members;
    return found;
  }
  return {};
}

void members::collect(Dwarf_Die* parent, const std::string& scope, int depth) {
  Dwarf_Die child;
  if (depth > deepest || dwarf_child(parent, &child)) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_variable: add_variable(child); break;
      case DW_TAG_subprogram: {
        if (const auto entry = entry_of(&child)) functions_.emplace(*entry, child);
        collect(&child, "?", depth + 1);
        break;
      }
      case DW_TAG_namespace:
        collect(&child, *name_of(&child) ? scope + name_of(&child) + "::" : "?", depth + 1);
        break;
      case DW_TAG_structure_type:
      case DW_TAG_class_type: add_class(child, scope); break;
      case DW_TAG_lexical_block: collect(&child, "?", depth + 1); break;
      default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

// Only those with virtual functions are left out of other units. What has no name that all units
// share ("?") is of its unit; of one name with several sizes it is not known which one is meant.
void members::add_class(Dwarf_Die die, const std::string& scope) {
  if (scope.starts_with('?') || !dwarf_hasattr(&die, DW_AT_containing_type) ||
      dwarf_hasattr(&die, DW_AT_declaration))
    return;
  const auto [at, is_new] = classes_.try_emplace(scope + name_of(&die), die);
  if (!is_new && at->second && size_of(*at->second, {}) != size_of(die, {})) at->second.reset();
}

void members::add_variable(Dwarf_Die die) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations;
  std::size_t length;
  if (!dwarf_attr(&die, DW_AT_location, &attribute)) return;
  if (dwarf_getlocation(&attribute, &operations, &length)) return;
  if (length != 1) return;
  Dwarf_Attribute indexed;
  Dwarf_Addr address;
  if (operations[0].atom == DW_OP_addr) variables_.emplace(operations[0].number, die);
  else if (dwarf_getlocation_attr(&attribute, operations, &indexed) == 0 &&
           dwarf_formaddr(&indexed, &address) == 0)  // DW_OP_addrx, as of clang
    variables_.emplace(address, die);
}

}  // namespace syncopate::names
